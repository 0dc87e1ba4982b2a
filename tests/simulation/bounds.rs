//! What a page holds and stores at most; how much is stored and written of thousands of impressions, by one tab and by
//! several that hear of each other.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use seenguard::{DEFAULT_REMEMBER, Guard, Now, Operation, Storage, Time};

use super::device::Device;
use super::ledger::Ledger;
use super::scene::Scene;
use super::snapshots::cover_everything;
use super::store::{Store, is_segment};
use super::tab::{Holds, MOST_TEXT_BYTES, MOST_TEXTS};

const BEGINNING: u64 = 1_764_000_000_000;
/// So often a snapshot covers all that was recorded.
const IMPRESSIONS_A_SNAPSHOT: usize = 100;

/// Bytes of a segment of one recording, beyond twice its id.
const MOST_BYTES_OF_ONE: usize = 256;

/// What is stored of impressions, and how much was written of them.
#[derive(Debug, Default)]
pub struct Stored {
    pub bytes: usize,
    pub most_bytes: usize,
    pub most_keys: usize,
    pub writes: usize,
    pub recordings: usize,
    pub characters: usize,
}

/// Open pages over one storage, without what simulated ones are judged by.
#[derive(Default)]
struct Pages {
    store: Store,
    pages: Vec<(Guard, Storage)>,
    now_ms: u64,
    stored: Stored,
}

/// What happens beside the recording: snapshots that cover it, which each page writes, or so many clears.
pub enum Beside {
    Snapshots,
    Clears(usize),
}

/// Has so many pages record by turns, each impression a second after the one before; closes them, and opens one.
pub fn store(pages: usize, impressions: usize, beside: Beside) -> Stored {
    let mut all = Pages {
        now_ms: BEGINNING,
        ..Pages::default()
    };
    (0..pages).for_each(|_| all.open());
    let mut since_clear = 0;
    for number in 0..impressions {
        let now = Now::at(Time::from_unix_ms(all.now_ms));
        let (guard, storage) = &mut all.pages[number % pages];
        let id = format!("{number:014}");
        guard.record(&[&id], now).expect("there is memory");
        storage.changed();
        since_clear += 1;
        if matches!(beside, Beside::Clears(clears) if clears > 0 && number % (impressions / clears) == 0) {
            storage.clear(guard, now);
            since_clear = 0;
        }
        all.work(1_000);
        if matches!(beside, Beside::Snapshots) && number % IMPRESSIONS_A_SNAPSHOT == IMPRESSIONS_A_SNAPSHOT - 1 {
            for (guard, _) in &mut all.pages {
                cover_everything(guard, Now::at(Time::from_unix_ms(all.now_ms)));
            }
        }
    }
    let now = Now::at(Time::from_unix_ms(all.now_ms));
    for (guard, storage) in &mut all.pages {
        assert!(
            storage.is_current() && !storage.is_clearing(),
            "storage: a page has work that never ends"
        );
        let write = storage.hide(guard, now).write;
        write.map(|write| all.store.perform(&write));
    }
    all.pages.clear();
    all.open();
    assert_eq!(all.pages[0].0.stats(now).remembered, since_clear);
    Stored {
        bytes: all.store.bytes,
        most_bytes: all.store.most_bytes,
        ..all.stored
    }
}

impl Pages {
    fn open(&mut self) {
        let guard = Guard::new(30.0, DEFAULT_REMEMBER).expect("the options are those of a guard");
        let seed = self.now_ms + self.pages.len() as u64;
        let mut storage = Storage::new("feed", 30.0, DEFAULT_REMEMBER, seed);
        storage.begin(true, false, None);
        self.pages.push((guard, storage));
        self.work(5_000);
    }

    /// Lets the pages do for so long what they have to do, one operation each by turns.
    fn work(&mut self, for_ms: u64) {
        let end_ms = self.now_ms + for_ms;
        while self.now_ms < end_ms {
            let next_ms = (0..self.pages.len()).map(|page| self.step(page)).min();
            self.now_ms = next_ms.unwrap_or(end_ms).clamp(self.now_ms, end_ms);
        }
    }

    /// One storage operation of a page. Returns when there is another one.
    fn step(&mut self, page: usize) -> u64 {
        let (guard, storage) = &mut self.pages[page];
        let operation = storage.next(guard, Now::at(Time::from_unix_ms(self.now_ms)));
        match &operation {
            Operation::Wait { until_ms } => return *until_ms,
            Operation::Write { key, text } if is_segment(key) => {
                self.stored.writes += 1;
                self.stored.recordings += recordings_in(text);
                self.stored.characters += text.len();
            }
            _ => {}
        }
        let outcome = self.store.perform(&operation);
        self.stored.most_keys = self.stored.most_keys.max(self.store.keys().count());
        storage.complete(
            guard,
            storage.operation(),
            outcome,
            Now::at(Time::from_unix_ms(self.now_ms)),
        );
        if storage.take_notices().signal {
            let others = self.pages.iter_mut().enumerate().filter(|(other, _)| *other != page);
            others.for_each(|(_, (_, storage))| storage.look());
        }
        self.now_ms
    }
}

/// Nothing is past its limits.
pub fn check_limits(device: &Device, tab: usize, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let (page, remember) = (&device.tabs[tab], device.ledger.remember);
    let guard = &page.guard;
    let stats = guard.stats(clocks);
    assert_eq!(
        stats.received, page.received,
        "references: what came and what was spared"
    );
    assert!(stats.pending <= MOST_TEXTS, "limits: {} are pending", stats.pending);
    assert!(
        stats.remembered <= remember + remember / 10 || !page.storage.is_loaded(),
        "limits: {} are remembered",
        stats.remembered
    );
    if stats.pending > 1_000 {
        let bytes: usize = guard.pending(usize::MAX, clocks).iter().map(String::len).sum();
        assert!(bytes <= MOST_TEXT_BYTES, "limits: {bytes} bytes of ids are pending");
    }
    if stats.pending > MOST_TEXTS - MOST_TEXTS / 50 {
        scene.tally.reach("nearly 5,000 impressions are pending");
    }
    let server: usize = page
        .view
        .shards
        .iter()
        .map(|shipped| shipped.shard.filter.parameters().bits() as usize)
        .sum();
    // The table, up to twice as large as its content; the texts, each with its delivery; slots of the server's filters
    // that are free.
    let most = 128 * remember + 128 * MOST_TEXTS + MOST_TEXT_BYTES + server + 64 * 1024;
    assert!(stats.bytes <= most, "limits: {} bytes are held", stats.bytes);
}

/// A segment of one recording is at most 1 KB, for ids of at most 300 bytes.
pub fn check_size_of_one(holds: &Holds, text: &str, ledger: &Ledger, scene: &Scene<'_>) {
    // Beside what its tab did, a segment may have what the tab knew of others and a snapshot has covered.
    if let ([index], 1) = (&holds.recordings[..], recordings_in(text)) {
        let id = scene.items.text(ledger.recordings[*index].item);
        assert!(
            text.len() <= MOST_BYTES_OF_ONE + 2 * id.len(),
            "limits: a segment of one recording has {} bytes, its id {}",
            text.len(),
            id.len()
        );
    }
}

/// How many recordings a segment has, as its header says: a number of 7 bits a byte, the lowest first.
fn recordings_in(segment: &str) -> usize {
    let header = segment
        .lines()
        .nth(2)
        .expect("a header follows the number of the clear");
    let header = STANDARD.decode(header).expect("chunks are base64");
    let length = header[1..]
        .iter()
        .position(|byte| byte & 0x80 == 0)
        .expect("a number ends");
    let bits = header[1..=length + 1].iter().rev();
    bits.fold(0, |number, byte| number << 7 | usize::from(byte & 0x7F))
}
