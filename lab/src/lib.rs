//! What the programs of the lab share, which README.md lists: their command line, tables, and the pages of the
//! documentation that hold what they measured.

mod format;
mod output;
mod results;
mod table;

pub use format::{bytes, count, percent, significant};
pub use output::Report;
pub use results::Measurement;
pub use table::{Column, Table};

use clap::Parser;

/// An error with its message; these programs end with the first one.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures, and prints tables; with an option, keeps the recorded results and the documentation in step.
#[derive(Debug, Clone, Parser)]
pub struct Options {
    /// Seed of the random numbers; the recorded figures are those of seed 1
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Record the results in lab/results/
    #[arg(long, conflicts_with_all = ["seed", "write", "check"])]
    pub record: bool,
    /// Write tables of the recorded results into the documentation
    #[arg(long, conflicts_with_all = ["seed", "check"])]
    pub write: bool,
    /// Measure a sample again; fail if it is not what is recorded, or if the documentation holds other tables
    #[arg(long, conflicts_with = "seed")]
    pub check: bool,
}
