//! A chain that goes on from stored shards of all kinds. What it ships, a guard takes and a chain reads again, whatever
//! was stored and whatever came in since.

use arbitrary::Arbitrary;
use seenguard::device::Guard;
use seenguard::wire::Reference;
use seenguard::{
    ChainOptions, ChainSnapshot, Format, Impression, MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, Report, ShardChain,
    Snapshot,
};

use super::verdicts::Inspected;
use crate::common::list_of;
use crate::pieces::{BEGINNING_MS, Few, Id, Number, Time, texts};
use crate::shards::{FormatInput, ShardInput, Text, rate_of};

/// Chains beyond this size are shipped, but not compared id by id: that takes long.
const MOST_COMPARED_BITS: u64 = 1 << 20;

#[derive(Debug, Arbitrary)]
pub struct ChainProgram<'a> {
    options: OptionsInput,
    stored: Few<ShardInput<'a>, 8>,
    /// The whole list so often: for what passes limits.
    times: u8,
    steps: Few<Step<'a>, 12>,
}

#[derive(Debug, Arbitrary)]
struct OptionsInput {
    format: FormatInput,
    capacity: Number,
    shards: u8,
    rate: u8,
    seed: Number,
    ttl_seconds: Option<u32>,
}

/// A device's pending list.
#[derive(Debug, Arbitrary)]
enum PendingInput<'a> {
    Listed(Few<Id, 8>),
    Text(&'a str),
}

#[derive(Debug, Arbitrary)]
enum Step<'a> {
    Record(Few<Id, 24>),
    Unsee(Few<Id, 8>),
    Ingest(ReportInput),
    Forget,
    Filter {
        items: Few<Id, 24>,
        pending: Option<PendingInput<'a>>,
    },
    Restore {
        unseen: Few<(Id, Time), 8>,
        forget_before: Option<Time>,
    },
    Unite {
        stored: Few<ShardInput<'a>, 4>,
        shards: u8,
    },
    Pass {
        seconds: u32,
    },
    SetClock(Time),
}

#[derive(Debug, Arbitrary)]
struct ReportInput {
    now: Time,
    impressions: Few<(Id, Time), 8>,
    unseen: Few<(Id, Time), 8>,
}

impl OptionsInput {
    fn get(&self) -> ChainOptions {
        ChainOptions {
            capacity: self.capacity.get_u32(),
            shards: usize::from(self.shards),
            false_positive_rate: rate_of(self.rate),
            seed: self.seed.get(),
            ttl_seconds: self.ttl_seconds.unwrap_or(0),
            format: self.format.get(),
        }
    }
}

/// A chain at a time.
struct Server {
    chain: ShardChain,
    options: ChainOptions,
    now: u32,
}

pub fn run(program: &ChainProgram<'_>) {
    let options = program.options.get();
    let times = 1 + usize::from(program.times % 70 / 8);
    let Some((chain, texts)) = restored(options, &program.stored.0, times) else {
        return;
    };
    let now = (BEGINNING_MS / 1_000) as u32;
    let mut server = Server { chain, options, now };
    server.check(&texts);
    for step in &program.steps.0 {
        server.step(step);
        server.check(&texts);
    }
}

/// The chain of stored texts, of which it rejects what `inspect` does and what passes a limit.
fn restored(options: ChainOptions, stored: &[ShardInput<'_>], times: usize) -> Option<(ShardChain, Vec<Text>)> {
    let mut texts: Vec<Text> = Vec::new();
    for shard in stored {
        texts.push(shard.text(options.format, &texts));
    }
    let list: Vec<&[u8]> = (0..times)
        .flat_map(|_| texts.iter().map(|text| &text.text[..]))
        .collect();
    let (chain, rejected) = match ShardChain::from_shards(&list, options) {
        Ok(restored) => restored,
        Err(_) => {
            assert!(
                ShardChain::new(options).is_err(),
                "stored shards do not make options wrong"
            );
            return None;
        }
    };
    let inspected: Vec<Inspected> = texts
        .iter()
        .map(|text| Inspected::of(options.format, text.clone()))
        .collect();
    let (mut taken, mut bits, mut left) = (0, 0, rejected.iter().peekable());
    for index in 0..list.len() {
        let shard = &inspected[index % texts.len()];
        let fits = taken < MAX_SNAPSHOT_SHARDS && bits + shard.bits() <= MAX_SNAPSHOT_BITS;
        let is_read = fits && shard.error().is_none() && !shard.is_reference();
        let rejected = left.next_if(|rejected| rejected.index == index);
        assert_eq!(rejected.is_none(), is_read, "{rejected:?} of {:?}", shard.error());
        if let (Some(rejected), Some(error), true) = (rejected, shard.error(), fits && !shard.is_reference()) {
            let is_text = std::str::from_utf8(&shard.text.text).is_ok();
            let codes = (rejected.error.code(), error.code());
            // What a header claims is too much for the chain before the payload is looked at.
            let is_right = codes.0 == codes.1 || codes == ("too-large", "bad-payload");
            assert!(!is_text || is_right, "{rejected:?} and {error:?}");
        }
        if is_read {
            (taken, bits) = (taken + 1, bits + shard.bits());
        }
    }
    Some((chain, texts))
}

impl Server {
    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Record(ids) => self.record(&ids.0),
            Step::Unsee(ids) => {
                let ids = texts(&ids.0);
                let are_short = ids.iter().all(|id| id.len() <= 256);
                assert_eq!(self.chain.unsee(&ids, self.time()).is_ok(), are_short);
            }
            Step::Ingest(report) => self.ingest(report),
            Step::Forget => {
                self.chain.forget(self.time()).expect("32 bits hold the time");
                assert_eq!(self.shipped().shards.len(), 0);
            }
            Step::Filter { items, pending } => self.filter(&items.0, pending.as_ref()),
            Step::Restore { unseen, forget_before } => {
                let unseen: Vec<Impression> = unseen.0.iter().map(impression).collect();
                let forget_before = forget_before.map(|time| seenguard::Time::from_unix_seconds(time.seconds().into()));
                let restored = self.chain.restore(&unseen, forget_before);
                restored.expect("these are not too many");
            }
            Step::Unite { stored, shards } => {
                let options = ChainOptions {
                    shards: usize::from(*shards),
                    ..self.options
                };
                if let Some((other, _)) = restored(options, &stored.0, 1) {
                    self.chain.unite(&other);
                }
            }
            Step::Pass { seconds } => self.now = self.now.saturating_add(*seconds),
            Step::SetClock(time) => self.now = time.seconds(),
        }
    }

    fn record(&mut self, ids: &[Id]) {
        let version = self.shipped().version;
        let unknown = self.chain.record(&texts(ids), self.time()).expect("there is memory");
        assert!(unknown <= ids.len());
        let shipped = self.shipped();
        let is_kept = self.options.ttl_seconds == 0 || shipped.shards.len() == self.chain.shards().count();
        for id in ids.iter().filter(|_| is_kept && self.keeps(ids.len())) {
            assert!(self.contains(*id), "{id:?} was recorded");
        }
        // At the end of its 32 bits an epoch can grow no more.
        let is_near_end = self
            .chain
            .shards()
            .any(|shard| shard.epoch > u32::MAX - 100 || shard.count > 1 << 20);
        assert!(is_near_end || shipped.version >= version, "versions grow");
    }

    /// Whether so many insertions at once push nothing of themselves out.
    fn keeps(&self, insertions: usize) -> bool {
        insertions <= self.options.capacity as usize * (self.options.shards - 1).max(1)
            && (self.options.shards > 1 || insertions <= 1)
    }

    fn ingest(&mut self, report: &ReportInput) {
        let mut sent = Report::new("", report.now.get());
        sent.impressions = report.impressions.0.iter().map(impression).collect();
        sent.unseen = report.unseen.0.iter().map(impression).collect();
        let report = sent.received(self.time());
        let unknown = self.chain.ingest(&report).expect("there is memory");
        assert!(unknown <= report.impressions.len());
    }

    fn filter(&mut self, items: &[Id], pending: Option<&PendingInput<'_>>) {
        let now = self.time();
        let ids = texts(items);
        let (pending, listed) = match pending {
            Some(PendingInput::Listed(listed)) => {
                (Some(format!(".1.zzzzzz.{}", list_of(&texts(&listed.0)))), &*listed.0)
            }
            Some(PendingInput::Text(text)) => (Some((*text).to_owned()), &[][..]),
            None => (None, &[][..]),
        };
        let fresh = self.chain.filter(&ids, None, now).expect("32 bits hold the time");
        for (item, id) in (0..).zip(items) {
            let is_first = !items[..item as usize].contains(id);
            assert_eq!(fresh.contains(&item), is_first && !self.contains(*id), "{id:?}");
        }
        let split = self
            .chain
            .split(&ids, pending.as_deref(), now)
            .expect("32 bits hold the time");
        assert!(
            split.fresh.iter().all(|item| fresh.contains(item)),
            "pending ids make nothing fresh"
        );
        assert!(!split.seen.iter().any(|item| split.fresh.contains(item)));
        // The device has heard of a deletion in 2038.
        let counts = (self.shipped().forget_before).is_none_or(|before| before.unix_seconds() < 36u64.pow(6));
        let is_fresh = |id: &Id| {
            items
                .iter()
                .position(|item| item == id)
                .is_some_and(|item| split.fresh.contains(&(item as u32)))
        };
        assert!(!counts || !listed.iter().any(is_fresh), "pending ids are left out");
    }

    fn contains(&self, id: Id) -> bool {
        self.chain
            .contains(id.text(), self.time())
            .expect("32 bits hold the time")
    }

    fn shipped(&self) -> ChainSnapshot {
        self.chain
            .snapshot(self.time(), None)
            .expect("what is kept can be written")
    }

    /// What is shipped keeps the limits, and means the same to a guard, to `inspect` and to a chain that reads it.
    fn check(&self, stored: &[Text]) {
        let shipped = self.shipped();
        assert!(shipped.shards.len() <= MAX_SNAPSHOT_SHARDS && shipped.unseen.len() <= 1_000);
        let inspect = |text: &String| Inspected::of(shipped.format, text.clone().into_bytes().into());
        let shards: Vec<Inspected> = shipped.shards.iter().map(inspect).collect();
        assert!(
            shards.iter().all(|shard| shard.error().is_none()),
            "what is shipped can be read"
        );
        let bits: u64 = shards.iter().map(Inspected::bits).sum();
        assert!(bits <= MAX_SNAPSHOT_BITS, "{bits} bits are shipped");
        let guard = self.guard_with(&shipped);
        if bits > MOST_COMPARED_BITS {
            return;
        }
        let (again, rejected) =
            ShardChain::from_shards(&shipped.shards, self.options).expect("the options are those of a chain");
        let is_of_size = matches!(self.options.format, Format::GoBloomfilter { bits: Some(_), .. });
        assert!(
            rejected.is_empty() || is_of_size,
            "what is shipped can be stored: {rejected:?}"
        );
        if rejected.is_empty() {
            let shards = again.snapshot(self.time(), None).expect("it was written before").shards;
            assert_eq!(shards, shipped.shards, "what is read again is written again");
        }
        let named: Vec<Id> = stored
            .iter()
            .flat_map(|text| text.ids.iter().take(2).copied())
            .collect();
        for id in (0..10).map(Id).chain(named) {
            let is_unseen = shipped.unseen.iter().any(|unseen| unseen.id == id.text());
            let is_in_shard = shards.iter().any(|shard| shard.contains(id, self.now.into()));
            let is_stopped = is_in_shard && !is_unseen;
            assert_eq!(self.contains(id), is_stopped, "{id:?} in the chain");
            assert_eq!(
                guard.explain(id.text(), self.time()).is_some(),
                is_stopped,
                "{id:?} on the device"
            );
        }
    }

    fn time(&self) -> seenguard::Time {
        seenguard::Time::from_unix_seconds(self.now.into())
    }

    /// A guard that took the snapshot, and then the same by references.
    fn guard_with(&self, shipped: &ChainSnapshot) -> Guard {
        let mut guard = Guard::new(30.0, 1_000).expect("the options are those of a guard");
        let applied = guard
            .apply(Snapshot::from(shipped), self.time())
            .expect("a guard takes what is shipped");
        assert_eq!(applied.reason, None);
        let held = guard.held();
        let referring = self
            .chain
            .snapshot(self.time(), Some(&held))
            .expect("it was written before");
        let is_reference = |text: &String| Reference::from_element(text.as_bytes()).is_some();
        assert!(referring.shards.iter().all(is_reference), "all of it is held");
        let applied = guard
            .apply(Snapshot::from(&referring), self.time())
            .expect("a guard takes references");
        assert_eq!((applied.reason, guard.held()), (None, held));
        guard
    }
}

fn impression((id, at): &(Id, Time)) -> Impression {
    Impression {
        id: id.text(),
        at: at.get(),
    }
}
