//! The remedies: what a server and a device do so that nothing comes twice.

mod device_alone;
mod ids_up;
mod seenguard;
mod server;

use ::seenguard::ShardChain;
use ::seenguard::device::Guard;
use seenguard_lab::Result;
use serde::{Deserialize, Serialize};

pub use self::seenguard::{apply, deliver};

use crate::page::{Ask, Page};
use crate::stream::Store;

/// What a person's past has left behind: where each remedy begins.
pub struct Past {
    pub chain: ShardChain,
    /// Of each device: what it showed, as a guard that never applied a snapshot.
    pub tables: Vec<Guard>,
    /// The same with a name and the server's shards; all is delivered and covered.
    pub guards: Vec<Guard>,
    /// What each device showed, oldest first.
    pub seen: Vec<Vec<u32>>,
}

/// A remedy in use by one person.
pub trait Remedy {
    /// Fills a page.
    fn page(&mut self, ask: &Ask<'_>, store: &mut Store<'_>) -> Result<Page>;

    /// An item was on the screen of a device long enough.
    fn record(&mut self, item: u32, device: usize, at: u64, store: &mut Store<'_>) -> Result<()>;

    /// The store was flushed, and what the server keeps in it for this remedy.
    fn flush(&mut self) {}
}

/// The remedies that are compared.
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

    /// The remedy for one person, after the past.
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
