//! The command line of these programs.

use std::path::PathBuf;

use clap::Parser;

/// Prints tables; writes JSON, plots and the documentation if told to.
#[derive(Debug, Clone, Parser)]
pub struct Options {
    /// Seed of the random numbers; the figures of the documentation are those of seed 1
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write the figures to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the plots into this directory as SVG
    #[arg(long, value_name = "DIR")]
    pub plots: Option<PathBuf>,
    /// Write tables and plots into the documentation
    #[arg(long, conflicts_with_all = ["seed", "check"])]
    pub write: bool,
    /// Fail if the documentation holds other tables or plots than this run gives; writes nothing there
    #[arg(long, conflicts_with = "seed")]
    pub check: bool,
}
