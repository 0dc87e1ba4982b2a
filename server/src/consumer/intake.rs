//! A stream of reports between the service and its consumers.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use seenguard::ReceivedReport;

use super::ConsumerOptions;
use crate::error::Error;
use crate::taking::{DeadLetter, Entry, EntryId};

/// Reports wait in it: the service appends them, and consumers take them in.
#[async_trait]
pub trait ReportStream: fmt::Debug + Send + Sync {
    /// Appends a report, without what the device has pending, which the store has. It is safe when this returns.
    async fn append(&self, user: &str, report: &ReceivedReport) -> Result<(), Error>;

    /// A sign of life.
    async fn ping(&self) -> Result<(), Error>;

    /// Begins to read, as one of its consumers.
    fn open(&self, options: &ConsumerOptions) -> Result<Box<dyn Intake>, Error>;

    /// Whether what is taken in makes room where the chains are.
    fn is_with_the_chains(&self) -> bool {
        false
    }

    /// Whether what is taken in stays, in its order: then chains can be built anew from it.
    fn is_kept(&self) -> bool {
        false
    }
}

#[async_trait]
impl<S: ReportStream + ?Sized> ReportStream for Arc<S> {
    async fn append(&self, user: &str, report: &ReceivedReport) -> Result<(), Error> {
        (**self).append(user, report).await
    }

    async fn ping(&self) -> Result<(), Error> {
        (**self).ping().await
    }

    fn open(&self, options: &ConsumerOptions) -> Result<Box<dyn Intake>, Error> {
        (**self).open(options)
    }

    fn is_with_the_chains(&self) -> bool {
        (**self).is_with_the_chains()
    }

    fn is_kept(&self) -> bool {
        (**self).is_kept()
    }
}

/// What a consumer reads.
#[async_trait]
pub trait Intake: Send + Sync {
    /// At most so many entries that were not given yet; after a while none.
    async fn next(&mut self, most: usize) -> Result<Vec<Entry>, Error>;

    /// All that was given and is not settled is given again.
    fn give_again(&mut self);

    /// Says again that this consumer works on these, so that no other one takes them over, for as long
    /// as it runs.
    async fn hold(&self, entries: &[EntryId]) -> Infallible;

    /// Done and dead ones need not come again; a dead one is set aside.
    async fn settle(&mut self, done: &[EntryId], dead: &[DeadLetter]) -> Result<(), Error>;

    /// Whether all that there was is settled.
    async fn is_at_end(&mut self) -> Result<bool, Error>;

    /// Leaves what is not settled to others.
    async fn close(self: Box<Self>) {}
}
