//! A stream of reports between the service and its consumers.

use std::convert::Infallible;
use std::fmt;

use async_trait::async_trait;
use seenguard::ReceivedReport;

use super::ConsumerOptions;
use crate::applying::{DeadLetter, Entry, EntryId};
use crate::error::Error;

/// The user and the report of an entry, or the code of an error.
pub type FirstEntry = Result<(String, ReceivedReport), &'static str>;

/// A queue of reports: the service appends them, and consumers apply them.
#[async_trait]
pub trait ReportStream: fmt::Debug + Send + Sync {
    /// Appends a report, without the device's pending impressions, which the store has. It is durable when this
    /// returns.
    async fn append(&self, user: &str, report: &ReceivedReport) -> Result<(), Error>;

    /// Checks that the stream responds.
    async fn ping(&self) -> Result<(), Error>;

    /// Starts reading, as one of its consumers.
    fn open(&self, options: &ConsumerOptions) -> Result<Box<dyn Intake>, Error>;

    /// At most this many of its entries, the earliest first; none is acknowledged. For `seenguard-server check`.
    #[doc(hidden)]
    async fn first(&self, most: usize) -> Result<Vec<FirstEntry>, Error>;

    /// How many replicas have an acknowledged report, and what that means; `None` if there is no such setting.
    #[doc(hidden)]
    async fn min_insync_replicas(&self) -> Option<Result<String, Error>> {
        None
    }

    /// Whether applied entries free memory of the store.
    fn frees_store_memory(&self) -> bool {
        false
    }

    /// Whether applied entries stay, in their order: then chains can be rebuilt from them.
    fn is_replayable(&self) -> bool {
        false
    }
}

/// The reading end of a stream.
#[async_trait]
pub trait Intake: Send + Sync {
    /// At most `most` new entries; none after a timeout.
    async fn next(&mut self, most: usize) -> Result<Vec<Entry>, Error>;

    /// Returns unacknowledged entries again.
    fn redeliver(&mut self);

    /// Renews this consumer's claim to these entries for as long as it runs, so that no other one takes them over.
    async fn renew_claims(&self, entries: &[EntryId]) -> Infallible;

    /// Acknowledges entries that are applied or dead; dead ones become dead letters.
    async fn acknowledge(&mut self, done: &[EntryId], dead: &[DeadLetter]) -> Result<(), Error>;

    /// Whether it reads all that it should, as far as that is known.
    fn is_healthy(&self) -> Option<bool> {
        Some(true)
    }

    /// Whether unreadable entries may have a wrong event mapping as their cause.
    fn may_misread(&self) -> bool {
        false
    }

    /// Whether it has returned all that it may read before entries are acknowledged.
    fn is_full(&self) -> bool {
        false
    }

    /// Whether all entries up to the end are acknowledged.
    async fn is_at_end(&mut self) -> Result<bool, Error>;

    /// Leaves unacknowledged entries to other consumers.
    async fn close(self: Box<Self>) {}
}
