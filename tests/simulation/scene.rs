//! What everything that happens on a device needs beside it.

use super::conditions::Conditions;
use super::items::Items;
use super::server::Server;
use super::statistics::Tally;
use crate::random::Random;

pub struct Scene<'a> {
    pub now: u64,
    pub conditions: &'a Conditions,
    pub items: &'a mut Items,
    pub server: &'a mut Server,
    pub random: &'a mut Random,
    pub tally: &'a mut Tally,
    /// Whether every step is printed.
    pub traces: bool,
}

impl Scene<'_> {
    pub fn trace(&self, what: impl FnOnce() -> String) {
        if self.traces {
            println!("                  {}", what());
        }
    }
}
