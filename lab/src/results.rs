//! Recorded results: lab/results/NAME.jsonl, one line of JSON for each.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Options, Result};

/// A program's measurements: all, and the sample that `--check` repeats.
pub struct Measurement<All, Sample> {
    pub name: &'static str,
    pub all: All,
    pub sample: Sample,
}

impl<All, Sample> Measurement<All, Sample> {
    /// Returns the results to report: those of this run, or, with `--write` and `--check`, the recorded ones.
    ///
    /// # Errors
    /// Errors of the measurement and of files, and a result of the sample that differs from the recorded one.
    pub fn results<R>(self, options: &Options) -> Result<Vec<R>>
    where
        R: Serialize + DeserializeOwned,
        All: FnOnce(u64) -> Result<Vec<R>>,
        Sample: FnOnce(u64) -> Result<Vec<R>>,
    {
        let path = path(self.name);
        let name = path.display();
        if !options.write && !options.check {
            let results = (self.all)(options.seed)?;
            if options.record {
                fs::write(&path, lines(&results)?).map_err(|error| format!("{name}: {error}"))?;
            }
            return Ok(results);
        }
        let recorded = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        if options.check {
            let sample = lines(&(self.sample)(options.seed)?)?;
            if let Some(line) = missing(&recorded, &sample) {
                return Err(format!("{name} lacks a line that is found now; run with --record: {line}").into());
            }
        }
        parse(&recorded)
    }
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("results")
        .join(name)
        .with_extension("jsonl")
}

fn lines(results: &[impl Serialize]) -> Result<String> {
    let mut text = String::new();
    for result in results {
        text.push_str(&serde_json::to_string(result)?);
        text.push('\n');
    }
    Ok(text)
}

fn parse<R: DeserializeOwned>(recorded: &str) -> Result<Vec<R>> {
    recorded.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn missing<'a>(recorded: &str, found: &'a str) -> Option<&'a str> {
    found.lines().find(|line| !recorded.lines().any(|known| known == *line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_results_are_read_as_they_were_written() {
        let results = vec![("a".to_string(), 0.1), ("b".to_string(), 2.5)];
        let recorded = lines(&results).expect("lines");
        assert_eq!(recorded, "[\"a\",0.1]\n[\"b\",2.5]\n");
        assert_eq!(parse::<(String, f64)>(&recorded).expect("results"), results);
    }

    #[test]
    fn a_result_that_is_recorded_differently_is_reported() {
        let recorded = "[\"a\",0.1]\n[\"b\",2.5]\n";
        assert_eq!(missing(recorded, "[\"b\",2.5]\n"), None);
        assert_eq!(missing(recorded, "[\"b\",2.6]\n"), Some("[\"b\",2.6]"));
    }
}
