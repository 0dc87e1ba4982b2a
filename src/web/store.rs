//! The class `StoreCalls`, with which the stores of `js/server/store/` make their calls, and the pending impressions of
//! devices for backends in JavaScript.
//!
//! All texts of a call are in the batch, in which an answer of a store has the form of the answers of Redis: its texts,
//! with the length before those of each list.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::batch::TextBatch;
use super::chain::{Chain, GivenOptions, RejectedShard, time};
use super::{failure, to_js};
use crate::chain::{
    ChainOptions, ChainSnapshot, PageRequest, ReceivedReport, Repeats, Report, ShardChain, StoredChain,
};
use crate::devices::{PENDING_SECONDS, Pending, PendingToKeep};
use crate::error::Error;
use crate::id_list::IdList;
use crate::impression::Impression;
use crate::redis::{KeptInRedis, LoadedFromRedis, RedisCommand, RedisScript, StoreKeys};
use crate::store_call::{StoreCall, StoreClock, StoreFailure, StoreReplacement, StoreStep, StoreUse, check_namespace};
use crate::time::Time;

/// The new value of a user's kept lists; undefined if nothing changes.
#[wasm_bindgen(js_name = keepPending)]
pub fn keep_pending(kept: &str, text: &str, at: f64, life_seconds: u32) -> Result<Option<String>, JsValue> {
    match PendingToKeep::stored(text, Time::from_unix_seconds(at as u64), life_seconds) {
        Some(list) => list.added_to(kept).map_err(failure),
        None => Ok(None),
    }
}

/// A script by its number.
#[wasm_bindgen(js_name = redisScript)]
pub fn redis_script(number: usize) -> String {
    RedisScript::ALL
        .get(number)
        .map(|script| script.text().to_owned())
        .unwrap_or_default()
}

/// The calls in progress of a store. Each continues by the step that its last method returned.
#[wasm_bindgen]
pub struct StoreCalls {
    options: ChainOptions,
    pending_seconds: u32,
    /// The prefix of keys in Redis, and whether it is a cluster; `None` over another backend.
    redis: Option<(String, bool)>,
    clock: StoreClock,
    calls: BTreeMap<u32, Job>,
    latest: u32,
}

/// A call in progress.
struct Job {
    user: String,
    /// The user's namespace, if it is known.
    namespace: Option<String>,
    work: Work,
    /// The device's list to store.
    list: Option<PendingToKeep>,
    call: StoreCall,
    /// The loaded lists of devices.
    kept: String,
    /// The number of ids that no live shard contained.
    unknown: usize,
}

/// What is done with a user's chain, by its number in [`StoreCalls::begin`].
enum Work {
    Read,
    Update,
    Forget,
    Unsee(Vec<String>),
    Ingest(ReceivedReport),
    Accept(ReceivedReport),
}

/// The next step of a call, with what it needs.
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Step<'a> {
    call: u32,
    kind: &'static str,
    wait_ms: u64,
    /// For Redis.
    command: Option<Command>,
    /// For Redis: removes lists beyond the limit. The call does not depend on it.
    drop: Option<Command>,
    /// For other backends.
    #[serde(rename = "told")]
    list: Option<List<'a>>,
    replacement: Option<Replacement>,
    unknown: usize,
    report: Option<&'a ReceivedReport>,
    /// Why Redis has not stored the device's list.
    refusal: Option<String>,
    damaged_fields: usize,
    rejected: Vec<RejectedShard>,
    /// The time of the loaded data, Unix seconds.
    now: f64,
}

#[derive(Serialize)]
struct Command {
    script: usize,
    keys: Vec<String>,
    arguments: Vec<String>,
}

impl From<RedisCommand> for Command {
    fn from(command: RedisCommand) -> Self {
        Command {
            script: command.script as usize,
            keys: command.keys,
            arguments: command.arguments,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    text: &'a str,
    at: u64,
    life_seconds: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    revision: f64,
    before: StoredChain,
    after: StoredChain,
    life_seconds: u64,
}

/// A page without its items, which are in the batch.
#[derive(Serialize)]
struct ShippedPage {
    next: Option<String>,
    snapshot: Option<ChainSnapshot>,
}

#[wasm_bindgen]
impl StoreCalls {
    /// `prefix`: of keys in Redis; absent over another backend.
    #[wasm_bindgen(constructor)]
    pub fn new(
        given: &GivenOptions,
        pending_seconds: Option<u32>,
        prefix: Option<String>,
        is_cluster: bool,
    ) -> Result<StoreCalls, JsValue> {
        ShardChain::new(given.options).map_err(failure)?;
        Ok(StoreCalls {
            options: given.options,
            pending_seconds: pending_seconds.unwrap_or(PENDING_SECONDS),
            redis: prefix.map(|prefix| (prefix, is_cluster)),
            clock: StoreClock::default(),
            calls: BTreeMap::new(),
            latest: 0,
        })
    }

    /// Begins a call that may take `limit_ms`. The batch has the user and the user's namespace (empty: any is right),
    /// and then
    ///
    /// | work | texts |
    /// | --- | --- |
    /// | 0, read | the value of `Seen-Pending` |
    /// | 1, update; 2, forget | |
    /// | 3, unsee | ids |
    /// | 4, ingest | namespace, pending list, time of arrival, number of unseen ids; `1` if the history was deleted; each id, unseen ones first, and its time |
    /// | 5, accept | the same with the device's time of sending |
    ///
    /// `bytes`: of an accepted report's JSON, if they are known. `random`: 0 to 1. `now`: Unix seconds of this process's
    /// clock, or, if it `is_fixed`, of the app's.
    #[allow(clippy::too_many_arguments)]
    pub fn begin(
        &mut self,
        texts: &TextBatch,
        work: u8,
        bytes: usize,
        limit_ms: f64,
        random: f64,
        now: f64,
        is_fixed: bool,
    ) -> JsValue {
        let now = self.now(now, is_fixed, None);
        let job = match self.begun(texts, work, bytes, now) {
            Ok((user, namespace, work, list)) => Job {
                call: StoreCall::new(self.options, work.kind(), limit_ms as u64, random.to_bits()),
                kept: String::new(),
                unknown: 0,
                user,
                namespace,
                work,
                list,
            },
            Err(error) => return failure(error),
        };
        self.latest = self.latest.wrapping_add(1);
        let step = match (&job.work, &job.list) {
            (Work::Accept(_), None) => StoreStep::Done,
            _ => StoreStep::Load,
        };
        self.next(self.latest, job, step, Step::default())
    }

    /// Continues with the texts with which the store has answered `load` or `keep`.
    pub fn answered(&mut self, call: u32, texts: &TextBatch, now: f64, is_fixed: bool) -> JsValue {
        self.continued(call, |calls, job| calls.loaded(job, texts, now, is_fixed))
    }

    /// Continues with the answer to `replace` or `forget`, `elapsed_ms` after the call began.
    pub fn replaced(&mut self, call: u32, is_stored: bool, elapsed_ms: f64) -> JsValue {
        self.continued(call, |_, job| {
            Ok(Step::of(match is_stored {
                true => StoreStep::Done,
                false => job.call.failed(StoreFailure::Conflict, elapsed_ms as u64),
            }))
        })
    }

    /// Continues after a step has failed. `kind`: 0 is a permanent failure, 1 a transient one, 2 of Redis, with its error
    /// in the batch.
    pub fn failed(&mut self, call: u32, texts: &TextBatch, kind: u8, elapsed_ms: f64) -> JsValue {
        let why = match kind {
            0 => StoreFailure::Denied,
            1 => StoreFailure::Unavailable,
            _ => StoreFailure::of_redis(&text(texts, 0)),
        };
        self.continued(call, |_, job| Ok(Step::of(job.call.failed(why, elapsed_ms as u64))))
    }

    /// Begins again, after a wait.
    pub fn again(&mut self, call: u32) -> JsValue {
        self.continued(call, |_, _| Ok(Step::of(StoreStep::Load)))
    }

    /// The loaded chain, for the app to read or to change. Ends a call that reads.
    pub fn take(&mut self, call: u32) -> Option<Chain> {
        let mut job = self.calls.remove(&call)?;
        let rejected = job.call.damage().1.to_vec();
        let empty = ShardChain::new(self.options).ok()?;
        let chain = std::mem::replace(job.call.chain()?.0, empty);
        if matches!(job.work, Work::Update) {
            self.calls.insert(call, job);
        }
        Some(Chain { chain, rejected })
    }

    /// Continues with the chain that the app has changed.
    pub fn changed(&mut self, call: u32, changed: Chain) -> JsValue {
        self.continued(call, |_, job| {
            if let Some((chain, _)) = job.call.chain() {
                *chain = changed.chain;
            }
            Ok(Step::of(job.call.changed()?))
        })
    }

    /// A page of the batch's items, whose indices are left with the batch: a degraded one if nothing was loaded. Ends
    /// the call.
    #[allow(clippy::too_many_arguments)]
    pub fn page(
        &mut self,
        call: u32,
        ranked: &mut TextBatch,
        size: usize,
        last: bool,
        cursor: Option<String>,
        held: Option<String>,
        pending: Option<String>,
        now: f64,
        is_fixed: bool,
    ) -> JsValue {
        let Some(job) = self.calls.remove(&call) else {
            return JsValue::UNDEFINED;
        };
        let request = PageRequest {
            size,
            cursor: cursor.as_deref(),
            repeats: if last { Repeats::Last } else { Repeats::Drop },
            held: held.as_deref(),
            pending: Pending {
                asking: pending.as_deref(),
                kept: &job.kept,
                kept_seconds: self.pending_seconds,
                namespace: job.namespace.as_deref(),
            },
        };
        match job.call.page(&*ranked, &request, self.now(now, is_fixed, None)) {
            Ok(made) => {
                ranked.answer(made.page.items, &[]);
                to_js(&ShippedPage {
                    next: made.page.next,
                    snapshot: (!made.is_degraded).then_some(made.page.snapshot),
                })
            }
            Err(error) => failure(error),
        }
    }

    /// Ends a call, at its limit or because the app's function has thrown: later answers are ignored.
    pub fn end(&mut self, call: u32) {
        self.calls.remove(&call);
    }
}

impl Work {
    fn kind(&self) -> StoreUse {
        match self {
            Work::Read | Work::Accept(_) => StoreUse::Read,
            Work::Forget => StoreUse::Forget,
            Work::Update | Work::Unsee(_) | Work::Ingest(_) => StoreUse::Change,
        }
    }
}

type Begun = (String, Option<String>, Work, Option<PendingToKeep>);

impl StoreCalls {
    fn now(&self, now: f64, is_fixed: bool, answered: Option<Time>) -> Time {
        match is_fixed {
            true => time(now),
            false => self.clock.now(time(now), answered),
        }
    }

    /// Continues a call by the step that `go_on` returns, with what it shows of it.
    fn continued(
        &mut self,
        call: u32,
        go_on: impl FnOnce(&Self, &mut Job) -> Result<(StoreStep, Step<'static>), Error>,
    ) -> JsValue {
        let Some(mut job) = self.calls.remove(&call) else {
            return JsValue::UNDEFINED;
        };
        match go_on(self, &mut job) {
            Ok((step, shown)) => self.next(call, job, step, shown),
            Err(error) => failure(error),
        }
    }

    /// Checks what a call is given.
    fn begun(&self, texts: &TextBatch, work: u8, bytes: usize, now: Time) -> Result<Begun, Error> {
        let [user, namespace] = [0, 1].map(|index| text(texts, index));
        StoreKeys::of("", &user, false)?;
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        let wanted = namespace.as_deref();
        let mut list = None;
        let work = match work {
            0 => {
                let asking = text(texts, 2);
                list = PendingToKeep::of(&asking, wanted, now, self.pending_seconds);
                Work::Read
            }
            1 => Work::Update,
            2 => Work::Forget,
            3 => Work::Unsee((2..texts.len()).map(|index| text(texts, index)).collect()),
            4 => Work::Ingest(received(texts, None)),
            _ => {
                let of_texts = (0..texts.len()).map(|index| texts.get(index).len()).sum();
                Report::check_size(bytes.max(of_texts))?;
                let mut report = received(texts, Some(now));
                report.limit()?;
                let (pending, impressions) = (report.pending.as_deref(), &report.impressions);
                list = PendingToKeep::of_report(pending, impressions, wanted, now, self.pending_seconds);
                Work::Accept(report)
            }
        };
        if let Work::Ingest(report) | Work::Accept(report) = &work {
            check_namespace(wanted, &report.namespace)?;
        }
        Ok((user, namespace, work, list))
    }

    /// Reads the answer to a step that loads, or that stores a device's list.
    fn loaded(
        &self,
        job: &mut Job,
        texts: &TextBatch,
        now: f64,
        is_fixed: bool,
    ) -> Result<(StoreStep, Step<'static>), Error> {
        let texts = (0..texts.len()).map(|index| text(texts, index));
        if let Work::Accept(report) = &mut job.work {
            let Some(KeptInRedis { kept, now: answered }) = KeptInRedis::read(texts) else {
                return Ok(Step::of(StoreStep::Failed));
            };
            if answered.is_some() {
                report.stamp(self.now(now, is_fixed, answered));
            }
            job.kept = kept;
            return Ok((StoreStep::Done, self.shown(job)));
        }
        let Some(loaded) = LoadedFromRedis::read(texts) else {
            return Ok(Step::of(StoreStep::Failed));
        };
        job.kept = loaded.kept;
        let now = self.now(now, is_fixed, loaded.now);
        let step = job.call.loaded(Arc::new(loaded.stored), loaded.revision, now)?;
        let (damaged_fields, rejected) = job.call.damage();
        let shown = Step {
            refusal: loaded.refusal,
            damaged_fields,
            rejected: rejected.iter().map(RejectedShard::of).collect(),
            now: now.unix_ms() as f64 / 1000.0,
            ..self.shown(job)
        };
        Ok((step, shown))
    }

    /// A step with the command that removes lists beyond the limit.
    fn shown(&self, job: &Job) -> Step<'static> {
        Step {
            drop: self
                .keys(job)
                .and_then(|keys| keys.drop_devices(&job.kept, job.list.as_ref()))
                .map(Command::from),
            ..Step::default()
        }
    }

    /// The user's keys in Redis, if the store is there.
    fn keys(&self, job: &Job) -> Option<StoreKeys> {
        let (prefix, is_cluster) = self.redis.as_ref()?;
        // The user was checked when the call began.
        StoreKeys::of(prefix, &job.user, *is_cluster).ok()
    }

    /// What JavaScript has to do for this step.
    fn next(&mut self, call: u32, mut job: Job, mut step: StoreStep, shown: Step<'_>) -> JsValue {
        if step == StoreStep::Change && !matches!(job.work, Work::Update) {
            step = match job.change() {
                Ok(step) => step,
                Err(error) => return failure(error),
            };
        }
        let keys = self.keys(&job);
        let mut shown = Step {
            call,
            unknown: job.unknown,
            ..shown
        };
        // A page is made of a call that has failed, too.
        let mut is_over = false;
        match step {
            StoreStep::Load => {
                let is_accept = matches!(job.work, Work::Accept(_));
                shown.kind = if is_accept { "keep" } else { "load" };
                match (keys, &job.list) {
                    (Some(keys), Some(list)) if is_accept => shown.command = Some(keys.keep(list).into()),
                    (Some(keys), list) => shown.command = Some(keys.load(list.as_ref()).into()),
                    (None, list) => shown.list = list.as_ref().map(List::of),
                }
            }
            StoreStep::Change => shown.kind = "change",
            StoreStep::Replace(replacement) => shown.replace(keys, replacement, false),
            StoreStep::Forget(replacement) => shown.replace(keys, replacement, true),
            StoreStep::Wait(ms) => {
                shown.kind = "wait";
                shown.wait_ms = ms;
            }
            StoreStep::Done | StoreStep::Failed => {
                shown.kind = if step == StoreStep::Done { "done" } else { "failed" };
                is_over = !matches!(job.work, Work::Read);
            }
        }
        if let (true, Work::Accept(report)) = (is_over, &job.work) {
            shown.report = Some(report);
        }
        let shown = to_js(&shown);
        if !is_over {
            self.calls.insert(call, job);
        }
        shown
    }
}

impl Job {
    fn change(&mut self) -> Result<StoreStep, Error> {
        if let Some((chain, now)) = self.call.chain() {
            match &self.work {
                Work::Forget => chain.forget(now)?,
                Work::Unsee(ids) => chain.unsee(ids, now)?,
                Work::Ingest(report) => self.unknown = chain.ingest_all(std::slice::from_ref(report), now)?,
                Work::Read | Work::Update | Work::Accept(_) => {}
            }
        }
        self.call.changed()
    }
}

impl Step<'_> {
    fn of(step: StoreStep) -> (StoreStep, Step<'static>) {
        (step, Step::default())
    }

    /// The replacement, as a command of Redis or for another backend.
    fn replace(&mut self, keys: Option<StoreKeys>, replacement: StoreReplacement, forgets: bool) {
        self.kind = if forgets { "forget" } else { "replace" };
        let StoreReplacement {
            revision,
            before,
            after,
            life_seconds,
        } = replacement;
        if let Some(keys) = keys {
            self.command = Some(keys.replace(revision, &before, &after, life_seconds, forgets).into());
        } else {
            self.replacement = Some(Replacement {
                revision: revision as f64,
                before: Arc::unwrap_or_clone(before),
                after,
                life_seconds,
            });
        }
    }
}

impl<'a> List<'a> {
    fn of(list: &'a PendingToKeep) -> Self {
        List {
            text: list.text(),
            at: list.at().unix_seconds(),
            life_seconds: list.life_seconds(),
        }
    }
}

fn text(texts: &TextBatch, index: usize) -> String {
    match index < texts.len() {
        true => String::from_utf8_lossy(texts.get(index)).into_owned(),
        false => String::new(),
    }
}

/// The report of a batch, in the server's time; one that a device sent is received at this time.
fn received(texts: &TextBatch, arrived: Option<Time>) -> ReceivedReport {
    let unix_ms = |index| Time::from_unix_ms(text(texts, index).parse::<f64>().unwrap_or_default() as u64);
    let entries = (7..texts.len()).step_by(2).map(|index| Impression {
        id: text(texts, index),
        at: unix_ms(index + 1),
    });
    let mut unseen: Vec<Impression> = entries.collect();
    let impressions = unseen.split_off(unseen.len().min(text(texts, 5).parse().unwrap_or_default()));
    let mut report = ReceivedReport {
        namespace: text(texts, 2),
        received_at: unix_ms(4),
        impressions,
        unseen,
        forgotten: text(texts, 6) == "1",
        pending: Some(text(texts, 3)).filter(|pending| !pending.is_empty()),
    };
    if let Some(now) = arrived {
        report.stamp(now);
    }
    report
}
