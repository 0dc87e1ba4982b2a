//! The remedies: behavior of the server and the device against repeats.

mod device_alone;
mod ids_up;
mod seenguard;
mod server;

use ::seenguard::ShardChain;
use ::seenguard::device::Guard;
use seenguard_lab::Result;
use serde::{Deserialize, Serialize};

pub use self::seenguard::{apply, deliver};

use crate::page::{Page, Request};
use crate::stream::Store;

/// The state after a person's past, with which each remedy starts.
pub struct Past {
    pub chain: ShardChain,
    /// For each device, a guard with its impressions that never applied a snapshot.
    pub tables: Vec<Guard>,
    /// For each device, a guard with a name and the server's shards; all impressions are delivered and covered.
    pub guards: Vec<Guard>,
    /// For each device, the items that it showed, oldest first.
    pub seen: Vec<Vec<u32>>,
}

/// A remedy in use by one person.
pub trait Remedy {
    /// Fills a page.
    fn page(&mut self, request: &Request<'_>, store: &mut Store<'_>) -> Result<Page>;

    /// Records an impression on a device.
    fn record(&mut self, item: u32, device: usize, at: u64, store: &mut Store<'_>) -> Result<()>;

    /// Deletes the remedy's own data in the store, when the store is flushed.
    fn flush(&mut self) {}
}

/// The compared remedies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    ServerAlone,
    LastServed,
    IdsUp,
    DeviceAlone,
    Seenguard,
}

impl Kind {
    pub const ALL: [Kind; 5] = [
        Kind::ServerAlone,
        Kind::LastServed,
        Kind::IdsUp,
        Kind::DeviceAlone,
        Kind::Seenguard,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::ServerAlone => "server alone",
            Kind::LastServed => "last 100 served",
            Kind::IdsUp => "seen ids sent up",
            Kind::DeviceAlone => "device alone",
            Kind::Seenguard => "Seenguard",
        }
    }

    /// Starts the remedy for one person, after the past.
    pub fn start(self, past: &Past) -> Box<dyn Remedy> {
        match self {
            Kind::ServerAlone => Box::new(server::ServerAlone),
            Kind::LastServed => Box::new(server::LastServed::default()),
            Kind::IdsUp => Box::new(ids_up::IdsUp::new(past)),
            Kind::DeviceAlone => Box::new(device_alone::DeviceAlone::new(past)),
            Kind::Seenguard => Box::new(seenguard::Seenguard::new(past)),
        }
    }
}
