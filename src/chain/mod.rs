//! A user's shards, newest first: what the server keeps, ships and goes on from.
//!
//! `record` first seals the newest shard if it is due, then inserts an id unless the newest shard contains it: an id that only an older shard
//! contains is inserted again, so that seeing it again renews it and rotation does not forget it early.
//!
//! A newest shard that holds `capacity` items is full: it is sealed and a new one begun. With a ttl, a newest shard older than a slice, `ttl /
//! max(1, shards − 1)`, is sealed though not full, and a shard expires a ttl and a slice after its creation. While more than `shards` shards are
//! full or newest, the oldest full one is dropped; what was sealed by time goes by its expiry alone. So an id is kept for at least the ttl and
//! at most a slice longer, unless `(shards − 1) · capacity` others were inserted since.

use serde::Serialize;

use crate::bloom::FilterSpec;
use crate::hash::{HashScheme, HashedId};
use crate::id_list::{HashedList, IdList};
use crate::params::{MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS};
use crate::wire::{self, go_bloomfilter, guava};
use crate::{BloomFilter, Error, Format, Parameters, Shard};

/// Most shards of a chain whose shards expire: those sealed by time come on top, and a snapshot has at most 64 shards.
const MAX_SHARDS_WITH_TTL: usize = MAX_SNAPSHOT_SHARDS / 2;
/// Longest ttl: with a slice as long again, what begins in these years expires within the format's 32 bits of seconds.
const MAX_TTL_SECONDS: u32 = 1_000_000_000;
/// The part of a derived version that counts within a shard: 21 bits.
const COUNT_BITS: u32 = 21;

/// How a chain is kept. The fields have the defaults of [`ChainOptions::default`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChainOptions {
    /// Items a shard; 1000.
    pub capacity: u32,
    /// Full shards, with the newest, that are kept; 5.
    pub shards: usize,
    /// ε of each shard when it is full; 0.001.
    pub false_positive_rate: f64,
    /// Seed of XXH64, one for a deployment; 0.
    pub seed: u64,
    /// Seconds for which no item is forgotten, unless `(shards − 1) · capacity` others were inserted since; at most 10^9; 0: by capacity alone.
    pub ttl_seconds: u32,
    /// How shards are stored and shipped; native. [`Format::GoBloomfilter`] and [`Format::Guava`] go on with what such a server has kept: shards
    /// without a seed, which never expire. Without `bits`, the capacity and the rate give m; the other formats are only read.
    pub format: Format,
}

impl Default for ChainOptions {
    fn default() -> Self {
        ChainOptions {
            capacity: 1000,
            shards: 5,
            false_positive_rate: 0.001,
            seed: 0,
            ttl_seconds: 0,
            format: Format::Native,
        }
    }
}

impl ChainOptions {
    /// What the shards are like that such a chain begins.
    fn spec(&self) -> Result<FilterSpec, Error> {
        let (capacity, rate) = (self.capacity, self.false_positive_rate);
        if !self.format.is_known() {
            return Err(Error::BadOption(wire::NOT_KNOWN));
        }
        if !self.format.is_native() && (self.ttl_seconds > 0 || self.seed != 0) {
            return Err(Error::BadOption(
                "ttlSeconds and seed are for the native format: others keep neither an expiry nor a seed",
            ));
        }
        match self.format {
            Format::Native => Ok(FilterSpec::native(Parameters::for_capacity(capacity, rate)?, self.seed)),
            Format::GoBloomfilter { hashes, bits } => {
                let sized = go_bloomfilter::parameters(capacity, rate)?;
                let bits = bits.unwrap_or(sized.bits());
                if bits % 32 != 0 {
                    return Err(Error::BadOption(
                        "the bits of a go-bloomfilter record are a multiple of 32",
                    ));
                }
                let parameters = wire::parameters(bits.into(), hashes.into())?;
                Ok(FilterSpec::foreign(HashScheme::GoBloomfilter, parameters))
            }
            Format::Guava => Ok(FilterSpec::foreign(
                HashScheme::Guava64,
                guava::parameters(capacity, rate)?,
            )),
            Format::BitsAndBlooms | Format::RedisBloom => Err(Error::BadOption(
                "bits-and-blooms and redisbloom are only read: a chain is kept in \"seenguard\", \"go-bloomfilter\" or \"guava\"",
            )),
        }
    }
}

/// What the server ships beside a feed's items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChainSnapshot {
    /// Grows with every change; 0 for an empty chain. Absent in a format whose shards tell no epoch: a list that was stored in it does not say
    /// how many shards came before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The shards' texts, newest first.
    pub shards: Vec<String>,
    /// What they are written in.
    #[serde(skip_serializing_if = "Format::is_native")]
    pub format: Format,
    /// The server's clock, Unix seconds.
    pub now: u64,
}

/// A stored shard that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Its place in what was given.
    pub index: usize,
    /// Why.
    pub error: Error,
}

/// The times of a chain whose shards expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RotationSchedule {
    ttl: u64,
    slice: u64,
}

impl RotationSchedule {
    /// `shards` is the number of shards that cover the ttl.
    pub(crate) fn new(ttl_seconds: u32, shards: usize) -> Self {
        let ttl = u64::from(ttl_seconds);
        RotationSchedule {
            ttl,
            slice: ttl / shards.saturating_sub(1).max(1) as u64,
        }
    }

    pub(crate) fn slice(self) -> u64 {
        self.slice
    }

    /// When a shard begun then expires; 0 for never.
    pub(crate) fn expires(self, begun: u64) -> u32 {
        if self.ttl == 0 {
            0
        } else {
            u32::try_from(begun.saturating_add(self.ttl + self.slice)).unwrap_or(u32::MAX)
        }
    }

    /// The first second that is a ttl after whatever happened in this one.
    pub(crate) fn end_of_ttl(self, at: u64) -> u32 {
        u32::try_from(at.saturating_add(self.ttl + 1)).unwrap_or(u32::MAX)
    }

    /// When a shard that expires then was begun.
    fn begun(self, expires: u32) -> u64 {
        u64::from(expires).saturating_sub(self.ttl + self.slice)
    }

    /// Whether two shards, each given by its beginning and its expiry, may unite: their expiries lie within one slice. A united shard counts
    /// with both ends of what it holds, else each further union would renew the earliest of it.
    pub(crate) fn allow_union(self, a: (u64, u32), b: (u64, u32)) -> bool {
        if a.1 == 0 || b.1 == 0 {
            return a.1 == b.1;
        }
        let ends = [a.1, self.expires(a.0), b.1, self.expires(b.0)].map(u64::from);
        let spread = ends
            .iter()
            .max()
            .zip(ends.iter().min())
            .map(|(last, first)| last - first);
        spread.is_some_and(|spread| spread <= self.slice)
    }
}

/// Whether a shard with the expiry `a` answers as long as one with the expiry `b`; 0 is never, and wraps around to the latest of all.
pub(crate) fn outlasts(a: u32, b: u32) -> bool {
    a.wrapping_sub(1) >= b.wrapping_sub(1)
}

/// A shard and when it was begun: for a united one that is the earlier beginning, which its expiry does not tell.
#[derive(Debug, Clone)]
struct Link {
    shard: Shard,
    begun: u64,
}

/// A user's chain of shards. Time comes in as an argument, in Unix seconds.
///
/// ```
/// use seenguard::{ChainOptions, ShardChain};
/// let mut chain = ShardChain::new(ChainOptions::default())?;
/// assert_eq!(chain.record(["article-17", "article-18"], 1_764_000_000), 2);
/// let candidates = ["article-18", "article-19"];
/// assert_eq!(chain.filter(&candidates, 1_764_000_060), [1]);
/// let shipped = chain.snapshot(1_764_000_060);
/// let (again, rejected) = ShardChain::from_shards(&shipped.shards, ChainOptions::default())?;
/// assert!(rejected.is_empty() && again.contains("article-17", 1_764_000_060));
/// # Ok::<(), seenguard::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ShardChain {
    options: ChainOptions,
    slices: RotationSchedule,
    spec: FilterSpec,
    links: Vec<Link>,
    last_epoch: Option<u32>,
}

impl ShardChain {
    /// An empty chain.
    ///
    /// # Errors
    /// [`Error::BadOption`] or [`Error::BadParameters`] for options without meaning; [`Error::TooLarge`] if the chain could grow beyond what a
    /// snapshot may hold.
    pub fn new(options: ChainOptions) -> Result<Self, Error> {
        let spec = options.spec()?;
        let with_ttl = options.ttl_seconds > 0;
        let most = if with_ttl {
            MAX_SHARDS_WITH_TTL
        } else {
            MAX_SNAPSHOT_SHARDS
        };
        if options.shards == 0 || options.shards > most {
            return Err(Error::BadOption(if with_ttl {
                "the number of shards must be 1 to 32 where they expire"
            } else {
                "the number of shards must be 1 to 64"
            }));
        }
        if options.ttl_seconds > MAX_TTL_SECONDS {
            return Err(Error::BadOption(
                "the ttl must be at most 10^9 seconds; 0 is for items that never expire",
            ));
        }
        let longest = options.shards as u64 * if with_ttl { 2 } else { 1 };
        if longest * u64::from(spec.bits()) > MAX_SNAPSHOT_BITS {
            return Err(Error::TooLarge(
                "the chain's shards could together have over 2^26 bits, which no client takes",
            ));
        }
        Ok(ShardChain {
            options,
            slices: RotationSchedule::new(options.ttl_seconds, options.shards),
            spec,
            links: Vec::new(),
            last_epoch: None,
        })
    }

    /// Goes on from stored shards, newest first. What cannot be read is left out and listed. A newest shard with other parameters than the
    /// options' is sealed.
    ///
    /// # Errors
    /// As [`ShardChain::new`], for the options alone.
    pub fn from_shards<S: AsRef<str>>(shards: &[S], options: ChainOptions) -> Result<(Self, Vec<Rejected>), Error> {
        let mut chain = ShardChain::new(options)?;
        let (mut rejected, mut bits) = (Vec::new(), 0);
        for (index, text) in shards.iter().enumerate() {
            match chain.read_stored(text.as_ref(), &mut bits) {
                Ok(mut link) => {
                    if !options.format.is_native() {
                        // Their order is all there is.
                        link.shard.epoch = (shards.len() - index) as u32;
                    }
                    chain.links.push(link);
                }
                Err(error) => rejected.push(Rejected { index, error }),
            }
        }
        // What cannot be read and is newer had the numbers that follow: versions must not come again.
        let newest = (0..)
            .zip(&rejected)
            .take_while(|(index, rejected)| *index == rejected.index);
        let unread = u32::try_from(newest.count()).unwrap_or(u32::MAX);
        let last = chain.links.iter().map(|link| link.shard.epoch).max();
        chain.last_epoch = last.map(|last| last.saturating_add(unread));
        Ok((chain, rejected))
    }

    fn read_stored(&self, text: &str, bits: &mut u64) -> Result<Link, Error> {
        if self.links.len() == MAX_SNAPSHOT_SHARDS {
            return Err(Error::TooLarge("a chain has at most 64 shards"));
        }
        let decoded = wire::decode(self.options.format, text)?;
        let together = *bits + decoded.bits();
        if together > MAX_SNAPSHOT_BITS {
            return Err(Error::TooLarge("the chain's shards together have over 2^26 bits"));
        }
        // What a chain may be kept in has one filter a text.
        let unread = decoded.filters.first().ok_or(Error::BadMagic)?;
        let shard = decoded.shard(unread)?;
        *bits = together;
        Ok(Link {
            begun: self.slices.begun(shard.expires),
            shard,
        })
    }

    /// The options.
    pub fn options(&self) -> &ChainOptions {
        &self.options
    }

    /// The shards, newest first, the expired ones included until the next `record`.
    pub fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.links.iter().map(|link| &link.shard)
    }

    /// Inserts each id that the newest shard does not contain. Returns how many no live shard contained.
    pub fn record<I: IntoIterator<Item: AsRef<[u8]>>>(&mut self, ids: I, now_seconds: u64) -> usize {
        self.links.retain(|link| !link.shard.is_expired(now_seconds));
        ids.into_iter()
            .filter(|id| self.record_one(HashedId::new(id.as_ref()), now_seconds))
            .count()
    }

    fn record_one(&mut self, id: HashedId<'_>, now: u64) -> bool {
        let known = self.links.iter().any(|link| link.shard.filter.contains_hashed(id));
        if self.newest_is_due(now) {
            self.begin(now);
        }
        let newest = &mut self.links[0].shard;
        if newest.filter.insert_hashed(id) {
            newest.count = newest.count.saturating_add(1);
        }
        !known
    }

    /// Whether any live shard contains the id.
    pub fn contains(&self, id: impl AsRef<[u8]>, now_seconds: u64) -> bool {
        let id = HashedId::new(id.as_ref());
        self.live(now_seconds).any(|shard| shard.filter.contains_hashed(id))
    }

    /// The indices of the candidates that no live shard contains, in order; of equal ids the first.
    pub fn filter<S: AsRef<[u8]>>(&self, candidates: &[S], now_seconds: u64) -> Vec<u32> {
        let mut fresh = Vec::with_capacity(candidates.len());
        self.filter_into(candidates, now_seconds, &mut fresh);
        fresh
    }

    /// The same into a list that is used again, from any kind of list.
    pub(crate) fn filter_into<L: IdList + ?Sized>(&self, ids: &L, now_seconds: u64, fresh: &mut Vec<u32>) {
        fresh.clear();
        let mut list = HashedList::default();
        list.read(ids);
        let live: Vec<&Shard> = self.live(now_seconds).collect();
        for index in 0..ids.len() {
            let id = list.id(ids, index);
            if list.is_first(ids, index) && !live.iter().any(|shard| shard.filter.contains_hashed(id)) {
                fresh.push(index as u32);
            }
        }
    }

    /// What to ship: the state as of now, with the version `epoch · 2^21 + min(count, 2^21 − 1)` of the newest shard.
    pub fn snapshot(&self, now_seconds: u64) -> ChainSnapshot {
        let format = match self.options.format {
            // Shards of other sizes that were stored may be among them.
            Format::GoBloomfilter { hashes, .. } => Format::GoBloomfilter { hashes, bits: None },
            format => format,
        };
        // The newest one's also where a clock that went back made it expire before an older one.
        let newest = self.live(now_seconds).next().and(self.shards().next());
        ChainSnapshot {
            version: format.is_native().then(|| newest.map_or(0, version_of)),
            shards: self.live(now_seconds).map(Shard::to_base64).collect(),
            format,
            now: now_seconds,
        }
    }

    /// Takes over the shards of another chain of this user, such as another region's. Shards unite where their parameters are equal, their
    /// expiries lie within one slice and what they hold together fits the capacity; one that another contains is dropped; the others stand beside
    /// each other, newest first.
    pub fn unite(&mut self, other: &ShardChain) {
        for link in &other.links {
            if !self
                .links
                .iter_mut()
                .any(|mine| mine.unite(link, self.options.capacity, self.slices))
            {
                self.links.push(link.clone());
            }
        }
        self.links.sort_by_key(|link| std::cmp::Reverse(link.shard.epoch));
        self.last_epoch = self.last_epoch.max(other.last_epoch);
        self.drop_oldest();
    }

    fn live(&self, now: u64) -> impl Iterator<Item = &Shard> {
        self.shards().filter(move |shard| !shard.is_expired(now))
    }

    /// Whether a new shard must begin before the next insertion.
    fn newest_is_due(&self, now: u64) -> bool {
        let Some(Link { shard, begun }) = self.links.first() else {
            return true;
        };
        let expires = self.slices.ttl > 0;
        if shard.filter.spec() != self.spec || shard.count >= self.options.capacity || expires != (shard.expires != 0) {
            return true;
        }
        // A newer one was here, and versions must grow.
        if Some(shard.epoch) != self.last_epoch {
            return true;
        }
        // A beginning far ahead comes from options that have changed: what goes in would be kept too long.
        let slice = self.slices.slice;
        expires && (now > begun.saturating_add(slice) || *begun > now.saturating_add(slice))
    }

    fn begin(&mut self, now: u64) {
        let clock = u32::try_from(now).unwrap_or(u32::MAX);
        let epoch = match (self.last_epoch, self.links.is_empty()) {
            (None, _) => clock,
            (Some(last), true) => last.saturating_add(1).max(clock),
            (Some(last), false) => last.saturating_add(1),
        };
        self.last_epoch = Some(epoch);
        let shard = Shard::new(BloomFilter::with_spec(self.spec), epoch, self.slices.expires(now));
        self.links.insert(0, Link { shard, begun: now });
        self.drop_oldest();
    }

    fn bits(&self) -> u64 {
        self.shards()
            .map(|shard| u64::from(shard.filter.parameters().bits()))
            .sum()
    }

    fn drop_oldest(&mut self) {
        loop {
            let counts = |index: usize| {
                let shard = &self.links[index].shard;
                // Without an expiry only the number of shards makes room.
                index == 0 || shard.count >= self.options.capacity || shard.expires == 0
            };
            let counting: Vec<usize> = (0..self.links.len()).filter(|&index| counts(index)).collect();
            let oldest = match counting.last() {
                Some(&oldest) if counting.len() > self.options.shards => oldest,
                _ if self.links.len() > MAX_SNAPSHOT_SHARDS || self.bits() > MAX_SNAPSHOT_BITS => self.links.len() - 1,
                _ => return,
            };
            self.links.remove(oldest);
        }
    }
}

impl Link {
    /// Stands for `other` too, if it contains it or the rule allows to unite them; whether it does.
    fn unite(&mut self, other: &Link, capacity: u32, slices: RotationSchedule) -> bool {
        let (mine, theirs) = (&self.shard, &other.shard);
        let epoch = mine.epoch.max(theirs.epoch);
        if outlasts(mine.expires, theirs.expires) && mine.filter.contains_all_of(&theirs.filter) {
            self.shard.epoch = epoch;
            return true;
        }
        if outlasts(theirs.expires, mine.expires) && theirs.filter.contains_all_of(&mine.filter) {
            *self = other.clone();
            self.shard.epoch = epoch;
            return true;
        }
        if !slices.allow_union((self.begun, mine.expires), (other.begun, theirs.expires)) {
            return false;
        }
        let Some((filter, count)) = united(&mine.filter, &theirs.filter, capacity) else {
            return false;
        };
        self.begun = self.begun.min(other.begun);
        self.shard = Shard {
            filter,
            count,
            epoch,
            expires: mine.expires.max(theirs.expires),
        };
        true
    }
}

/// The union of two filters and the estimated number of its items, if they have one spec and the union stays within the capacity.
pub(crate) fn united(a: &BloomFilter, b: &BloomFilter, capacity: u32) -> Option<(BloomFilter, u32)> {
    let mut union = a.clone();
    union.union(b).ok()?;
    let items = union.estimate_items();
    (items <= f64::from(capacity)).then(|| (union, items.round_ties_even() as u32))
}

fn version_of(newest: &Shard) -> u64 {
    (u64::from(newest.epoch) << COUNT_BITS) + u64::from(newest.count.min((1 << COUNT_BITS) - 1))
}
