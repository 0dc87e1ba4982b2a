//! What everything that happens on a device needs besides the device.

use super::conditions::Conditions;
use super::items::Items;
use super::server::Server;
use super::statistics::Tally;
use crate::random::Random;

pub struct Scene<'a> {
    pub now: u64,
    /// Whether nothing fails, is late or old any more.
    pub is_well: bool,
    pub conditions: &'a Conditions,
    pub items: &'a mut Items,
    pub server: &'a mut Server,
    pub random: &'a mut Random,
    pub tally: &'a mut Tally,
}
