//! What these programs share: their command line, tables, and the pages of the documentation that hold what they
//! measured.

mod format;
mod options;
mod output;
mod results;
mod table;

pub use format::{bytes, count, percent, significant};
pub use options::Options;
pub use output::Report;
pub use results::Measurement;
pub use table::{Column, Table};

/// An error with its message; these programs end with the first one.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
