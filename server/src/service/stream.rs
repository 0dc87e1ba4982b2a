//! The stream of reports between the service and its consumers: a stream of Redis, an entry a report.

use std::time::Duration;

use redis::streams::{StreamAutoClaimOptions, StreamAutoClaimReply, StreamId, StreamReadOptions, StreamReadReply};
use redis::{AsyncCommands, RedisError, RedisResult, cmd, pipe};
use seenguard::ReceivedReport;
use seenguard_server::{Error, RedisConnection};

const USER: &str = "user";
const REPORT: &str = "report";
/// The first of all entries.
const BEGINNING: &str = "0-0";

/// A stream, behind a connection that nothing else uses: a command that waits for entries holds up all else on it.
#[derive(Clone)]
pub struct Stream {
    connection: RedisConnection,
    name: String,
}

/// An entry of the stream.
pub struct Entry {
    pub id: String,
    /// Whose report it is, and the report; none if it cannot be read.
    pub content: Option<(String, ReceivedReport)>,
}

impl Stream {
    pub fn new(connection: RedisConnection, name: &str) -> Self {
        let name = name.to_owned();
        Stream { connection, name }
    }

    /// Appends a report. It is in Redis when this returns.
    pub async fn append(&self, user: &str, report: &ReceivedReport) -> Result<(), Error> {
        let report = serde_json::to_string(report).map_err(|error| Error::Storage(error.into()))?;
        let mut append = cmd("XADD");
        append
            .arg(&self.name)
            .arg("*")
            .arg(USER)
            .arg(user)
            .arg(REPORT)
            .arg(report);
        let id: RedisResult<String> = append.query_async(&mut self.connection.clone()).await;
        Ok(id.map(drop)?)
    }

    /// Makes the stream and its group, where they are not there yet.
    pub async fn prepare(&self, group: &str) -> Result<(), RedisError> {
        let mut connection = self.connection.clone();
        let made: RedisResult<()> = connection.xgroup_create_mkstream(&self.name, group, BEGINNING).await;
        match made {
            Err(error) if error.code() != Some("BUSYGROUP") => Err(error),
            _ => Ok(()),
        }
    }

    /// Entries that no consumer of the group was given yet; after a while none.
    pub async fn read(&self, group: &str, consumer: &str, most: u32, wait: Duration) -> Result<Vec<Entry>, RedisError> {
        let options = StreamReadOptions::default()
            .group(group, consumer)
            .count(most as usize)
            .block(wait.as_millis() as usize);
        let mut connection = self.connection.clone();
        let reply: Option<StreamReadReply> = connection.xread_options(&[&self.name], &[">"], &options).await?;
        let keys = reply.map(|reply| reply.keys).unwrap_or_default();
        Ok(keys.into_iter().flat_map(|key| key.ids).map(Entry::of).collect())
    }

    /// Takes over entries that a consumer of the group, this one too, was given so long ago and has not acknowledged.
    pub async fn claim(
        &self,
        group: &str,
        consumer: &str,
        most: u32,
        after: Duration,
    ) -> Result<Vec<Entry>, RedisError> {
        let options = StreamAutoClaimOptions::default().count(most as usize);
        let mut connection = self.connection.clone();
        let reply: StreamAutoClaimReply = connection
            .xautoclaim_options(
                &self.name,
                group,
                consumer,
                after.as_millis() as usize,
                BEGINNING,
                options,
            )
            .await?;
        Ok(reply.claimed.into_iter().map(Entry::of).collect())
    }

    /// These entries need not come again. The unreadable ones stay in a stream, for people to look at.
    pub async fn acknowledge(&self, group: &str, done: &[String], unreadable: &[String]) -> Result<(), RedisError> {
        let mut pipeline = pipe();
        pipeline.atomic();
        for ids in [done, unreadable].into_iter().filter(|ids| !ids.is_empty()) {
            pipeline.xack(&self.name, group, ids).ignore();
        }
        if !done.is_empty() {
            pipeline.xdel(&self.name, done).ignore();
        }
        match done.is_empty() && unreadable.is_empty() {
            true => Ok(()),
            false => pipeline.query_async(&mut self.connection.clone()).await,
        }
    }

    /// How many entries the stream has.
    pub async fn len(&self) -> Result<u64, RedisError> {
        self.connection.clone().xlen(&self.name).await
    }
}

impl Entry {
    fn of(entry: StreamId) -> Self {
        let content = || {
            Some((
                entry.get(USER)?,
                serde_json::from_str(&entry.get::<String>(REPORT)?).ok()?,
            ))
        };
        Entry {
            content: content(),
            id: entry.id,
        }
    }
}
