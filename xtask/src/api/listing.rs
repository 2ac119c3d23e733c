//! A crate's public interface as sorted lines, read from the JSON that rustdoc writes.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// One line per named item, re-export, method, field, variant and implemented trait: `path: declaration`.
///
/// Methods of trait objects (`impl dyn Set`) are not in rustdoc's JSON, and so not listed.
#[derive(Default)]
pub struct Listing {
    /// Named items: modules, types, traits, functions, constants and re-exports from other crates. Members are not
    /// counted, nor are further paths to the same item.
    pub items: usize,
    lines: BTreeSet<String>,
}

const HEADER: &str = " public named items; written by `cargo xtask api --update`";

impl Listing {
    /// Reads rustdoc's JSON. Declarations are cut out of the sources below `root`.
    pub fn from_rustdoc(json: &Value, root: &Path) -> Result<Self> {
        let mut walk = Walk {
            index: json["index"].as_object().context("no index in the JSON")?,
            sources: Sources {
                root: root.to_path_buf(),
                files: HashMap::new(),
            },
            seen: HashMap::new(),
            globs: HashSet::new(),
            listing: Self::default(),
        };
        walk.run(&json["root"])?;
        Ok(walk.listing)
    }

    pub fn from_text(text: &str) -> Option<Self> {
        let (first, rest) = text.split_once('\n')?;
        let items = first.strip_suffix(HEADER)?.parse().ok()?;
        let lines = rest.lines().map(str::to_owned).collect();
        Some(Self { items, lines })
    }

    pub fn to_text(&self) -> String {
        let mut text = format!("{}{HEADER}\n", self.items);
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// Lines that are new (`+`) or gone (`-`) since `before`.
    pub fn changes(&self, before: &Self) -> Vec<String> {
        let gone = before
            .lines
            .difference(&self.lines)
            .map(|line| format!("- {line}"));
        let new = self
            .lines
            .difference(&before.lines)
            .map(|line| format!("+ {line}"));
        gone.chain(new).collect()
    }
}

/// Visits modules breadth first, so that an item is listed under its shortest path.
struct Walk<'a> {
    index: &'a serde_json::Map<String, Value>,
    sources: Sources,
    /// The path of every item that is listed already.
    seen: HashMap<u64, String>,
    /// Modules whose items a glob shows at a path, since globs may go in circles.
    globs: HashSet<(String, u64)>,
    listing: Listing,
}

impl<'a> Walk<'a> {
    fn run(&mut self, root: &Value) -> Result<()> {
        let root = self.item(root).context("the crate's root is missing")?;
        let mut modules = VecDeque::from([(name(root).to_owned(), root)]);
        while let Some((path, module)) = modules.pop_front() {
            for item in self.items(&module["inner"]["module"]["items"]) {
                let next = match item["inner"].get("use") {
                    None => self.named(format!("{path}::{}", name(item)), item)?,
                    Some(link) => self.re_export(&path, link)?,
                };
                match next {
                    // A glob: its items have shorter paths than those of the modules that wait.
                    Some(next) if next.0 == path => modules.push_front(next),
                    next => modules.extend(next),
                }
            }
        }
        Ok(())
    }

    /// Lists an item; a module is returned, to be visited.
    fn named(&mut self, path: String, item: &'a Value) -> Result<Option<(String, &'a Value)>> {
        let id = item["id"].as_u64().context("an item without an id")?;
        if let Some(first) = self.seen.get(&id) {
            self.listing.lines.insert(format!("{path}: use {first}"));
            return Ok(None);
        }
        self.seen.insert(id, path.clone());
        self.listing.items += 1;
        if kind(item) == "module" {
            self.listing.lines.insert(format!("{path}: mod"));
            return Ok(Some((path, item)));
        }
        self.declare(&path, item)?;
        Ok(None)
    }

    fn re_export(&mut self, path: &str, link: &'a Value) -> Result<Option<(String, &'a Value)>> {
        let (source, target) = (text(&link["source"]), self.item(&link["id"]));
        let is_glob = link["is_glob"] == true;
        let path = if is_glob {
            path.to_owned()
        } else {
            format!("{path}::{}", text(&link["name"]))
        };
        match target.filter(|target| target["crate_id"] == 0) {
            Some(module) if is_glob && kind(module) == "module" => {
                let id = module["id"].as_u64().unwrap_or_default();
                Ok(self
                    .globs
                    .insert((path.clone(), id))
                    .then_some((path, module)))
            }
            Some(item) if !is_glob => self.named(path, item),
            None if !is_glob => {
                self.listing.items += 1;
                self.listing.lines.insert(format!("{path}: use {source}"));
                Ok(None)
            }
            _ => {
                bail!("`pub use {source}::*` in {path}: name the items, so that they can be listed")
            }
        }
    }

    /// Lists a type, trait, function or constant, and its members.
    fn declare(&mut self, path: &str, item: &Value) -> Result<()> {
        self.line(path, item)?;
        let inner = &item["inner"][kind(item)];
        let structure = &inner["kind"];
        let members = [
            &inner["variants"],
            &inner["items"],
            &structure["plain"]["fields"],
            &structure["tuple"],
        ];
        for ids in members {
            for member in self.items(ids) {
                self.line(&format!("{path}::{}", name(member)), member)?;
            }
        }
        for implementation in self.items(&inner["impls"]) {
            self.implementation(path, implementation)?;
        }
        Ok(())
    }

    fn implementation(&mut self, path: &str, item: &Value) -> Result<()> {
        let inner = &item["inner"]["impl"];
        if inner["is_synthetic"] == true || !inner["blanket_impl"].is_null() {
            return Ok(());
        }
        if inner["trait"].is_null() {
            let public = |member: &&Value| member["visibility"] == "public";
            for member in self.items(&inner["items"]).into_iter().filter(public) {
                self.line(&format!("{path}::{}", name(member)), member)?;
            }
            return Ok(());
        }
        let name = text(&inner["trait"]["path"]);
        if name == "StructuralPartialEq" {
            // Part of every derived `PartialEq`.
            return Ok(());
        }
        // What a macro wrote has no text of its own.
        let written = self.sources.declaration(item)?;
        let derived = format!("impl {name}");
        let shown = if written.starts_with("impl") {
            written
        } else {
            derived
        };
        self.listing.lines.insert(format!("{path}: {shown}"));
        Ok(())
    }

    fn line(&mut self, path: &str, item: &Value) -> Result<()> {
        let open = item["attrs"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one == "non_exhaustive"));
        let open = if open { "#[non_exhaustive] " } else { "" };
        let declaration = self.sources.declaration(item)?;
        self.listing
            .lines
            .insert(format!("{path}: {open}{declaration}"));
        Ok(())
    }

    fn item(&self, id: &Value) -> Option<&'a Value> {
        self.index.get(&id.to_string())
    }

    /// The items behind a list of ids, without those that rustdoc left out because they are private.
    fn items(&self, ids: &Value) -> Vec<&'a Value> {
        let ids = ids.as_array().map_or(&[][..], Vec::as_slice);
        ids.iter().filter_map(|id| self.item(id)).collect()
    }
}

/// The text of source files, each read once.
struct Sources {
    root: PathBuf,
    files: HashMap<String, String>,
}

impl Sources {
    /// What stands in the source between an item's name and its body.
    fn declaration(&mut self, item: &Value) -> Result<String> {
        let span = &item["span"];
        let file = text(&span["filename"]);
        if !self.files.contains_key(file) {
            let source = fs::read_to_string(self.root.join(file))
                .with_context(|| format!("reading {file}"))?;
            self.files.insert(file.to_owned(), source);
        }
        let number = |end: &str, place: usize| {
            span[end][place]
                .as_u64()
                .map_or(0, |number| number as usize)
        };
        let lines = self.files[file]
            .lines()
            .take(number("end", 0))
            .skip(number("begin", 0).saturating_sub(1));
        let last = number("end", 0).saturating_sub(number("begin", 0));
        let mut words = String::new();
        for (index, line) in lines.enumerate() {
            let end = if index == last {
                number("end", 1).saturating_sub(1)
            } else {
                line.len()
            };
            let start = if index == 0 {
                number("begin", 1).saturating_sub(1)
            } else {
                0
            };
            let line = line.get(start..end).unwrap_or(line).trim();
            let code = line.split("//").next().unwrap_or_default();
            if !code.starts_with("#[") {
                words.push_str(code.trim());
                words.push(' ');
            }
        }
        Ok(without_body(kind(item), &on_one_line(&words)))
    }
}

/// Undoes the breaking of long lines.
fn on_one_line(code: &str) -> String {
    let words = code.split_whitespace().collect::<Vec<_>>().join(" ");
    [
        ("( ", "("),
        (", )", ")"),
        (" )", ")"),
        ("< ", "<"),
        (", >", ">"),
    ]
    .iter()
    .fold(words, |code, (broken, whole)| code.replace(broken, whole))
}

fn without_body(kind: &str, declaration: &str) -> String {
    let body: &[_] = match kind {
        "struct" => &["{", "("],
        "constant" | "assoc_const" | "static" => &[" ="],
        "variant" | "type_alias" => &[],
        _ => &["{"],
    };
    let end = body
        .iter()
        .filter_map(|start| declaration.find(start))
        .min();
    declaration[..end.unwrap_or(declaration.len())]
        .trim_end_matches([' ', ';', ','])
        .to_owned()
}

fn name(item: &Value) -> &str {
    text(&item["name"])
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `struct`, `function`, …: the one key of `inner`.
fn kind(item: &Value) -> &str {
    let inner = item["inner"].as_object();
    inner
        .and_then(|inner| inner.keys().next())
        .map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SOURCE: &str = "\
pub mod shapes {
    pub struct Disc<const N: usize> {
        /// How far it reaches.
        pub radius: f64,
    }
    impl Disc<2> {
        pub fn area(
            &self, // of the disc
            scale: f64,
        ) -> f64 {
            0.0
        }
    }
    pub const LIMIT: usize = 3;
}
";

    fn span(begin: [u32; 2], end: [u32; 2]) -> Value {
        json!({ "filename": "lib.rs", "begin": begin, "end": end })
    }

    /// A crate with a module, a struct with a field and a method, a constant, a second path to the struct, and an
    /// item of another crate.
    fn rustdoc() -> Value {
        let item = |id: u64, name: &str, span: Value, inner: Value| {
            let item = json!({ "id": id, "crate_id": 0, "name": name, "visibility": "public", "attrs": [],
                "span": span, "inner": inner });
            (id.to_string(), item)
        };
        let none = || span([1, 1], [1, 1]);
        let link = |source: &str, name: &str, id: u64| json!({ "use": { "source": source, "name": name, "id": id, "is_glob": false } });
        let plain = json!({ "plain": { "fields": [3], "has_stripped_fields": false } });
        let implementation = json!({ "impl": { "trait": null, "blanket_impl": null, "is_synthetic": false, "items": [5] } });
        let derived = json!({ "impl": { "trait": { "path": "Clone" }, "blanket_impl": null, "is_synthetic": false } });
        let index: serde_json::Map<_, _> = [
            item(
                0,
                "outer",
                none(),
                json!({ "module": { "items": [1, 7, 8] } }),
            ),
            item(
                1,
                "shapes",
                span([1, 1], [15, 2]),
                json!({ "module": { "items": [2, 6] } }),
            ),
            item(
                2,
                "Disc",
                span([2, 5], [5, 6]),
                json!({ "struct": { "kind": plain, "impls": [4, 9] } }),
            ),
            item(
                3,
                "radius",
                span([4, 9], [4, 24]),
                json!({ "struct_field": {} }),
            ),
            item(4, "", span([6, 5], [13, 6]), implementation),
            item(5, "area", span([7, 9], [12, 10]), json!({ "function": {} })),
            item(
                6,
                "LIMIT",
                span([14, 5], [14, 32]),
                json!({ "constant": {} }),
            ),
            item(7, "", none(), link("shapes::Disc", "Disc", 2)),
            item(8, "", none(), link("other::Thing", "Renamed", 99)),
            item(9, "", span([2, 5], [2, 8]), derived),
        ]
        .into_iter()
        .collect();
        json!({ "root": 0, "index": index })
    }

    fn listing(json: &Value) -> Result<Listing> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("lib.rs"), SOURCE).unwrap();
        Listing::from_rustdoc(json, folder.path())
    }

    #[test]
    fn every_item_is_listed_once_with_its_members() {
        let listing = listing(&rustdoc()).unwrap();
        let expected = "\
4 public named items; written by `cargo xtask api --update`
outer::Disc: impl Clone
outer::Disc: pub struct Disc<const N: usize>
outer::Disc::area: pub fn area(&self, scale: f64) -> f64
outer::Disc::radius: pub radius: f64
outer::Renamed: use other::Thing
outer::shapes: mod
outer::shapes::Disc: use outer::Disc
outer::shapes::LIMIT: pub const LIMIT: usize
";
        assert_eq!(listing.to_text(), expected);
    }

    #[test]
    fn a_listing_survives_its_file() {
        let before = listing(&rustdoc()).unwrap();
        let after = Listing::from_text(&before.to_text()).unwrap();
        assert_eq!(
            (after.items, after.changes(&before)),
            (before.items, vec![])
        );
        assert!(Listing::from_text("no header\n").is_none());
    }

    #[test]
    fn changes_are_told() {
        let before = listing(&rustdoc()).unwrap();
        let mut json = rustdoc();
        json["index"]["6"]["name"] = json!("MOST");
        let changes = listing(&json).unwrap().changes(&before);
        let expected = [
            "- outer::shapes::LIMIT: pub const LIMIT: usize",
            "+ outer::shapes::MOST: pub const LIMIT: usize",
        ];
        assert_eq!(changes, expected);
    }

    #[test]
    fn a_glob_of_another_crate_is_refused() {
        let mut json = rustdoc();
        json["index"]["8"]["inner"]["use"]["is_glob"] = json!(true);
        let error = listing(&json).err().unwrap().to_string();
        assert!(error.contains("pub use other::Thing::*"), "{error}");
    }

    #[test]
    fn a_glob_of_a_module_shows_its_items() {
        let mut json = rustdoc();
        json["index"]["8"]["inner"]["use"] =
            json!({ "source": "shapes", "name": "shapes", "id": 1, "is_glob": true });
        let text = listing(&json).unwrap().to_text();
        assert!(text.contains("outer::LIMIT: pub const"), "{text}");
    }
}
