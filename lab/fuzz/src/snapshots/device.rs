//! A guard that is shown snapshots of all kinds, one after the other.

use std::cmp::Reverse;

use allocation_counter::measure;
use arbitrary::Arbitrary;
use seenguard::device::{Applied, Explanation, Guard, NotApplied};
use seenguard::wire::Reference;
use seenguard::{Error, Format, Impression, MAX_BITS, MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, Snapshot};

use super::verdicts::Inspected;
use crate::pieces::{BEGINNING_MS, Few, Id, Number, Time, texts};
use crate::shards::{FormatInput, ShardInput, Text};

const WINDOW_DAYS: f64 = 30.0;
const WINDOW_MS: u64 = 30 * 86_400_000;
/// Beside the texts and the bits: errors, lists, the ids that are unseen.
const LITTLE: u64 = 128 * 1024;
/// Guards with filters up to this size are compared as they are printed, bit by bit.
const MOST_PRINTED_BITS: u64 = 1 << 14;
/// Longer texts are not stored.
const MAX_STORED_BYTES: usize = 512 * 1024;

#[derive(Debug, Arbitrary)]
pub struct DeviceProgram<'a> {
    format: FormatInput,
    steps: Few<Step<'a>, 12>,
}

#[derive(Debug, Arbitrary)]
enum Step<'a> {
    Apply(SnapshotInput<'a>),
    /// The next visit, which finds the snapshot as it was stored; not if it is damaged anywhere.
    Reopen {
        damage: Few<u8, 4>,
    },
    Record(Few<Id, 8>),
    Unsee(Few<Id, 8>),
    Filter(Few<Id, 24>),
    Pass {
        seconds: u32,
    },
    SetClock(Time),
}

#[derive(Debug, Arbitrary)]
struct SnapshotInput<'a> {
    version: Option<Number>,
    other_format: Option<FormatInput>,
    shards: Few<ShardInput<'a>, 8>,
    /// The whole list so often: for what passes limits.
    times: u8,
    now: Option<Time>,
    unseen: Few<(Id, Time), 8>,
    forget_before: Option<Time>,
}

/// A guard, and what is known of it.
struct Device {
    guard: Guard,
    now: seenguard::Time,
    format: Format,
    /// All texts that there were, to be referred to.
    texts: Vec<Text>,
    /// The shards of the snapshot in use.
    shards: Vec<Inspected>,
    in_use: Format,
    order: (u32, Option<u64>),
    /// Whether texts were too long to be stored since the last visit.
    was_too_long: bool,
    server_ahead: Option<i128>,
    listed: Vec<Id>,
    /// The unseen ids of the snapshot in use.
    unseen: Vec<Impression>,
    /// What was recorded, the device's time of it, and never made unseen in any way since.
    recorded: Vec<(Id, u64)>,
    /// The ids that may be in the table.
    touched: Vec<Id>,
}

pub fn run(program: &DeviceProgram<'_>) {
    let mut device = Device {
        guard: new_guard(),
        now: seenguard::Time::from_unix_ms(BEGINNING_MS),
        format: program.format.get(),
        texts: Vec::new(),
        shards: Vec::new(),
        in_use: Format::Native,
        order: (0, None),
        was_too_long: false,
        server_ahead: None,
        listed: Vec::new(),
        unseen: Vec::new(),
        recorded: Vec::new(),
        touched: Vec::new(),
    };
    for step in &program.steps.0 {
        device.step(step);
        device.check_answers();
    }
}

fn new_guard() -> Guard {
    Guard::new(WINDOW_DAYS, 1_000).expect("the options are those of a guard")
}

/// The observable state of a guard.
fn state_of(guard: &Guard, now: seenguard::Time, bits: u64) -> String {
    let stats = guard.stats(now);
    let pending = guard.pending(usize::MAX, now);
    let visible = format!(
        "{:?} {stats:?} {pending:?} {}",
        guard.version(),
        guard.unseen_revision()
    );
    if bits <= MOST_PRINTED_BITS {
        visible + &format!("{:?}", guard.pending_list(4_000, now))
    } else {
        visible
    }
}

impl Device {
    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Apply(input) => self.apply(input),
            Step::Reopen { damage } => self.reopen(!damage.0.is_empty()),
            Step::Record(ids) => self.record(&ids.0),
            Step::Unsee(ids) => self.unsee(&ids.0),
            Step::Filter(ids) => self.filter(&ids.0),
            Step::Pass { seconds } => {
                let ms = u64::from(*seconds) * 1_000;
                self.now = seenguard::Time::from_unix_ms(self.now.unix_ms().saturating_add(ms));
            }
            Step::SetClock(time) => self.now = seenguard::Time::from_unix_ms(time.ms()),
        }
    }

    fn record(&mut self, ids: &[Id]) {
        let recorded = self.guard.record(&texts(ids), self.now);
        assert!(recorded.unknown <= ids.len());
        for id in ids {
            self.recorded.retain(|(known, _)| known != id);
            self.recorded.push((*id, self.now.unix_ms().min((1 << 53) - 1)));
        }
        self.touched.extend(ids);
    }

    fn unsee(&mut self, ids: &[Id]) {
        self.guard.unsee(&texts(ids), self.now);
        self.recorded.retain(|(known, _)| !ids.contains(known));
        self.touched.extend(ids);
    }

    /// How far the server's clock is ahead of this one. Later times than a recording can have count as the latest.
    fn ahead(&self, server_ms: u64) -> i128 {
        let [server_ms, own_ms] = [server_ms, self.now.unix_ms()].map(|ms| i128::from(ms.min((1 << 53) - 1)));
        server_ms - own_ms
    }

    /// The server's clock, if a snapshot told it.
    fn server_ms(&self) -> Option<u64> {
        let server_ms = i128::from(self.now.unix_ms()) + self.server_ahead?;
        Some(server_ms.clamp(0, i128::from(u64::MAX)) as u64)
    }

    fn server_seconds(&self) -> u64 {
        self.server_ms().unwrap_or(self.now.unix_ms()) / 1_000
    }

    fn text_bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.text.text.len()).sum()
    }

    fn bits(&self) -> u64 {
        self.shards.iter().map(Inspected::bits).sum()
    }

    fn apply(&mut self, input: &SnapshotInput<'_>) {
        let format = input.other_format.map_or(self.format, FormatInput::get);
        let mut list: Vec<Text> = Vec::new();
        for shard in &input.shards.0 {
            let text = shard.text(format, &self.texts);
            self.texts.push(text.clone());
            list.push(text);
        }
        let times = 1 + usize::from(input.times % 70 / 8);
        let list: Vec<Text> = std::iter::repeat_n(list, times).flatten().collect();
        let unseen: Vec<Impression> = input.unseen.0.iter().map(|(id, at)| unseen(*id, *at)).collect();
        let shards: Vec<&[u8]> = list.iter().map(|text| &text.text[..]).collect();
        let snapshot = Snapshot {
            version: input.version.map(Number::get),
            shards: &shards[..],
            format,
            now_ms: input.now.map(Time::ms),
            unseen: &unseen,
            forget_before: input.forget_before.map(Time::seconds),
        };
        let order = (snapshot.forget_before.unwrap_or(0), snapshot.version);
        let now_ms = snapshot.now_ms;
        let before = state_of(&self.guard, self.now, self.bits());
        let held_before = self.guard.held();
        let (guard, now) = (&mut self.guard, self.now);
        let mut result = None;
        let memory = measure(|| result = Some(guard.apply(snapshot, now))).bytes_max;
        let result = result.expect("it was called");

        let is_older = order.1.is_some() && self.order.1.is_some() && order < self.order;
        let resolved = self.resolve(format, list);
        self.check_memory(memory, &resolved);
        self.check_judgement(&result, &resolved, is_older);
        if let Ok(Applied { reason: None, .. }) = &result {
            self.shards = resolved.into_iter().flatten().collect();
            (self.in_use, self.order) = (format, order);
            self.server_ahead = now_ms.map(|server_ms| self.ahead(server_ms));
            self.taken(&input.unseen.0, order.0);
            self.unseen = unseen;
        } else {
            assert_eq!(state_of(&self.guard, self.now, self.bits()), before, "all or nothing");
            let is_missing = matches!(&result, Ok(applied) if applied.reason == Some(NotApplied::MissingShard));
            let held = if is_missing { String::new() } else { held_before };
            assert_eq!(self.guard.held(), held, "what is held");
        }
    }

    /// What the texts are, with those that are held in place of their references; none for one that is not held.
    fn resolve(&self, format: Format, list: Vec<Text>) -> Vec<Option<Inspected>> {
        let held = if format == self.in_use { &self.shards[..] } else { &[] };
        let names: Vec<Reference> = held
            .iter()
            .map(|shard| Reference::of(format, &shard.text.text))
            .collect();
        let mut known: Vec<Inspected> = Vec::new();
        let mut resolve = |text: Text| match Reference::from_element(&text.text) {
            Some(reference) => {
                let place = names.iter().position(|&name| name == reference)?;
                Some(held[place].clone())
            }
            None => {
                if let Some(same) = known.iter().find(|known| known.text.text == text.text) {
                    return Some(same.clone());
                }
                known.push(Inspected::of(format, text));
                known.last().cloned()
            }
        };
        list.into_iter().map(&mut resolve).collect()
    }

    /// No more is taken than a few times what the texts and the bits take, whatever a header claims.
    fn check_memory(&self, memory: u64, resolved: &[Option<Inspected>]) {
        let text: usize = resolved.iter().flatten().map(|shard| shard.text.text.len()).sum();
        let bits: u64 = resolved.iter().flatten().map(Inspected::bits).sum();
        // Whether positions are in order is seen when there is a filter for them.
        let bad_payload = Some("bad-payload");
        let is_read_in_part = |shard: &Inspected| shard.error().map(Error::code) == bad_payload;
        let in_part = if resolved.iter().flatten().any(is_read_in_part) {
            u64::from(MAX_BITS) / 8
        } else {
            0
        };
        let most = 3 * text as u64 + in_part + (self.bits() + bits.min(MAX_SNAPSHOT_BITS)) / 2 + LITTLE;
        assert!(
            memory <= most,
            "{memory} bytes for {text} of text and {bits} bits, {} held",
            self.bits()
        );
    }

    /// A snapshot is taken exactly if nothing is wrong with it, and an error is that of the shard that it names.
    fn check_judgement(&self, result: &Result<Applied, Error>, resolved: &[Option<Inspected>], is_older: bool) {
        let bits: u64 = resolved.iter().flatten().map(Inspected::bits).sum();
        let filters: usize = resolved.iter().flatten().map(Inspected::filters).sum();
        let is_too_large = bits > MAX_SNAPSHOT_BITS || filters > MAX_SNAPSHOT_SHARDS;
        let is_too_long = resolved.len() > MAX_SNAPSHOT_SHARDS;
        let is_missing = resolved.iter().any(Option::is_none);
        let wrong = |shard: &Inspected| shard.error().is_some();
        let is_wrong = resolved.iter().flatten().any(wrong);
        match result {
            Ok(applied) => match applied.reason {
                Some(NotApplied::OlderVersion) => assert!(is_older),
                Some(NotApplied::MissingShard) => assert!(!is_older && is_missing && !is_too_long),
                None => {
                    assert!(!is_older && !is_missing && !is_wrong && !is_too_large && !is_too_long);
                    assert_eq!(Reference::split(&self.guard.held()).len(), resolved.len());
                }
            },
            Err(Error::TooLarge(_)) => assert!(is_too_long || !is_missing && (is_too_large || is_wrong)),
            Err(Error::InShard { index, error }) => {
                assert!(!is_missing);
                let shard = resolved[*index].as_ref().expect("a reference is no wrong shard");
                let said = shard.error();
                let is_text = std::str::from_utf8(&shard.text.text).is_ok();
                assert!(
                    !is_text || said == Some(error),
                    "{said:?} by inspect, {error:?} by apply"
                );
            }
            Err(error) => panic!("{error:?}"),
        }
    }

    fn taken(&mut self, unseen: &[(Id, Time)], forget_before: u32) {
        self.listed = unseen.iter().map(|(id, _)| *id).collect();
        self.touched.extend(&self.listed);
        if forget_before > 0 {
            self.recorded.clear();
        }
        assert_eq!(self.guard.held().len(), (self.shards.len() * 13).saturating_sub(1));
        self.was_too_long |= self.text_bytes() > MAX_STORED_BYTES;
        self.check_references();
    }

    /// The same snapshot as references alone changes nothing.
    fn check_references(&mut self) {
        let references: Vec<String> = self.guard.held().split('.').map(|name| format!("~{name}")).collect();
        let mut again = self.guard.clone();
        let snapshot = Snapshot {
            format: self.in_use,
            ..Snapshot::new(if self.shards.is_empty() {
                &[][..]
            } else {
                &references[..]
            })
        };
        let applied = again.apply(snapshot, self.now).expect("what is held is right");
        assert_eq!(applied.reason, None);
        assert_eq!(again.held(), self.guard.held());
    }

    /// The next visit: storage has the snapshot, unless it is lost or was too long.
    fn reopen(&mut self, is_lost: bool) {
        let texts = self.guard.shard_texts();
        let kept: Option<Vec<Vec<u8>>> = texts.map(|texts| texts.map(<[u8]>::to_vec).collect());
        match &kept {
            Some(kept) => assert!(kept.len() == self.shards.len() && self.text_bytes() <= MAX_STORED_BYTES),
            None => assert!(self.was_too_long),
        }
        self.guard = new_guard();
        self.recorded.clear();
        self.was_too_long = false;
        if let Some(kept) = kept.filter(|_| !is_lost) {
            let server_ms = self.server_ms();
            let snapshot = Snapshot {
                version: None,
                shards: &kept[..],
                format: self.in_use,
                now_ms: server_ms,
                unseen: &self.unseen,
                forget_before: Some(self.order.0),
            };
            self.guard.restore(snapshot, self.now).expect("it was taken before");
            self.server_ahead = server_ms.map(|server_ms| self.ahead(server_ms));
            self.order.1 = None;
        } else {
            self.shards.clear();
            self.listed.clear();
            self.unseen.clear();
            (self.server_ahead, self.order) = (None, (0, None));
        }
        self.touched.clone_from(&self.listed);
        let texts = self.shards.iter().map(|shard| &shard.text.text);
        let references = texts.map(|text| Reference::of(self.in_use, text));
        assert_eq!(self.guard.held(), Reference::join(references));
        for id in &self.listed {
            assert!(
                self.guard.explain(id.text(), self.now).is_none(),
                "{id:?} is unseen"
            );
        }
    }

    fn filter(&mut self, ids: &[Id]) {
        let list = texts(ids);
        let fresh = self.guard.filter(&list, self.now);
        let split = self.guard.split(&list, self.now);
        assert_eq!(fresh, split.fresh, "filter and split");
        let now = self.server_seconds();
        let last_seen = |&index: &u32| {
            let id = ids[index as usize];
            Some(match self.guard.explain(id.text(), self.now)? {
                Explanation::Server => (
                    0,
                    Reverse(self.shards.iter().position(|shard| shard.contains(id, now))),
                    0,
                ),
                Explanation::Pending { at } | Explanation::Device { at } => (1, Reverse(None), at),
            })
        };
        let is_first = |&index: &u32| !ids[..index as usize].contains(&ids[index as usize]);
        let each_once = (0..ids.len() as u32).filter(is_first);
        let (mut seen, expected): (Vec<u32>, Vec<u32>) = each_once.partition(|index| last_seen(index).is_some());
        seen.sort_by_key(last_seen);
        assert_eq!(fresh, expected, "one by one and together");
        assert_eq!(split.seen, seen, "what was seen longest ago comes first");
    }

    /// What is in a live shard or was recorded here is stopped unless it was made unseen; nothing else is.
    fn check_answers(&mut self) {
        let now = self.server_seconds();
        let rate = self.guard.stats(self.now).server_false_positive_rate;
        assert!((0.0..=1.0).contains(&rate), "a rate of {rate}");
        for id in (0..12).chain(60..64).map(Id) {
            let newest = self.shards.iter().position(|shard| shard.contains(id, now));
            let explanation = self.guard.explain(id.text(), self.now);
            let is_recorded =
                |(known, at): &(Id, u64)| *known == id && self.now.unix_ms() < at.saturating_add(WINDOW_MS);
            if self.recorded.iter().any(is_recorded) && !self.listed.contains(&id) {
                assert!(explanation.is_some(), "a repeat: {id:?}");
            }
            if explanation == Some(Explanation::Server) {
                assert!(newest.is_some(), "a live shard contains {id:?}");
            } else if !self.touched.contains(&id) {
                assert_eq!((explanation, newest), (None, None), "{id:?}");
            }
        }
    }
}

fn unseen(id: Id, at: Time) -> Impression {
    Impression {
        id: id.text(),
        at: at.get(),
    }
}
