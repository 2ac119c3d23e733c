//! Links between the Markdown files of the repository: files and headings that they name exist.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::shell::{command, output, root};

pub fn check() -> Result<()> {
    let files = output(command("git").args(["ls-files", "*.md"]))?;
    let mut broken = Vec::new();
    for file in files.lines() {
        let text = read(&root().join(file))?;
        for target in targets(&text) {
            if !leads_somewhere(&root().join(file), &target)? {
                broken.push(format!("{file}: {target}"));
            }
        }
    }
    if !broken.is_empty() {
        bail!("links that lead nowhere:\n  {}", broken.join("\n  "));
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

fn leads_somewhere(file: &Path, target: &str) -> Result<bool> {
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let page = match path {
        "" => file.to_path_buf(),
        path => file.with_file_name(path),
    };
    if heading.is_empty() || page.extension().is_none_or(|ending| ending != "md") {
        return Ok(page.exists());
    }
    Ok(page.is_file() && anchors(&read(&page)?).any(|anchor| anchor == heading))
}

/// Lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// Targets of links and pictures, without those in the web.
fn targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for line in prose(text) {
        let ends = line.split("](").skip(1);
        let found = ends.filter_map(|rest| rest.split([')', ' ']).next());
        let here = found.filter(|target| !target.contains("://") && !target.starts_with("mailto:"));
        targets.extend(here.map(ToOwned::to_owned));
    }
    targets
}

/// What GitHub calls the headings: lower case, without punctuation, with hyphens for spaces.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_and_headings_are_told_apart_from_those_that_lead_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.md");
        let text = "# A `title`, so\n[a](other.md) ![b](#a-title-so) [c](https://x.y/z)\n\
                    ```\n[code](nowhere.md)\n```\n[d](other.md#none) [e](gone.md)\n";
        fs::write(&page, text).unwrap();
        fs::write(folder.path().join("other.md"), "# Other\n").unwrap();
        let found = targets(text);
        assert_eq!(
            found,
            ["other.md", "#a-title-so", "other.md#none", "gone.md"]
        );
        let right = found.iter().map(|to| leads_somewhere(&page, to).unwrap());
        assert_eq!(right.collect::<Vec<_>>(), [true, true, false, false]);
    }
}
