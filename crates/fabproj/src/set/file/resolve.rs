//! Names of a set file and what they mean: variables, and `[let]` in an order that serves.

use std::collections::HashMap;

use super::document::Document;
use super::variables::check_names;
use crate::set::Problem;
use crate::set::expression::{Fault, Graph, Kind, Scope, Token, tokens, value};

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
    let twice = "every variable and every entry of [let] needs a name of its own";
    let variables = document.y.iter().chain(&document.x);
    let named = document.named.iter();
    check_names(
        variables
            .clone()
            .map(|one| (one.name.as_str(), one.at, twice))
            .chain(named.map(|(name, at, _)| (name.as_str(), *at, twice))),
    )?;
    let mut scope = Scope::default();
    for (index, variable) in variables.enumerate() {
        let node = graph.variable(index, variable.at)?;
        scope.names.insert(variable.name.clone(), node);
    }
    let named = read(document)?;
    for index in order(&named)? {
        let entry = &named[index];
        let node = value(&entry.tokens, graph, &scope)?;
        scope.names.insert(entry.name.to_owned(), node);
    }
    Ok(scope)
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
