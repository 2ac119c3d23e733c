//! Which crate may depend on which: running never links training, and the product knows nothing of the paper.

use anyhow::{Result, bail};

use crate::metadata::{Package, Workspace};

/// Each crate with the crates of this repository that it may depend on. What those may depend on is allowed too.
/// Dev-dependencies may point to any row above.
const ROOMS: &[(&str, &[&str])] = &[
    ("fabproj-core", &[]),
    ("fabproj-nn", &["fabproj-core"]),
    ("fabproj-export", &["fabproj-core"]),
    ("fabproj-ffi", &["fabproj-core"]),
    ("fabproj", &["fabproj-core", "fabproj-nn"]),
    ("fabproj-plot", &["fabproj"]),
    (
        "fabproj-cli",
        &["fabproj", "fabproj-plot", "fabproj-export"],
    ),
    (
        "fabproj-python",
        &["fabproj", "fabproj-plot", "fabproj-cli"],
    ),
    ("fab-method", &["fabproj"]),
    ("fab-study", &["fab-method", "fabproj-plot"]),
    ("fab-saferl", &["fab-method", "fabproj-plot"]),
    (
        "fab-paper",
        &["fab-method", "fab-study", "fab-saferl", "fabproj-cli"],
    ),
    ("xtask", &[]),
];

/// Fails with every dependency that [`ROOMS`] does not allow.
pub fn check(workspace: &Workspace) -> Result<()> {
    let wrong: Vec<String> = workspace.packages.iter().flat_map(wrong_arrows).collect();
    if !wrong.is_empty() {
        bail!(
            "dependencies between crates that are not allowed (the table is in xtask/src/arrows.rs):\n  {}",
            wrong.join("\n  ")
        );
    }
    Ok(())
}

fn wrong_arrows(package: &Package) -> Vec<String> {
    let name = package.name.as_str();
    let Some(row) = row(name) else {
        return vec![format!("{name} has no row in the table: add one")];
    };
    let inside = package
        .dependencies
        .iter()
        .filter(|dependency| dependency.path.is_some());
    let allowed = |target: &str, is_dev: bool| {
        may_depend(name, target) || (is_dev && self::row(target).is_some_and(|above| above < row))
    };
    inside
        .filter(|dependency| !allowed(&dependency.name, dependency.is_dev()))
        .map(|dependency| {
            let may = ROOMS[row].1;
            let may = if may.is_empty() {
                "no crate of this repository".into()
            } else {
                may.join(", ")
            };
            format!(
                "{name} depends on {}, but may depend on {may} only",
                dependency.name
            )
        })
        .collect()
}

fn row(name: &str) -> Option<usize> {
    ROOMS.iter().position(|(room, _)| *room == name)
}

fn may_depend(name: &str, target: &str) -> bool {
    let direct = row(name).map_or(&[][..], |row| ROOMS[row].1);
    direct
        .iter()
        .any(|next| *next == target || may_depend(next, target))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(arrows: &[(&str, &str, Option<&str>)]) -> Workspace {
        let packages: Vec<_> = arrows
            .iter()
            .map(|(from, to, kind)| {
                let dependency = serde_json::json!({ "name": to, "kind": kind, "path": format!("/{to}") });
                serde_json::json!({ "name": from, "manifest_path": "/x/Cargo.toml", "dependencies": [dependency] })
            })
            .collect();
        let all = serde_json::json!({ "packages": packages, "target_directory": "/target" });
        serde_json::from_value(all).unwrap()
    }

    fn error(from: &str, to: &str, kind: Option<&str>) -> String {
        check(&workspace(&[(from, to, kind)]))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn the_workspace_obeys_the_table() {
        check(&Workspace::read().unwrap()).unwrap();
    }

    #[test]
    fn a_wrong_arrow_is_found_and_named() {
        let message = error("fabproj-core", "fabproj-nn", None);
        assert!(
            message.contains("fabproj-core depends on fabproj-nn, but may depend on no crate"),
            "{message}"
        );
        let message = error("fabproj-plot", "fabproj-cli", Some("build"));
        assert!(
            message.contains("fabproj-plot depends on fabproj-cli, but may depend on fabproj only"),
            "{message}"
        );
    }

    #[test]
    fn all_wrong_arrows_are_listed() {
        let wrong = workspace(&[
            ("fabproj-core", "fabproj", None),
            ("fabproj-nn", "fabproj", None),
        ]);
        let message = check(&wrong).unwrap_err().to_string();
        assert!(
            message.contains("fabproj-core depends") && message.contains("fabproj-nn depends"),
            "{message}"
        );
    }

    #[test]
    fn the_product_never_depends_on_the_paper() {
        let is_paper = |name: &str| name.starts_with("fab-");
        for (product, _) in ROOMS.iter().filter(|(name, _)| name.starts_with("fabproj")) {
            for (paper, _) in ROOMS.iter().filter(|(name, _)| is_paper(name)) {
                assert!(error(product, paper, None).contains(paper));
                assert!(error(product, paper, Some("dev")).contains(paper));
            }
        }
    }

    #[test]
    fn what_is_reached_anyway_may_be_named_directly() {
        check(&workspace(&[("fab-method", "fabproj-core", None)])).unwrap();
    }

    #[test]
    fn dev_dependencies_point_to_rows_above() {
        check(&workspace(&[("fabproj", "fabproj-export", Some("dev"))])).unwrap();
        error("fabproj", "fabproj-plot", Some("dev"));
    }

    #[test]
    fn a_crate_without_a_row_is_an_error() {
        assert!(error("fabproj-new", "fabproj", None).contains("fabproj-new has no row"));
    }
}
