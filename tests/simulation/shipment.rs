//! What a server ships to a device.

use std::rc::Rc;

use seenguard::{Impression, Shard};

/// A shard as it travels, and read once for all that compare with it.
#[derive(Debug)]
pub struct Shipped {
    pub text: String,
    /// Without its mark.
    pub reference: String,
    pub shard: Shard,
}

/// A state of the chain, as some replica ships it.
#[derive(Debug, Default)]
pub struct State {
    pub version: u64,
    /// Unix seconds of the latest deletion of the history, 0 if there was none.
    pub forget_before: u32,
    pub shards: Vec<Rc<Shipped>>,
    pub unseen: Vec<Impression>,
}

/// A state as it is shipped to a device that holds some of the shards.
pub struct Shipment {
    pub state: Rc<State>,
    /// The shards' texts, or their references.
    pub shards: Vec<String>,
}
