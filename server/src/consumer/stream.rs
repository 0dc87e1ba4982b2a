//! The stream of reports between the service and its consumers: a stream of Redis, an entry a report.

use std::collections::HashMap;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use redis::streams::{StreamAutoClaimOptions, StreamAutoClaimReply, StreamId, StreamReadOptions, StreamReadReply};
use redis::{AsyncCommands, RedisResult, Value, cmd};
use seenguard::ReceivedReport;

use crate::error::{Error, ErrorKind};
use crate::redis_store::{ACKNOWLEDGE, PREPARE, RedisConnection, SET_ASIDE, error_of};

const USER: &str = "user";
const REPORT: &str = "report";
/// The first of all entries.
const BEGINNING: &str = "0-0";
/// How often what appends looks how large the stream is.
const LOOK: Duration = Duration::from_secs(2);

/// A stream of reports in Redis, behind a connection that nothing else uses: a command that waits for entries holds up
/// all else on it.
#[derive(Debug, Clone)]
pub struct Stream {
    connection: RedisConnection,
    name: String,
    room: Option<Arc<Room>>,
}

/// How large the stream may be, and was when somebody looked last.
#[derive(Debug)]
struct Room {
    max_bytes: u64,
    bytes: AtomicU64,
    next_look: Mutex<Instant>,
}

/// An entry of the stream.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) id: String,
    fields: HashMap<String, Value>,
}

/// Why an entry is set aside.
#[derive(Debug)]
pub(super) struct DeadLetter {
    pub(super) entry: Entry,
    pub(super) code: &'static str,
}

impl Stream {
    /// The stream of this name, which need not be there yet.
    pub fn new(connection: RedisConnection, name: impl Into<String>) -> Self {
        Stream {
            connection,
            name: name.into(),
            room: None,
        }
    }

    /// Nothing is appended while it takes more bytes than this in Redis, so that it leaves room for the users' chains.
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        let room = Some(Arc::new(Room {
            max_bytes,
            bytes: AtomicU64::new(0),
            next_look: Mutex::new(Instant::now()),
        }));
        Stream { room, ..self }
    }

    /// The stream of what was set aside, about 10,000 entries: consume it once the cause is mended. On a cluster it
    /// shares the stream's slot.
    pub fn dead_letters(&self) -> String {
        match self.name.contains('{') {
            true => format!("{}:dead", self.name),
            false => format!("{{{}}}:dead", self.name),
        }
    }

    /// Whether there is a connection now.
    pub(super) fn is_connected(&self) -> bool {
        self.connection.is_connected()
    }

    /// Appends a report, without what the device has pending, which the store has. It is in Redis when this returns.
    ///
    /// # Errors
    /// What Redis meets; [`ErrorKind::OutOfMemory`] while the stream is as large as it may be.
    pub async fn append(&self, user: &str, report: &ReceivedReport) -> Result<(), Error> {
        if self.is_full().await {
            return Err(Error::new(
                ErrorKind::OutOfMemory,
                "the stream is as large as it may be",
            ));
        }
        let mut report = report.clone();
        report.pending = None;
        let report = serde_json::to_string(&report).map_err(|error| Error::new(ErrorKind::OutOfMemory, error))?;
        let mut append = cmd("XADD");
        append.arg(&self.name).arg("*").arg(&[USER, user, REPORT, &report]);
        let id: RedisResult<String> = append.query_async(&mut self.connection.clone()).await;
        id.map(drop).map_err(error_of)
    }

    /// As of the last look, which one of those that append takes now and then.
    async fn is_full(&self) -> bool {
        let Some(room) = &self.room else { return false };
        let is_due = {
            let mut next_look = room.next_look.lock().unwrap_or_else(PoisonError::into_inner);
            let is_due = Instant::now() >= *next_look;
            if is_due {
                *next_look = Instant::now() + LOOK;
            }
            is_due
        };
        if is_due {
            let mut look = cmd("MEMORY");
            look.arg("USAGE").arg(&self.name);
            let bytes: RedisResult<Option<u64>> = look.query_async(&mut self.connection.clone()).await;
            match bytes {
                Ok(bytes) => room.bytes.store(bytes.unwrap_or(0), Ordering::Relaxed),
                Err(error) => tracing::warn!(%error, "Redis does not say how large the stream is"),
            }
        }
        room.bytes.load(Ordering::Relaxed) > room.max_bytes
    }

    /// Makes the stream and its group, where they are not there yet, in a full Redis, too.
    pub(super) async fn prepare(&self, group: &str) -> Result<(), Error> {
        let keys = slice::from_ref(&self.name);
        PREPARE.run(&self.connection, keys, &[group]).await.map(drop)
    }

    /// Entries that no consumer of the group was given yet; after a while none.
    pub(super) async fn read(
        &self,
        group: &str,
        consumer: &str,
        most: usize,
        wait: Duration,
    ) -> Result<Vec<Entry>, Error> {
        let options = StreamReadOptions::default().block(wait.as_millis() as usize);
        self.read_from(">", options.group(group, consumer).count(most)).await
    }

    /// Entries that this consumer was given and has not acknowledged, from after this one on.
    pub(super) async fn read_own(
        &self,
        group: &str,
        consumer: &str,
        most: usize,
        after: &str,
    ) -> Result<Vec<Entry>, Error> {
        let options = StreamReadOptions::default();
        self.read_from(after, options.group(group, consumer).count(most)).await
    }

    async fn read_from(&self, id: &str, options: StreamReadOptions) -> Result<Vec<Entry>, Error> {
        let mut connection = self.connection.clone();
        let reply: RedisResult<Option<StreamReadReply>> =
            connection.xread_options(&[&self.name], &[id], &options).await;
        let keys = reply.map_err(error_of)?.map(|reply| reply.keys).unwrap_or_default();
        Ok(keys.into_iter().flat_map(|key| key.ids).map(Entry::of).collect())
    }

    /// Takes over entries that a consumer of the group was given so long ago and has not acknowledged.
    pub(super) async fn claim(
        &self,
        group: &str,
        consumer: &str,
        most: usize,
        after: Duration,
    ) -> Result<Vec<Entry>, Error> {
        let options = StreamAutoClaimOptions::default().count(most);
        let mut connection = self.connection.clone();
        let after = after.as_millis() as usize;
        let reply: RedisResult<StreamAutoClaimReply> = connection
            .xautoclaim_options(&self.name, group, consumer, after, BEGINNING, options)
            .await;
        Ok(reply.map_err(error_of)?.claimed.into_iter().map(Entry::of).collect())
    }

    /// This consumer still works on these.
    pub(super) async fn renew(&self, group: &str, consumer: &str, ids: &[String]) -> Result<(), Error> {
        let mut claim = cmd("XCLAIM");
        claim
            .arg(&self.name)
            .arg(group)
            .arg(consumer)
            .arg(0)
            .arg(ids)
            .arg("JUSTID");
        let claimed: RedisResult<Value> = claim.query_async(&mut self.connection.clone()).await;
        claimed.map(drop).map_err(error_of)
    }

    /// These entries need not come again.
    pub(super) async fn acknowledge(&self, group: &str, done: &[String]) -> Result<(), Error> {
        if done.is_empty() {
            return Ok(());
        }
        let arguments: Vec<&str> = [group].into_iter().chain(done.iter().map(String::as_str)).collect();
        let keys = slice::from_ref(&self.name);
        ACKNOWLEDGE.run(&self.connection, keys, &arguments).await.map(drop)
    }

    /// Acknowledges an entry that no chain takes, and sets it aside in the same step.
    pub(super) async fn set_aside(&self, group: &str, DeadLetter { entry, code }: &DeadLetter) -> Result<(), Error> {
        let mut arguments = [group, &entry.id, "code", code, "entry", &entry.id]
            .map(Vec::from)
            .to_vec();
        for (name, value) in &entry.fields {
            if let Value::BulkString(value) = value {
                arguments.extend([name.clone().into_bytes(), value.clone()]);
            }
        }
        let keys = [self.name.clone(), self.dead_letters()];
        SET_ASIDE.run(&self.connection, &keys, &arguments).await.map(drop)
    }

    /// How many entries the stream has.
    pub(super) async fn len(&self) -> Result<u64, Error> {
        self.connection.clone().xlen(&self.name).await.map_err(error_of)
    }
}

impl Entry {
    fn of(StreamId { id, map, .. }: StreamId) -> Self {
        Entry { id, fields: map }
    }

    /// Whose report it is, and the report; none if it cannot be read.
    pub(super) fn content(&self) -> Option<(String, ReceivedReport)> {
        let text = |name: &str| -> Option<String> { redis::from_redis_value_ref(self.fields.get(name)?).ok() };
        Some((text(USER)?, serde_json::from_str(&text(REPORT)?).ok()?))
    }
}
