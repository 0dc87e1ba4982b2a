//! The class `StoreCalls`, which has the logic of the stores in `js/server/store/`, and a function for backends in
//! JavaScript.
//!
//! All strings of a call are in the batch. A store's response is in it as in Redis's protocol, flattened: its strings,
//! and before each list its length.

use std::sync::Arc;

use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::batch::TextBatch;
use super::chain::{Chain, GivenOptions, page_request, rejected, report_of, shipped, time};
use super::{Failure, failure, to_js};
use crate::chain::{ChainOptions, ReceivedReport, Report, ShardChain};
use crate::devices::{PENDING_SECONDS, Pending, PendingUpdate};
use crate::error::Error;
use crate::id_list::IdList;
use crate::redis::{LoadedFromRedis, PendingFromRedis, RedisCommand, RedisScript, StoreKeys};
use crate::store_call::{StoreCall, StoreClock, StoreFailure, StoreReplacement, StoreStep, StoreUse, check_namespace};
use crate::time::Time;

/// Returns the new value of a user's pending lists; undefined if nothing changes.
#[wasm_bindgen(js_name = addPending)]
pub fn add_pending(stored: &str, text: &str, at: f64, life_seconds: u32) -> Result<Option<String>, JsValue> {
    match PendingUpdate::stored(text, Time::from_unix_seconds(at as u64), life_seconds) {
        Some(list) => list.added_to(stored).map_err(failure),
        None => Ok(None),
    }
}

/// The source of a script, by its number.
#[wasm_bindgen(js_name = redisScript)]
pub fn redis_script(number: usize) -> String {
    let script = RedisScript::ALL.get(number);
    script.map(|script| script.source().to_owned()).unwrap_or_default()
}

/// The calls in progress of a store. Each method returns the call's next step.
#[wasm_bindgen]
pub struct StoreCalls {
    store: Store,
    calls: Vec<(u32, Box<Call>)>,
    latest: u32,
}

struct Store {
    options: ChainOptions,
    pending_seconds: u32,
    /// The prefix of keys in Redis, and whether it is a cluster; `None` over another backend.
    redis: Option<(String, bool)>,
    clock: StoreClock,
    has_fixed_clock: bool,
}

/// A call in progress.
struct Call {
    keys: Option<StoreKeys>,
    /// The user's namespace, if it is known.
    namespace: Option<String>,
    work: Work,
    /// The device's pending list, to be stored.
    list: Option<PendingUpdate>,
    call: StoreCall,
    /// The loaded pending lists of the user's devices.
    pending: String,
    /// The number of ids that no live shard contained.
    unknown: usize,
}

/// The work of a call, by its number in [`StoreCalls::begin`].
enum Work {
    Read,
    Update,
    Forget,
    Unsee(Vec<String>),
    Ingest(ReceivedReport),
    Accept(ReceivedReport),
}

/// The event with which a call continues.
enum Event<'a> {
    Begun,
    /// The response to a step that loads, or that stores a device's list.
    Loaded(&'a TextBatch, f64),
    Changed(ShardChain),
    Stored,
    Failed(StoreFailure, u64),
}

/// The next step of a call, with its data.
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Step<'a> {
    call: u32,
    kind: &'static str,
    wait_ms: u64,
    /// For Redis.
    command: Option<RedisCommand>,
    /// For Redis: removes lists beyond the limit. Its result does not matter.
    drop: Option<RedisCommand>,
    /// For other backends.
    reported: Option<&'a PendingUpdate>,
    replacement: Option<StoreReplacement>,
    unknown: usize,
    report: Option<&'a ReceivedReport>,
    /// Why Redis has not stored the device's list.
    refusal: Option<String>,
    damage: Vec<Failure>,
    /// The time of the loaded data, Unix seconds.
    now: f64,
}

#[wasm_bindgen]
impl StoreCalls {
    /// `prefix`: of keys in Redis; absent over another backend. `has_fixed_clock`: use the app's clock instead of the
    /// store's.
    #[wasm_bindgen(constructor)]
    pub fn new(
        given: &GivenOptions,
        pending_seconds: Option<u32>,
        has_fixed_clock: bool,
        prefix: Option<String>,
        is_cluster: bool,
    ) -> Result<StoreCalls, JsValue> {
        ShardChain::new(given.options).map_err(failure)?;
        Ok(StoreCalls {
            store: Store {
                options: given.options,
                pending_seconds: pending_seconds.unwrap_or(PENDING_SECONDS),
                redis: prefix.map(|prefix| (prefix, is_cluster)),
                clock: StoreClock::default(),
                has_fixed_clock,
            },
            calls: Vec::new(),
            latest: 0,
        })
    }

    /// Begins a call that may take `limit_ms`. The batch has the user and the user's namespace (empty: any is
    /// accepted), and then
    ///
    /// | work | strings | numbers |
    /// | --- | --- | --- |
    /// | 0, read | the value of `Seen-Pending` | |
    /// | 1, update; 2, forget | | |
    /// | 3, unsee | ids | |
    /// | 4, ingest | namespace, pending list, ids, unseen ones first | time of arrival, number of unseen ids, 1 if the history was deleted, time of each id |
    /// | 5, accept | the same | the same with the device's time of sending |
    ///
    /// `bytes`: of an accepted report's JSON, if they are known. `random`: 0 to 1. `now`: Unix seconds of this process's
    /// clock, or of the app's.
    #[allow(clippy::too_many_arguments)]
    pub fn begin(
        &mut self,
        texts: &TextBatch,
        numbers: &[f64],
        work: u8,
        bytes: usize,
        limit_ms: f64,
        random: f64,
        now: f64,
    ) -> JsValue {
        let now = self.store.now(now, None);
        let mut call = match self.store.new_call(texts, numbers, work, bytes, now) {
            Ok(call) => call,
            Err(error) => return failure(error),
        };
        let kind = call.work.kind();
        call.call = StoreCall::new(self.store.options, kind, limit_ms as u64, random.to_bits());
        self.latest = self.latest.wrapping_add(1);
        self.calls.push((self.latest, Box::new(call)));
        self.advance(self.latest, Event::Begun)
    }

    /// Begins again, after a wait.
    pub fn again(&mut self, call: u32) -> JsValue {
        self.advance(call, Event::Begun)
    }

    /// Continues with the strings of the response to `load` or `storePending`.
    pub fn loaded(&mut self, call: u32, texts: &TextBatch, now: f64) -> JsValue {
        self.advance(call, Event::Loaded(texts, now))
    }

    /// Continues after `replace` or `forget`.
    pub fn stored(&mut self, call: u32) -> JsValue {
        self.advance(call, Event::Stored)
    }

    /// Continues after a step has failed, `elapsed_ms` after the call began. `kind`: 0 is a permanent failure, 1 a
    /// transient one, 2 one of Redis, with its error in the batch, 3 a revision that is not the loaded one.
    pub fn failed(&mut self, call: u32, texts: &TextBatch, kind: u8, elapsed_ms: f64) -> JsValue {
        let why = match kind {
            0 => StoreFailure::Denied,
            1 => StoreFailure::Unavailable,
            2 => StoreFailure::of_redis(&text(texts, 0)),
            _ => StoreFailure::Conflict,
        };
        self.advance(call, Event::Failed(why, elapsed_ms as u64))
    }

    /// Whether a call at its limit fails because the store is silent, and not by its last failure.
    #[wasm_bindgen(js_name = timedOut)]
    pub fn timed_out(&self, call: u32) -> bool {
        let index = self.index(call);
        index.is_none_or(|index| self.calls[index].1.call.expired() == StoreFailure::Timeout)
    }

    /// Takes the loaded chain, for the app to read or to change. Ends a call that reads.
    pub fn take(&mut self, call: u32) -> Option<Chain> {
        let index = self.index(call)?;
        let job = &mut self.calls[index].1;
        let rejected = rejected(job.call.damage());
        let chain = std::mem::replace(job.call.chain()?.0, ShardChain::new(self.store.options).ok()?);
        if matches!(job.work, Work::Read) {
            self.calls.swap_remove(index);
        }
        Some(Chain { chain, rejected })
    }

    /// Continues with the chain that the app has changed.
    pub fn changed(&mut self, call: u32, changed: Chain) -> JsValue {
        self.advance(call, Event::Changed(changed.chain))
    }

    /// Makes a page of the batch's items, a degraded one if nothing was loaded, and puts the indices of its items into
    /// the batch. Ends the call.
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
    ) -> JsValue {
        let Some(index) = self.index(call) else {
            return JsValue::UNDEFINED;
        };
        let job = self.calls.swap_remove(index).1;
        let pending = Pending {
            requesting: pending.as_deref(),
            stored: &job.pending,
            stored_seconds: self.store.pending_seconds,
            namespace: job.namespace.as_deref(),
        };
        let request = page_request(size, last, cursor.as_deref(), held.as_deref(), pending);
        match job.call.page(&*ranked, &request, self.store.now(now, None)) {
            Ok(made) => shipped(ranked, made.page, made.is_degraded),
            Err(error) => failure(error),
        }
    }

    /// Ends a call, at its limit or because the app's function has thrown. Later responses are ignored.
    pub fn end(&mut self, call: u32) {
        if let Some(index) = self.index(call) {
            self.calls.swap_remove(index);
        }
    }
}

impl StoreCalls {
    fn index(&self, call: u32) -> Option<usize> {
        self.calls.iter().position(|(id, _)| *id == call)
    }

    /// Continues a call. Returns its next step.
    fn advance(&mut self, call: u32, event: Event<'_>) -> JsValue {
        let Some(index) = self.index(call) else {
            return JsValue::UNDEFINED;
        };
        let job = &mut self.calls[index].1;
        let mut next = Step {
            call,
            ..Step::default()
        };
        let step = job.advance(&self.store, event, &mut next);
        // A failed read stays: a degraded page is made of it.
        let is_over = match step {
            Ok(StoreStep::Done | StoreStep::Failed) => !matches!(job.work, Work::Read),
            Ok(_) => false,
            Err(_) => true,
        };
        let step = match step {
            Ok(step) => to_js(&job.to_step(step, next)),
            Err(error) => failure(error),
        };
        if is_over {
            self.calls.swap_remove(index);
        }
        step
    }
}

impl Work {
    fn kind(&self) -> StoreUse {
        match self {
            Work::Read => StoreUse::Read,
            Work::Accept(_) => StoreUse::Append,
            Work::Forget => StoreUse::Forget,
            Work::Update | Work::Unsee(_) | Work::Ingest(_) => StoreUse::Change,
        }
    }
}

impl Store {
    fn now(&self, now: f64, answered: Option<Time>) -> Time {
        match self.has_fixed_clock {
            true => time(now),
            false => self.clock.now(time(now), answered),
        }
    }

    /// Checks the arguments of a call.
    fn new_call(&self, texts: &TextBatch, numbers: &[f64], work: u8, bytes: usize, now: Time) -> Result<Call, Error> {
        let [user, namespace] = [0, 1].map(|index| text(texts, index));
        let (prefix, is_cluster) = self
            .redis
            .as_ref()
            .map_or(("", false), |(prefix, is_cluster)| (prefix, *is_cluster));
        let keys = StoreKeys::of(prefix, &user, is_cluster)?;
        let wanted = Some(namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let mut list = None;
        let work = match work {
            0 => {
                list = PendingUpdate::of(&text(texts, 2), wanted, now, self.pending_seconds);
                Work::Read
            }
            1 => Work::Update,
            2 => Work::Forget,
            3 => Work::Unsee((2..texts.len()).map(|index| text(texts, index)).collect()),
            4 => Work::Ingest(received(texts, numbers)),
            _ => {
                let batch_bytes = (0..texts.len()).map(|index| texts.get(index).len()).sum();
                Report::check_size(bytes.max(batch_bytes))?;
                let mut report = received(texts, numbers);
                report.stamp(now);
                report.limit()?;
                let (pending, impressions) = (report.pending.as_deref(), &report.impressions);
                list = PendingUpdate::of_report(pending, impressions, wanted, now, self.pending_seconds);
                Work::Accept(report)
            }
        };
        if let Work::Ingest(report) | Work::Accept(report) = &work {
            check_namespace(wanted, &report.namespace)?;
        }
        Ok(Call {
            keys: self.redis.is_some().then_some(keys),
            namespace: wanted.map(str::to_owned),
            call: StoreCall::new(self.options, work.kind(), 0, 0),
            work,
            list,
            pending: String::new(),
            unknown: 0,
        })
    }
}

impl Call {
    fn advance(&mut self, store: &Store, event: Event<'_>, next: &mut Step<'_>) -> Result<StoreStep, Error> {
        let step = match (event, &mut self.work) {
            (Event::Begun, Work::Accept(_)) if self.list.is_none() => StoreStep::Done,
            (Event::Begun, _) => self.call.begin(),
            (Event::Loaded(texts, now), Work::Accept(report)) => {
                let Some(loaded) = PendingFromRedis::read(all(texts)) else {
                    return Ok(StoreStep::Failed);
                };
                if loaded.now.is_some() {
                    report.stamp(store.now(now, loaded.now));
                }
                self.pending = loaded.pending;
                StoreStep::Done
            }
            (Event::Loaded(texts, now), _) => {
                let Some(loaded) = LoadedFromRedis::read(all(texts)) else {
                    return Ok(StoreStep::Failed);
                };
                let now = store.now(now, loaded.now);
                let step = self.call.loaded(Arc::new(loaded.stored), loaded.revision, now)?;
                next.refusal = loaded.refusal;
                next.damage = self.call.damage().iter().map(Failure::of).collect();
                next.now = now.unix_ms() as f64 / 1000.0;
                self.pending = loaded.pending;
                step
            }
            (Event::Changed(changed), _) => {
                if let Some((chain, _)) = self.call.chain() {
                    *chain = changed;
                }
                return self.call.changed();
            }
            (Event::Stored, _) => StoreStep::Done,
            (Event::Failed(failure, elapsed_ms), _) => self.call.failed(failure, elapsed_ms),
        };
        let keys = self.keys.clone();
        next.drop = keys.and_then(|keys| keys.drop_devices(&self.pending, self.list.as_ref()));
        match step {
            StoreStep::Change => self.change(),
            step => Ok(step),
        }
    }

    /// Changes the loaded chain, unless the app does it.
    fn change(&mut self) -> Result<StoreStep, Error> {
        if let Some((chain, now)) = self.call.chain() {
            match &self.work {
                Work::Forget => chain.forget(now)?,
                Work::Unsee(ids) => chain.unsee(ids, now)?,
                Work::Ingest(report) => self.unknown = chain.ingest_all(std::slice::from_ref(report), now)?,
                Work::Read | Work::Update | Work::Accept(_) => return Ok(StoreStep::Change),
            }
        }
        self.call.changed()
    }

    /// The step for JavaScript to perform.
    fn to_step<'a>(&'a self, step: StoreStep, mut next: Step<'a>) -> Step<'a> {
        let forgets = matches!(step, StoreStep::Forget(_));
        let (list, keys) = (self.list.as_ref(), || self.keys.clone());
        next.kind = match step {
            StoreStep::Load if matches!(self.work, Work::Accept(_)) => {
                next.command = keys().zip(list).map(|(keys, list)| keys.store_pending(list));
                next.reported = list.filter(|_| self.keys.is_none());
                "storePending"
            }
            StoreStep::Load => {
                next.command = keys().map(|keys| keys.load(list));
                next.reported = list.filter(|_| self.keys.is_none());
                "load"
            }
            StoreStep::Change => "change",
            StoreStep::Replace(new) | StoreStep::Forget(new) => {
                let command =
                    |keys: StoreKeys| keys.replace(new.revision, &new.before, &new.after, new.life_seconds, forgets);
                next.command = keys().map(command);
                next.replacement = self.keys.is_none().then_some(new);
                if forgets { "forget" } else { "replace" }
            }
            StoreStep::Wait(ms) => {
                next.wait_ms = ms;
                "wait"
            }
            StoreStep::Done => "done",
            StoreStep::Failed => "failed",
        };
        next.unknown = self.unknown;
        if let (Work::Accept(report), "done") = (&self.work, next.kind) {
            next.report = Some(report);
        }
        next
    }
}

/// The report in a batch, as [`StoreCalls::begin`] describes.
fn received(texts: &TextBatch, numbers: &[f64]) -> ReceivedReport {
    let &[received_ms, unseen, forgotten, ref times_ms @ ..] = numbers else {
        return report_of(texts, 4, &[], 0, 0.0);
    };
    ReceivedReport {
        namespace: text(texts, 2),
        pending: Some(text(texts, 3)).filter(|pending| !pending.is_empty()),
        forgotten: forgotten != 0.0,
        ..report_of(texts, 4, times_ms, unseen as usize, received_ms)
    }
}

fn all(texts: &TextBatch) -> impl Iterator<Item = String> {
    (0..texts.len()).map(|index| text(texts, index))
}

fn text(texts: &TextBatch, index: usize) -> String {
    match index < texts.len() {
        true => String::from_utf8_lossy(texts.get(index)).into_owned(),
        false => String::new(),
    }
}
