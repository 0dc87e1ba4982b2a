//! Code shared by the lab's programs (see README.md): the command line, tables, and the regions of the documentation
//! //! with their results.

mod format;
mod output;
mod results;
mod table;

pub use format::{bytes, count, percent, significant};
pub use output::Report;
pub use results::Measurement;
pub use table::{Column, Table};

use clap::Parser;

/// A result whose error has a message; the programs end at the first error.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures and prints tables; options record the results, or write and check the documentation.
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
    /// Measure a sample again; fail if it differs from the recorded results, or the documentation has other tables
    #[arg(long, conflicts_with = "seed")]
    pub check: bool,
}
