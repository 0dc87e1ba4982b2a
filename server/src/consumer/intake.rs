//! The traits of a stream of reports between the service and its consumers.

use std::convert::Infallible;
use std::fmt;

use async_trait::async_trait;
use seenguard::ReceivedReport;

use super::ConsumerOptions;
use crate::applying::{DeadLetter, Entry, EntryId};
use crate::error::Error;

/// The user and the report of an entry, or an error's code if it is unreadable.
pub type FirstEntry = Result<(String, ReceivedReport), &'static str>;

/// A queue of reports: the service appends them, and consumers apply them.
#[async_trait]
pub trait ReportStream: fmt::Debug + Send + Sync {
    /// Appends a report without the device's pending impressions, which are in the store. Returns when it is durable.
    async fn append(&self, user: &str, report: &ReceivedReport) -> Result<(), Error>;

    /// Returns an error if the stream does not respond.
    async fn ping(&self) -> Result<(), Error>;

    /// Starts reading as one of the stream's consumers.
    fn open(&self, options: &ConsumerOptions) -> Result<Box<dyn Intake>, Error>;

    /// Returns at most this many entries, the earliest first, and acknowledges none. For `seenguard-server check`.
    #[doc(hidden)]
    async fn first(&self, most: usize) -> Result<Vec<FirstEntry>, Error>;

    /// The least number of replicas of an acknowledged report, with advice; `None` if there is no such setting.
    #[doc(hidden)]
    async fn min_insync_replicas(&self) -> Option<Result<String, Error>> {
        None
    }

    /// Whether the stream is in the store, so that applied entries free memory of the store.
    fn frees_store_memory(&self) -> bool {
        false
    }

    /// Whether applied entries stay in the stream in their order, so that chains can be rebuilt from them.
    fn is_replayable(&self) -> bool {
        false
    }
}

/// The reading end of a stream.
#[async_trait]
pub trait Intake: Send + Sync {
    /// Returns at most `most` new entries; none after [`ConsumerOptions::wait`].
    async fn next(&mut self, most: usize) -> Result<Vec<Entry>, Error>;

    /// Makes [`Intake::next`] return unacknowledged entries again.
    fn redeliver(&mut self);

    /// Renews this consumer's claim to these entries until the future is dropped, so that no other consumer claims
    /// them.
    async fn renew_claims(&self, entries: &[EntryId]) -> Infallible;

    /// Acknowledges entries that are applied or dead; dead ones become dead letters.
    async fn acknowledge(&mut self, done: &[EntryId], dead: &[DeadLetter]) -> Result<(), Error>;

    /// Whether all of the stream is read; `None` if that is not known yet.
    fn is_healthy(&self) -> Option<bool> {
        Some(true)
    }

    /// Whether unreadable entries may have a wrong event mapping as their cause.
    fn may_misread(&self) -> bool {
        false
    }

    /// Whether nothing more can be read until entries are acknowledged.
    fn is_full(&self) -> bool {
        false
    }

    /// Whether all entries up to the end are acknowledged.
    async fn is_at_end(&mut self) -> Result<bool, Error>;

    /// Stops reading. Other consumers get the unacknowledged entries.
    async fn close(self: Box<Self>) {}
}
