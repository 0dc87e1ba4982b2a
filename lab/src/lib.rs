//! What the programs of the lab share; README.md lists them.

pub mod report;
