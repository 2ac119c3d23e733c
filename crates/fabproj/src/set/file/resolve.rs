//! Names of a set file and what they mean: variables, and `[let]` in an order that serves.

use std::collections::HashMap;
use std::sync::Arc;

use super::arrays::Array;
use super::document::Document;
use super::variables::check_names;
use crate::set::Problem;
use crate::set::expression::{Fault, Graph, Kind, Matrix, Scope, Token, Value, tokens, value};

/// A named expression in tokens, and which other named ones it mentions.
struct Named<'a> {
    name: &'a str,
    at: usize,
    tokens: Vec<Token>,
    needs: Vec<usize>,
}

/// How far the search for an order has come with a named expression.
#[derive(Clone, Copy, PartialEq)]
enum Progress {
    Untouched,
    Open,
    Done,
}

/// The meaning of every name.
pub(super) fn scope(document: &Document, graph: &mut Graph) -> Result<Scope, Fault> {
    let twice = "every variable, every array and every entry of [let] needs a name of its own";
    let variables = document.y.all.iter().chain(&document.x.all);
    let vectors = [("y", &document.y), ("x", &document.x)];
    let vectors = vectors
        .into_iter()
        .filter(|(_, variables)| variables.vector);
    let vectors = vectors.filter_map(|(name, all)| Some((name, all.all.first()?.at, twice)));
    let arrays = document.arrays.iter();
    let named = document.named.iter();
    check_names(
        variables
            .clone()
            .map(|one| (one.name.as_str(), one.at, twice))
            .chain(vectors)
            .chain(arrays.map(|(name, at, _)| (name.as_str(), *at, twice)))
            .chain(named.map(|(name, at, _)| (name.as_str(), *at, twice))),
    )?;
    let mut scope = Scope::default();
    let mut nodes = Vec::new();
    for (index, variable) in variables.enumerate() {
        let node = graph.variable(index, variable.at)?;
        nodes.push(node);
        scope
            .names
            .insert(variable.name.clone(), Value::Number(node));
    }
    let (y, x) = nodes.split_at(document.y.all.len());
    for (name, variables, nodes) in [("y", &document.y, y), ("x", &document.x, x)] {
        if variables.vector && !nodes.is_empty() {
            scope
                .names
                .insert(name.to_owned(), Value::Vector(nodes.to_vec()));
        }
    }
    for (name, at, array) in &document.arrays {
        scope
            .names
            .insert(name.clone(), constant(array, *at, graph)?);
    }
    let named = read(document)?;
    for index in order(&named)? {
        let entry = &named[index];
        let value = value(&entry.tokens, graph, &scope)?;
        scope.names.insert(entry.name.to_owned(), value);
    }
    Ok(scope)
}

fn constant(array: &Array, at: usize, graph: &mut Graph) -> Result<Value, Fault> {
    if let Some(rows) = array.rows {
        let matrix = Matrix::new(rows, array.values.clone());
        return Ok(Value::Matrix(Arc::new(matrix)));
    }
    let entries = array.values.iter().map(|value| graph.number(*value, at));
    Ok(Value::Vector(entries.collect::<Result<_, _>>()?))
}

fn read(document: &Document) -> Result<Vec<Named<'_>>, Fault> {
    let places: HashMap<&str, usize> = document
        .named
        .iter()
        .enumerate()
        .map(|(index, (name, _, _))| (name.as_str(), index))
        .collect();
    let entries = document.named.iter().map(|(name, at, source)| {
        let tokens = tokens(source)?;
        let mentioned = tokens.iter().filter_map(|token| match &token.kind {
            Kind::Name(name) => places.get(name.as_str()).copied(),
            _ => None,
        });
        Ok(Named {
            name,
            at: *at,
            needs: mentioned.collect(),
            tokens,
        })
    });
    entries.collect()
}

/// An order in which each entry comes after those that it needs.
fn order(named: &[Named<'_>]) -> Result<Vec<usize>, Fault> {
    let mut order = Vec::with_capacity(named.len());
    let mut progress = vec![Progress::Untouched; named.len()];
    for start in 0..named.len() {
        // Entries that are open, each with how many of its needs have been looked at.
        let mut path: Vec<(usize, usize)> = Vec::new();
        if progress[start] == Progress::Untouched {
            progress[start] = Progress::Open;
            path.push((start, 0));
        }
        while let Some((entry, looked_at)) = path.last_mut() {
            let Some(&need) = named[*entry].needs.get(*looked_at) else {
                progress[*entry] = Progress::Done;
                order.push(*entry);
                path.pop();
                continue;
            };
            *looked_at += 1;
            match progress[need] {
                Progress::Done => {}
                Progress::Open => return Err(cycle(named, &path, need)),
                Progress::Untouched => {
                    progress[need] = Progress::Open;
                    path.push((need, 0));
                }
            }
        }
    }
    Ok(order)
}

fn cycle(named: &[Named<'_>], path: &[(usize, usize)], again: usize) -> Fault {
    let members = path.iter().map(|(entry, _)| *entry);
    let members = members.skip_while(|entry| *entry != again).chain([again]);
    let names = members.map(|entry| named[entry].name.to_owned()).collect();
    Fault::new(named[again].at, Problem::Cycle { names })
}
