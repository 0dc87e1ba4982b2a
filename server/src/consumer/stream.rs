//! The stream of reports between the service and its consumers: a Redis stream with one report in each entry.

use std::convert::Infallible;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use metrics::{counter, gauge};
use redis::{AsyncCommands, Cmd, RedisResult, Value, cmd};
use seenguard::{ReceivedReport, StoreFailure, Time};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::ConsumerOptions;
use super::intake::{FirstEntry, Intake, ReportStream};
use crate::applying::{DeadLetter, Entry, EntryId};
use crate::error::{Error, ErrorKind, in_time};
use crate::log::may_log;
use crate::received;
use crate::redis_store::{ACKNOWLEDGE, PREPARE, RedisConnection, SET_ASIDE, TIDY, error_of};

const USER: &str = "user";
const FORM: &str = "form";
const REPORT: &str = "report";
/// The id before all entries.
const BEGINNING: EntryId = EntryId(0, 0);
/// The interval of checks for the first connection.
const CONNECTING: Duration = Duration::from_millis(50);
/// The interval at which appending checks the size of the stream.
const SIZE_CHECK: Duration = Duration::from_secs(2);
/// The longest wait for entries, since a connection that is silent for a second is replaced.
const MAX_WAIT: Duration = Duration::from_millis(500);
/// Most bytes of a batch, estimated by the largest of the latest entries.
const BATCH_BYTES: usize = 16 << 20;
/// The estimated bytes of the first entries.
const FIRST_BYTES: usize = 1 << 20;

/// A stream of reports in Redis. It needs a connection of its own, since a command that waits for entries blocks all
/// others.
#[derive(Debug, Clone)]
pub struct Stream {
    connection: RedisConnection,
    name: String,
    size_limit: Option<Arc<SizeLimit>>,
}

/// The limit of the stream's size, and the size at the latest check.
#[derive(Debug)]
struct SizeLimit {
    max_bytes: u64,
    bytes: AtomicU64,
    next_check: Mutex<Instant>,
}

impl Stream {
    /// The stream of this name. A consumer creates it if it does not exist.
    pub fn new(connection: RedisConnection, name: impl Into<String>) -> Self {
        Stream {
            connection,
            name: name.into(),
            size_limit: None,
        }
    }

    /// Limits the bytes that the stream uses in Redis, so that there is space for the users' chains: appending fails
    /// beyond it.
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        let size_limit = Some(Arc::new(SizeLimit {
            max_bytes,
            bytes: AtomicU64::new(0),
            next_check: Mutex::new(Instant::now()),
        }));
        Stream { size_limit, ..self }
    }

    /// The name of the stream of dead letters, to be consumed once the cause is removed. A letter expires after 7 days.
    /// While there are 10,000 or 64 MiB of them, entries that cannot be applied stay in the stream, and consumers are
    /// not ready. On a cluster it shares the stream's slot.
    pub fn dead_letters(&self) -> String {
        match self.name.contains('{') {
            true => format!("{}:dead", self.name),
            false => format!("{{{}}}:dead", self.name),
        }
    }

    /// Appends a report without the device's pending impressions, which are in the store. Returns when Redis has it.
    ///
    /// # Errors
    /// Errors of Redis; [`StoreFailure::OutOfMemory`] while the stream exceeds [`Stream::max_bytes`].
    pub async fn append(&self, user: &str, report: &ReceivedReport) -> Result<(), Error> {
        if self.is_full().await {
            return Err(Error::new(
                StoreFailure::OutOfMemory,
                "the stream has reached its largest size",
            ));
        }
        for report in received::records_of(report)? {
            let mut append = cmd("XADD");
            append
                .arg(&self.name)
                .arg("*")
                .arg(&[USER, user, FORM, received::FORM, REPORT, &report]);
            append
                .exec_async(&mut self.connection.clone())
                .await
                .map_err(error_of)?;
        }
        Ok(())
    }

    /// Whether the stream is full, as of the latest check. One of the concurrent calls repeats the check when it is
    /// due.
    async fn is_full(&self) -> bool {
        let Some(size_limit) = &self.size_limit else {
            return false;
        };
        let is_due = {
            let mut next_check = size_limit.next_check.lock().unwrap_or_else(PoisonError::into_inner);
            let is_due = Instant::now() >= *next_check;
            if is_due {
                *next_check = Instant::now() + SIZE_CHECK;
            }
            is_due
        };
        if is_due {
            let mut usage = cmd("MEMORY");
            usage.arg("USAGE").arg(&self.name);
            let bytes: RedisResult<Option<u64>> = usage.query_async(&mut self.connection.clone()).await;
            match bytes {
                Ok(bytes) => size_limit.bytes.store(bytes.unwrap_or(0), Ordering::Relaxed),
                Err(error) if may_log("stream size", "") => {
                    tracing::warn!(%error, "cannot read the size of the stream")
                }
                Err(_) => {}
            }
        }
        size_limit.bytes.load(Ordering::Relaxed) > size_limit.max_bytes
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
            largest: FIRST_BYTES,
            end: None,
        }))
    }

    async fn first(&self, most: usize) -> Result<Vec<FirstEntry>, Error> {
        let mut range = cmd("XRANGE");
        range.arg(&self.name).arg(&["-", "+", "COUNT"]).arg(most);
        let answer = range
            .query_async(&mut self.connection.clone())
            .await
            .map_err(error_of)?;
        let content = |entry| entry_of(entry).map(|(entry, _)| entry.content);
        list(answer).into_iter().map(content).collect()
    }

    /// A full Redis must not prevent the stream from draining.
    fn frees_store_memory(&self) -> bool {
        true
    }
}

/// One of the consumers of a group.
struct Reader {
    stream: Stream,
    options: ConsumerOptions,
    /// The last one that was read of this consumer's own unacknowledged entries; `None` when all were read again.
    own_after: Option<EntryId>,
    next_claim: Instant,
    /// Bytes of the largest of the latest entries.
    largest: usize,
    /// The last entry at the start; `None` if there was none.
    end: Option<EntryId>,
}

#[async_trait]
impl Intake for Reader {
    /// Returns first this consumer's own unacknowledged entries, then abandoned ones of others, then new ones.
    async fn next(&mut self, most: usize) -> Result<Vec<Entry>, Error> {
        let most = most.min(BATCH_BYTES / self.largest).max(1);
        if self.own_after == Some(BEGINNING) {
            self.prepare().await?;
        }
        if let Some(after) = self.own_after.take() {
            let own = self.read(&after.to_string(), None, most).await?;
            self.own_after = own.last().map(|entry| entry.id);
            if !own.is_empty() {
                return Ok(own);
            }
        }
        if Instant::now() >= self.next_claim {
            let claimed = self.claim(most).await?;
            // There may be more to claim.
            if !claimed.is_empty() {
                return Ok(claimed);
            }
            self.next_claim = Instant::now() + self.options.claim_after / 2;
            self.tidy().await?;
        }
        self.read(">", Some(self.options.wait.min(MAX_WAIT)), most).await
    }

    fn redeliver(&mut self) {
        self.own_after = Some(BEGINNING);
    }

    async fn renew_claims(&self, entries: &[EntryId]) -> Infallible {
        let mut ticks = interval((self.options.claim_after / 3).max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick is immediate.
        ticks.tick().await;
        loop {
            ticks.tick().await;
            if entries.is_empty() {
                continue;
            }
            let mut renew = self.command("XCLAIM");
            renew.arg(&self.options.name).arg(0);
            for id in entries {
                renew.arg(id.to_string());
            }
            if let Err(error) = self.send(renew.arg("JUSTID"), Duration::ZERO).await {
                tracing::debug!(%error, "cannot renew the claim of entries in progress");
            }
        }
    }

    async fn acknowledge(&mut self, done: &[EntryId], dead: &[DeadLetter]) -> Result<(), Error> {
        let Reader { stream, options, .. } = self;
        if !done.is_empty() {
            let ids = done.iter().map(EntryId::to_string);
            let arguments: Vec<String> = [options.group.clone()].into_iter().chain(ids).collect();
            let acknowledge = ACKNOWLEDGE.run(&stream.connection, slice::from_ref(&stream.name), &arguments);
            in_time(options.response_timeout, acknowledge).await?;
        }
        for DeadLetter { id, code } in dead {
            let arguments = [&options.group, &id.to_string(), *code];
            let keys = [stream.name.clone(), stream.dead_letters()];
            let set_aside = SET_ASIDE.run(&stream.connection, &keys, &arguments);
            if in_time(options.response_timeout, set_aside).await? == Value::Int(0) {
                let what = "the stream of dead letters is full: consume or delete its entries";
                return Err(Error::new(StoreFailure::OutOfMemory, what));
            }
        }
        Ok(())
    }

    /// Whether all entries that existed at the start are acknowledged.
    async fn is_at_end(&mut self) -> Result<bool, Error> {
        let Some(end) = self.end else { return Ok(true) };
        let mut range = cmd("XRANGE");
        range
            .arg(&self.stream.name)
            .arg("-")
            .arg(end.to_string())
            .arg("COUNT")
            .arg(1);
        let left = list(self.send(&range, Duration::ZERO).await?);
        Ok(left.is_empty())
    }
}

impl Reader {
    /// Creates the stream and its group if they do not exist, also in a full Redis.
    async fn prepare(&mut self) -> Result<(), Error> {
        let Reader { stream, options, .. } = self;
        // Wait for the first connection.
        let patience = Instant::now() + options.response_timeout;
        while !stream.connection.was_connected() && Instant::now() < patience {
            sleep(CONNECTING).await;
        }
        let arguments = [&options.group];
        let prepare = PREPARE.run(&stream.connection, slice::from_ref(&stream.name), &arguments);
        in_time(options.response_timeout, prepare).await?;
        if options.until_end && self.end.is_none() {
            let mut last = cmd("XREVRANGE");
            last.arg(&self.stream.name).arg(&["+", "-", "COUNT", "1"]);
            let last = list(self.send(&last, Duration::ZERO).await?).into_iter().next();
            self.end = last.map(entry_of).transpose()?.map(|(entry, _)| entry.id);
        }
        Ok(())
    }

    /// A command for the stream and its group.
    fn command(&self, name: &str) -> Cmd {
        let mut command = cmd(name);
        command.arg(&self.stream.name).arg(&self.options.group);
        command
    }

    /// Sends a command that may block for this long.
    async fn send(&self, command: &Cmd, wait: Duration) -> Result<Value, Error> {
        let mut connection = self.stream.connection.clone();
        let answer = async { command.query_async(&mut connection).await.map_err(error_of) };
        in_time(wait + self.options.response_timeout, answer).await
    }

    /// Reads the entries after this id; after `>`, those that no consumer of the group has read yet.
    async fn read(&mut self, after: &str, wait: Option<Duration>, most: usize) -> Result<Vec<Entry>, Error> {
        let ConsumerOptions { group, name, .. } = &self.options;
        let mut read = cmd("XREADGROUP");
        read.arg("GROUP").arg(group).arg(name).arg("COUNT").arg(most);
        if let Some(wait) = wait {
            read.arg("BLOCK").arg(wait.as_millis() as u64);
        }
        read.arg("STREAMS").arg(&self.stream.name).arg(after);
        let streams = list(self.send(&read, wait.unwrap_or_default()).await?);
        let entries = streams.into_iter().next().and_then(|stream| list(stream).pop());
        self.entries_of(entries)
    }

    /// Claims entries that another consumer of the group has read long ago and not acknowledged.
    async fn claim(&mut self, most: usize) -> Result<Vec<Entry>, Error> {
        let mut claim = self.command("XAUTOCLAIM");
        claim
            .arg(&self.options.name)
            .arg(self.options.claim_after.as_millis() as u64);
        claim.arg(BEGINNING.to_string()).arg("COUNT").arg(most);
        let claimed = list(self.send(&claim, Duration::ZERO).await?).into_iter().nth(1);
        let claimed = self.entries_of(claimed)?;
        counter!("seenguard_claimed_total").increment(claimed.len() as u64);
        let length: RedisResult<u64> = self.stream.connection.clone().xlen(&self.stream.name).await;
        gauge!("seenguard_stream_entries").set(length.map_err(error_of)? as f64);
        Ok(claimed)
    }

    /// Removes expired dead letters and idle consumers.
    async fn tidy(&self) -> Result<(), Error> {
        let Reader { stream, options, .. } = self;
        let idle = options.remove_idle_after.as_millis().to_string();
        let arguments = [&options.group, &options.name, &idle];
        let keys = [stream.name.clone(), stream.dead_letters()];
        let tidy = TIDY.run(&stream.connection, &keys, &arguments);
        in_time(options.response_timeout, tidy).await.map(drop)
    }

    fn entries_of(&mut self, answer: Option<Value>) -> Result<Vec<Entry>, Error> {
        let read: Result<Vec<_>, Error> = answer.map(list).unwrap_or_default().into_iter().map(entry_of).collect();
        let read = read?;
        if let Some(largest) = read.iter().map(|(_, bytes)| *bytes).max() {
            self.largest = largest.max(self.largest / 2).max(1);
        }
        Ok(read.into_iter().map(|(entry, _)| entry).collect())
    }
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list,
        _ => Vec::new(),
    }
}

/// The string in a value; `None` for anything else, such as binary data of another program.
fn text(value: Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// Parses an entry. Returns its size in bytes, too.
fn entry_of(entry: Value) -> Result<(Entry, usize), Error> {
    let mut parts = list(entry).into_iter();
    let id = parts.next().and_then(text).and_then(|id| id.parse::<EntryId>().ok());
    let id = id.ok_or_else(|| Error::new(StoreFailure::WrongType, "an entry of the stream has no id"))?;
    // A deleted entry has no fields.
    let fields = parts.next().map(list).unwrap_or_default();
    let size = |field: &Value| match field {
        Value::BulkString(bytes) => bytes.len(),
        _ => 0,
    };
    let bytes = fields.iter().map(size).sum();
    let (mut user, mut form, mut report) = (None, None, None);
    let mut fields = fields.into_iter().map(text);
    while let (Some(name), Some(value)) = (fields.next(), fields.next()) {
        match name.as_deref() {
            Some(USER) => user = value,
            // 0 is an invalid form.
            Some(FORM) => form = Some(value.and_then(|form| form.parse().ok()).unwrap_or(0)),
            Some(REPORT) => report = value,
            _ => {}
        }
    }
    let content = match (user, report) {
        (Some(user), Some(report)) => {
            let report = received::of_record(report.as_bytes(), form, Time::from_unix_ms(id.0));
            report.map(|report| (user, report)).map_err(|error| error.code())
        }
        _ => Err(ErrorKind::BadReport.code()),
    };
    Ok((Entry { id, content }, bytes))
}
