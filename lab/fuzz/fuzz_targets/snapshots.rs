//! Shards of every format, through a guard, a chain and `inspect`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seenguard_fuzz::snapshots::{self, Input};

fuzz_target!(|input: Input<'_>| snapshots::check(&input));
