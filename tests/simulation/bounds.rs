//! What a page holds and stores at most; how much is stored and written of ten thousand impressions, by one tab and by
//! several that hear of each other.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use seenguard::{DEFAULT_REMEMBER, Guard, Now};

use super::device::Device;
use super::held::HeldStore;
use super::ledger::Ledger;
use super::scene::Scene;
use super::snapshots::cover_everything;
use super::store::Store;
use super::tab::TEXT_LIMITS;
use super::writer::{Effect, Holds, Job, Surroundings, Writer};
use crate::random::Random;

const IMPRESSIONS: usize = 10_000;
const BEGINNING: u64 = 1_764_000_000_000;
/// So often a snapshot covers all that was recorded.
const IMPRESSIONS_A_SNAPSHOT: usize = 100;

/// Bytes of a segment of one recording, beyond twice its id.
const MOST_BYTES_OF_ONE: usize = 256;

/// An open page, without what a simulated one is judged by.
struct Page {
    guard: Guard,
    writer: Writer,
    unsaved: Holds,
}

/// Pages over one storage.
struct Pages {
    store: Store,
    pages: Vec<Page>,
    random: Random,
    now: Now,
}

/// What is stored of ten thousand covered impressions, and how much was written.
#[derive(Debug)]
pub struct Stored {
    pub bytes: usize,
    pub most_bytes: usize,
    pub keys: usize,
    pub written_each: usize,
}

/// Records ten thousand impressions, each written at once, in so many pages by turns; closes them, and opens one.
pub fn store_ten_thousand(pages: usize) -> Stored {
    let mut all = Pages {
        store: Store::default(),
        pages: Vec::new(),
        random: Random::seeded(pages as u64),
        now: Now::at(BEGINNING),
    };
    (0..pages).for_each(|_| all.open());
    for number in 0..IMPRESSIONS {
        all.now = Now::at(all.now.wall_ms + 1_000);
        let page = number % pages;
        let id = format!("{number:014}");
        all.pages[page].guard.record(&[&id], all.now).expect("there is memory");
        all.work(page, Job::Flush);
        if number % IMPRESSIONS_A_SNAPSHOT == IMPRESSIONS_A_SNAPSHOT - 1 {
            for page in &mut all.pages {
                cover_everything(&mut page.guard, all.now);
            }
        }
    }
    (0..pages).for_each(|page| all.work(page, Job::Hide));
    all.pages.clear();
    all.open();
    let table = &all.pages[0].guard;
    assert_eq!(table.stats(all.now).remembered, IMPRESSIONS);
    Stored {
        bytes: all.store.bytes(),
        most_bytes: all.store.most_bytes,
        keys: all.store.keys().len(),
        written_each: all.store.written / IMPRESSIONS,
    }
}

impl Pages {
    fn open(&mut self) {
        let page = self.pages.len();
        self.pages.push(Page {
            guard: Guard::new(30.0, DEFAULT_REMEMBER).expect("the options are those of a guard"),
            writer: Writer::new(format!("{:016x}", self.random.next())),
            unsaved: Holds::default(),
        });
        while self.step(page) {}
    }

    /// Does a job of a page, and what others do meanwhile: they hear of what was written before this one compacts.
    fn work(&mut self, page: usize, job: Job) {
        self.pages[page].writer.enqueue(job);
        let mut is_busy = true;
        while is_busy {
            is_busy = false;
            for page in 0..self.pages.len() {
                is_busy |= self.step(page);
            }
        }
    }

    /// One storage operation of a page. Whether there was one to do.
    fn step(&mut self, page: usize) -> bool {
        let Page { guard, writer, unsaved } = &mut self.pages[page];
        if writer.is_idle() {
            return false;
        }
        let mut around = Surroundings {
            store: &mut self.store,
            held: &HeldStore::default(),
            guard,
            random: &mut self.random,
            now: self.now,
            true_ms: self.now.wall_ms,
            remember: DEFAULT_REMEMBER,
            unsaved,
            piecewise: false,
            effects: Vec::new(),
        };
        writer.step(&mut around);
        let signals = around.effects.iter().any(|effect| matches!(effect, Effect::Signalled));
        for other in (0..self.pages.len()).filter(|&other| signals && other != page) {
            self.pages[other].writer.enqueue(Job::Pull);
        }
        true
    }
}

/// Nothing is past its limits.
pub fn check_limits(device: &Device, tab: usize, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let (page, remember) = (&device.tabs[tab], scene.remember());
    let guard = &page.guard;
    let stats = guard.stats(clocks);
    assert_eq!(
        stats.received, page.received,
        "references: what came and what was spared"
    );
    assert!(
        stats.pending <= TEXT_LIMITS.texts,
        "limits: {} are pending",
        stats.pending
    );
    assert!(
        stats.remembered <= remember + remember / 10 || !page.writer.is_loaded,
        "limits: {} are remembered",
        stats.remembered
    );
    if stats.pending > 1_000 {
        let bytes: usize = guard.pending(usize::MAX).iter().map(String::len).sum();
        assert!(bytes <= TEXT_LIMITS.bytes, "limits: {bytes} bytes of ids are pending");
    }
    if stats.pending > TEXT_LIMITS.texts - TEXT_LIMITS.texts / 50 {
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
    let most = 128 * remember + 128 * TEXT_LIMITS.texts + TEXT_LIMITS.bytes + server + 64 * 1024;
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

/// How many recordings a segment has, as its header says; a number of several bytes is at least 128.
fn recordings_in(segment: &str) -> u8 {
    let header = segment.lines().nth(1).expect("a header follows the format");
    STANDARD.decode(&header[..4]).expect("chunks are base64")[1]
}
