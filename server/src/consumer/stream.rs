//! The stream of reports between the service and its consumers: a Redis stream with one report in each entry.

use std::convert::Infallible;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use metrics::{counter, gauge};
use redis::streams::{StreamAutoClaimOptions, StreamAutoClaimReply, StreamId, StreamReadOptions, StreamReadReply};
use redis::{AsyncCommands, RedisResult, Value, cmd};
use seenguard::{ReceivedReport, Time};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::ConsumerOptions;
use super::intake::{Intake, ReportStream};
use crate::error::{Error, ErrorKind, in_time};
use crate::received;
use crate::redis_store::{ACKNOWLEDGE, PREPARE, RedisConnection, SET_ASIDE, error_of};
use crate::taking::{DeadLetter, Entry, EntryId};

const USER: &str = "user";
const REPORT: &str = "report";
/// Before all entries.
const BEGINNING: EntryId = EntryId(0, 0);
/// How often to check for the first connection.
const CONNECTING: Duration = Duration::from_millis(50);
/// How often the size of the stream is checked on appending.
const LOOK: Duration = Duration::from_secs(2);

/// A stream of reports in Redis, with a connection of its own: a command that waits for entries blocks all others on
/// it.
#[derive(Debug, Clone)]
pub struct Stream {
    connection: RedisConnection,
    name: String,
    room: Option<Arc<Room>>,
}

/// The limit of the stream's size, and the size at the latest check.
#[derive(Debug)]
struct Room {
    max_bytes: u64,
    bytes: AtomicU64,
    next_look: Mutex<Instant>,
}

impl Stream {
    /// The stream of this name, which is created if it does not exist.
    pub fn new(connection: RedisConnection, name: impl Into<String>) -> Self {
        Stream {
            connection,
            name: name.into(),
            room: None,
        }
    }

    /// Appending fails while the stream uses more bytes than this in Redis, so that there is space for the users'
    /// chains.
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        let room = Some(Arc::new(Room {
            max_bytes,
            bytes: AtomicU64::new(0),
            next_look: Mutex::new(Instant::now()),
        }));
        Stream { room, ..self }
    }

    /// The stream of dead letters, about 10,000 entries: consume it once the cause is removed. On a cluster it shares
    /// the stream's slot.
    pub fn dead_letters(&self) -> String {
        match self.name.contains('{') {
            true => format!("{}:dead", self.name),
            false => format!("{{{}}}:dead", self.name),
        }
    }

    /// Appends a report, without the device's pending impressions, which the store has. It is in Redis when this
    /// returns.
    ///
    /// # Errors
    /// Errors of Redis; [`ErrorKind::OutOfMemory`] while the stream has its largest size.
    pub async fn append(&self, user: &str, report: &ReceivedReport) -> Result<(), Error> {
        if self.is_full().await {
            return Err(Error::new(
                ErrorKind::OutOfMemory,
                "the stream is as large as it may be",
            ));
        }
        let report = received::record_of(report)?;
        let mut append = cmd("XADD");
        append.arg(&self.name).arg("*").arg(&[USER, user, REPORT, &report]);
        let id: RedisResult<String> = append.query_async(&mut self.connection.clone()).await;
        id.map(drop).map_err(error_of)
    }

    /// Whether the stream is full, as of the latest check, which one of the appending calls repeats.
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
}

#[async_trait]
impl ReportStream for Stream {
    async fn append(&self, user: &str, report: &ReceivedReport) -> Result<(), Error> {
        Stream::append(self, user, report).await
    }

    async fn ping(&self) -> Result<(), Error> {
        self.connection.ping().await
    }

    fn open(&self, options: &ConsumerOptions) -> Result<Box<dyn Intake>, Error> {
        Ok(Box::new(Reader {
            stream: self.clone(),
            options: options.clone(),
            own_after: Some(BEGINNING),
            next_claim: Instant::now(),
        }))
    }

    /// A full Redis must not prevent the stream from draining.
    fn is_with_the_chains(&self) -> bool {
        true
    }
}

/// One of the consumers of a group.
struct Reader {
    stream: Stream,
    options: ConsumerOptions,
    /// While this consumer's own unacknowledged entries are read again: the last one read.
    own_after: Option<EntryId>,
    next_claim: Instant,
}

#[async_trait]
impl Intake for Reader {
    /// First this consumer's own unacknowledged entries, then abandoned ones of others, then new ones.
    async fn next(&mut self, most: usize) -> Result<Vec<Entry>, Error> {
        if self.own_after == Some(BEGINNING) {
            self.prepare().await?;
        }
        if let Some(after) = self.own_after.take() {
            let after = after.to_string();
            let own = self.read(&after, StreamReadOptions::default(), most);
            let own = in_time(self.options.call_within, own).await?;
            self.own_after = own.last().map(|entry| entry.id);
            if !own.is_empty() {
                return Ok(own);
            }
        }
        if Instant::now() >= self.next_claim {
            let claimed = in_time(self.options.call_within, self.claim(most)).await?;
            // There may be more of them.
            if !claimed.is_empty() {
                return Ok(claimed);
            }
            self.next_claim = Instant::now() + self.options.claim_after / 2;
        }
        let wait = self.options.wait;
        let options = StreamReadOptions::default().block(wait.as_millis() as usize);
        in_time(wait + self.options.call_within, self.read(">", options, most)).await
    }

    fn give_again(&mut self) {
        self.own_after = Some(BEGINNING);
    }

    async fn hold(&self, entries: &[EntryId]) -> Infallible {
        let ids: Vec<String> = entries.iter().map(EntryId::to_string).collect();
        let mut ticks = interval((self.options.claim_after / 3).max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick comes at once.
        ticks.tick().await;
        loop {
            ticks.tick().await;
            if ids.is_empty() {
                continue;
            }
            if let Err(error) = in_time(self.options.call_within, self.renew(&ids)).await {
                tracing::debug!(%error, "another consumer may take over what this one works on");
            }
        }
    }

    async fn settle(&mut self, done: &[EntryId], dead: &[DeadLetter]) -> Result<(), Error> {
        let Reader { stream, options, .. } = self;
        if !done.is_empty() {
            let ids = done.iter().map(EntryId::to_string);
            let arguments: Vec<String> = [options.group.clone()].into_iter().chain(ids).collect();
            let acknowledge = ACKNOWLEDGE.run(&stream.connection, slice::from_ref(&stream.name), &arguments);
            in_time(options.call_within, acknowledge).await?;
        }
        for DeadLetter { id, code } in dead {
            let arguments = [&options.group, &id.to_string(), *code];
            let keys = [stream.name.clone(), stream.dead_letters()];
            let set_aside = SET_ASIDE.run(&stream.connection, &keys, &arguments);
            in_time(options.call_within, set_aside).await?;
        }
        Ok(())
    }

    async fn is_at_end(&mut self) -> Result<bool, Error> {
        Ok(in_time(self.options.call_within, self.stream.len()).await? == 0)
    }
}

impl Reader {
    /// Creates the stream and its group if they do not exist, also in a full Redis.
    async fn prepare(&self) -> Result<(), Error> {
        let Reader { stream, options, .. } = self;
        // The first connection takes a moment.
        let patience = Instant::now() + options.call_within;
        while !stream.connection.is_connected() && Instant::now() < patience {
            sleep(CONNECTING).await;
        }
        let arguments = [&options.group];
        let prepare = PREPARE.run(&stream.connection, slice::from_ref(&stream.name), &arguments);
        in_time(options.call_within, prepare).await.map(drop)
    }

    /// The entries after this one; after `>`, those that no consumer of the group has read yet.
    async fn read(&self, after: &str, options: StreamReadOptions, most: usize) -> Result<Vec<Entry>, Error> {
        let ConsumerOptions { group, name, .. } = &self.options;
        let options = options.group(group, name).count(most);
        let mut connection = self.stream.connection.clone();
        let reply: RedisResult<Option<StreamReadReply>> =
            connection.xread_options(&[&self.stream.name], &[after], &options).await;
        let keys = reply.map_err(error_of)?.map(|reply| reply.keys).unwrap_or_default();
        keys.into_iter().flat_map(|key| key.ids).map(entry_of).collect()
    }

    /// Takes over entries that another consumer of the group has read long ago and not acknowledged.
    async fn claim(&self, most: usize) -> Result<Vec<Entry>, Error> {
        let ConsumerOptions {
            group,
            name,
            claim_after,
            ..
        } = &self.options;
        let options = StreamAutoClaimOptions::default().count(most);
        let after = claim_after.as_millis() as usize;
        let mut connection = self.stream.connection.clone();
        let reply: RedisResult<StreamAutoClaimReply> = connection
            .xautoclaim_options(&self.stream.name, group, name, after, BEGINNING.to_string(), options)
            .await;
        let claimed = reply.map_err(error_of)?.claimed;
        counter!("seenguard_claimed_total").increment(claimed.len() as u64);
        gauge!("seenguard_stream_entries").set(self.stream.len().await? as f64);
        claimed.into_iter().map(entry_of).collect()
    }

    async fn renew(&self, ids: &[String]) -> Result<(), Error> {
        let ConsumerOptions { group, name, .. } = &self.options;
        let mut claim = cmd("XCLAIM");
        claim
            .arg(&self.stream.name)
            .arg(group)
            .arg(name)
            .arg(0)
            .arg(ids)
            .arg("JUSTID");
        let claimed: RedisResult<Value> = claim.query_async(&mut self.stream.connection.clone()).await;
        claimed.map(drop).map_err(error_of)
    }
}

impl Stream {
    /// The number of entries.
    async fn len(&self) -> Result<u64, Error> {
        self.connection.clone().xlen(&self.name).await.map_err(error_of)
    }
}

fn entry_of(StreamId { id, map, .. }: StreamId) -> Result<Entry, Error> {
    let id: EntryId = id.parse().map_err(|error| Error::new(ErrorKind::WrongType, error))?;
    let text = |name: &str| -> Option<String> { redis::from_redis_value_ref(map.get(name)?).ok() };
    let content = match (text(USER), text(REPORT)) {
        (Some(user), Some(report)) => {
            let report = received::of_record(report.as_bytes(), Time::from_unix_ms(id.0));
            report.map(|report| (user, report)).map_err(|error| error.code())
        }
        _ => Err(ErrorKind::BadReport.code()),
    };
    Ok(Entry { id, content })
}
