//! Marked regions of the documentation, which `--check` compares.
//!
//! A region of a page is the text between `<!-- name:begin -->` and `<!-- name:end -->`.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Options, Result};

/// The number of lines of a difference that are printed.
const SHOWN_LINES: usize = 12;

/// The output of a program's results.
#[derive(Debug, Default)]
pub struct Report {
    regions: Vec<Region>,
}

#[derive(Debug)]
struct Region {
    page: &'static str,
    name: &'static str,
    markdown: String,
}

impl Report {
    /// Adds the content of the region `name` of a page, a path such as `docs/effect.md`.
    pub fn region(&mut self, page: &'static str, name: &'static str, markdown: String) {
        self.regions.push(Region { page, name, markdown });
    }

    /// Prints, writes or checks the output, as the options say.
    ///
    /// # Errors
    /// Errors of files, and differences found by `--check`, which go to stderr.
    pub fn publish(&self, options: &Options) -> Result<()> {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        if options.write {
            for (path, _, expected) in pages(&project, &self.regions)? {
                fs::write(&path, expected).map_err(|error| file_error(&path, error))?;
            }
        }
        if options.check {
            self.check(&project)?;
        }
        Ok(())
    }

    fn check(&self, project: &Path) -> Result<()> {
        let mut differences = Vec::new();
        for (path, current, expected) in pages(project, &self.regions)? {
            differences.extend(difference(&path, &current, &expected));
        }
        if differences.is_empty() {
            return Ok(());
        }
        eprintln!("{}", differences.join("\n"));
        Err("the documentation is out of date: run with --write".into())
    }
}

/// Returns each page with its current text, and its text with these regions.
fn pages<'a>(project: &Path, regions: impl IntoIterator<Item = &'a Region>) -> Result<Vec<(PathBuf, String, String)>> {
    let mut pages: Vec<(PathBuf, String, String)> = Vec::new();
    for region in regions {
        let path = project.join(region.page);
        if !pages.iter().any(|(known, ..)| *known == path) {
            let current = fs::read_to_string(&path).map_err(|error| file_error(&path, error))?;
            pages.push((path.clone(), current.clone(), current));
        }
        for (_, _, expected) in pages.iter_mut().filter(|(known, ..)| *known == path) {
            *expected =
                replace_region(expected, region.name, &region.markdown).map_err(|error| file_error(&path, error))?;
        }
    }
    Ok(pages)
}

fn file_error(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// Replaces the content of a region, with an empty line before and after it.
fn replace_region(page: &str, name: &str, markdown: &str) -> std::result::Result<String, String> {
    let (begin, end) = (format!("<!-- {name}:begin -->"), format!("<!-- {name}:end -->"));
    let (before, rest) = page.split_once(&begin).ok_or_else(|| format!("{begin} is missing"))?;
    let (_, after) = rest.split_once(&end).ok_or_else(|| format!("{end} is missing"))?;
    Ok(format!("{before}{begin}\n\n{}\n\n{end}{after}", markdown.trim()))
}

/// The first lines that differ: `-` as in the file, `+` as expected.
fn difference(path: &Path, current: &str, expected: &str) -> Option<String> {
    if current == expected {
        return None;
    }
    let (current, expected): (Vec<&str>, Vec<&str>) = (current.lines().collect(), expected.lines().collect());
    let differ = |index: &usize| current.get(*index) != expected.get(*index);
    let lines: Vec<usize> = (0..current.len().max(expected.len())).filter(differ).collect();
    let shown = lines.iter().take(SHOWN_LINES).map(|&index| {
        let line = |lines: &[&str]| lines.get(index).copied().unwrap_or("(no line)").to_string();
        format!("  line {}\n  - {}\n  + {}", index + 1, line(&current), line(&expected))
    });
    let shown = shown.collect::<Vec<_>>().join("\n");
    Some(format!(
        "{}: lines that differ: {}\n{shown}",
        path.display(),
        lines.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Page\n\n<!-- a:begin -->\n\nold\n\n<!-- a:end -->\n\nText.\n";

    #[test]
    fn a_region_is_replaced_and_the_rest_of_the_page_stays() {
        let page = replace_region(PAGE, "a", "| new |\n").expect("a region");
        assert_eq!(page, PAGE.replace("old", "| new |"));
        assert!(replace_region(PAGE, "b", "").is_err());
    }

    #[test]
    fn a_difference_names_the_line_and_both_texts() {
        let path = Path::new("page.md");
        assert_eq!(difference(path, PAGE, PAGE), None);
        let text = difference(path, PAGE, &PAGE.replace("old", "new")).expect("a difference");
        assert_eq!(text, "page.md: lines that differ: 1\n  line 5\n  - old\n  + new");
    }
}
