//! Snapshots of every format, by a guard, by a chain and by `inspect`, which must agree on each.

mod chain;
mod device;
mod verdicts;

use arbitrary::Arbitrary;

use crate::pieces::Few;
use chain::ChainProgram;
use device::DeviceProgram;

/// One input.
#[derive(Debug, Arbitrary)]
pub struct Input<'a> {
    programs: Few<Program<'a>, 4>,
}

#[derive(Debug, Arbitrary)]
enum Program<'a> {
    Device(DeviceProgram<'a>),
    Chain(ChainProgram<'a>),
}

/// Runs an input's programs.
///
/// # Panics
/// If a property does not hold.
pub fn check(input: &Input<'_>) {
    for program in &input.programs.0 {
        match program {
            Program::Device(program) => device::run(program),
            Program::Chain(program) => chain::run(program),
        }
    }
}
