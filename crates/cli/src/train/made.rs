//! What trainings of sets and of problems tell alike at their end: files, times, warnings.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use crate::options::Common;
use crate::show::{self, time};

/// Files and times of a training that came to its end.
pub struct Made {
    /// The model first.
    pub files: Vec<PathBuf>,
    /// Median and 99 % quantile of one call.
    pub latency_ns: (f64, f64),
    pub training_seconds: f64,
    /// Certificate and figure included.
    pub seconds: f64,
}

impl Made {
    /// Prints `figures` beside its own as one JSON value, or `text`; then the warnings.
    pub fn print(
        &self,
        common: &Common,
        mut figures: Value,
        text: impl FnOnce() -> String,
        warnings: &[String],
    ) -> Result<()> {
        if common.json {
            let files = self.names();
            figures["model"] = json!(files.first());
            figures["files"] = json!(files);
            figures["training_seconds"] = json!(self.training_seconds);
            figures["seconds"] = json!(self.seconds);
            figures["p50_ns"] = json!(self.latency_ns.0);
            figures["p99_ns"] = json!(self.latency_ns.1);
            figures["warnings"] = json!(warnings);
            return show::print_json(&figures);
        }
        if !common.quiet {
            show::print(text())?;
        }
        warnings
            .iter()
            .for_each(|warning| eprintln!("warning: {warning}"));
        Ok(())
    }

    fn names(&self) -> Vec<String> {
        let names = self.files.iter().map(|path| path.display().to_string());
        names.collect()
    }

    /// The model's path.
    pub fn model(&self) -> String {
        self.names().into_iter().next().unwrap_or_default()
    }

    /// The time of one call.
    pub fn call(&self) -> String {
        let (median, most) = self.latency_ns;
        format!("{} (99 %: {})", time(median * 1e-9), time(most * 1e-9))
    }

    /// The files, one in a line.
    pub fn written(&self) -> String {
        self.names().join("\n")
    }
}
