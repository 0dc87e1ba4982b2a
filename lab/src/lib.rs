//! Code shared by the programs of the lab, which README.md lists.

pub mod report;
