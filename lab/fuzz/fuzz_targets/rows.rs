//! Stored rows with valid checksums, against a plain model of the table.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seenguard_fuzz::rows::{self, Input};

fuzz_target!(|input: Input<'_>| rows::check(&input));
