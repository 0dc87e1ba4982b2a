//! The chain itself.

use super::link::Link;
use super::options::ChainOptions;
use super::rotation::RotationSchedule;
use super::seconds::{rounded_up, shard_seconds};
use super::snapshot::{ChainSnapshot, version_of};
use super::unseen::Unseen;
use crate::bloom::{BloomFilter, FilterSpec};
use crate::error::Error;
use crate::hash::HashedId;
use crate::id_list::IdList;
use crate::impression::Impression;
use crate::params::{MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, MAX_SNAPSHOT_UNSEEN};
use crate::shard::Shard;
use crate::time::Time;
use crate::wire::{self, Reference};

/// A stored shard that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Its index in what was given.
    pub index: usize,
    /// Why.
    pub error: Error,
}

/// A user's chain of shards. The time comes in as an argument: one beyond the format's 32 bits of seconds is refused
/// with [`Error::BadOption`].
///
/// ```
/// use seenguard::{ChainOptions, ShardChain, Time};
/// let now = Time::from_unix_seconds(1_764_000_000);
/// let mut chain = ShardChain::new(ChainOptions::default())?;
/// assert_eq!(chain.record(&["article-17", "article-18"], now)?, 2);
/// assert_eq!(chain.filter(&["article-18", "article-19"], None, now)?, [1]);
/// let shipped = chain.snapshot(now, None)?;
/// let (again, rejected) = ShardChain::from_shards(&shipped.shards, ChainOptions::default())?;
/// assert!(rejected.is_empty() && again.contains("article-17", now)?);
/// # Ok::<(), seenguard::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ShardChain {
    pub(super) options: ChainOptions,
    pub(super) schedule: RotationSchedule,
    /// What the shards are like that this chain begins.
    spec: FilterSpec,
    pub(super) links: Vec<Link>,
    pub(super) last_epoch: Option<u32>,
    pub(super) unseen: Unseen,
    /// When the history was deleted, Unix seconds.
    pub(super) forget_before: Option<u32>,
    /// Fields that were stored beside the shards, and that a chain knows nothing of: they stay.
    pub(super) other_fields: Vec<(String, String)>,
}

impl ShardChain {
    /// An empty chain.
    ///
    /// # Errors
    /// [`Error::BadOption`] or [`Error::BadParameters`] for options without meaning; [`Error::TooLarge`] if the chain
    /// could grow beyond what a snapshot may hold.
    pub fn new(options: ChainOptions) -> Result<Self, Error> {
        Ok(ShardChain {
            spec: options.check()?,
            schedule: RotationSchedule::new(options.ttl_seconds, options.shards),
            options,
            links: Vec::new(),
            last_epoch: None,
            unseen: Unseen::default(),
            forget_before: None,
            other_fields: Vec::new(),
        })
    }

    /// Goes on from the texts of stored shards, newest first. It leaves out and lists what it cannot read. A newest
    /// shard with other parameters than the options' is sealed.
    ///
    /// A shard of a format that stores no count, such as Guava's, counts as its estimated number of items from then on,
    /// plus what is inserted.
    ///
    /// # Errors
    /// As [`ShardChain::new`], for the options alone.
    pub fn from_shards(shards: &(impl IdList + ?Sized), options: ChainOptions) -> Result<(Self, Vec<Rejected>), Error> {
        let mut chain = ShardChain::new(options)?;
        let mut rejected = Vec::new();
        for index in 0..shards.len() {
            // Of formats without epochs, their order is all there is.
            let epoch = (!options.format.is_native()).then_some((shards.len() - index) as u32);
            match chain.read_stored(shards.get(index), epoch) {
                Ok(link) => chain.links.push(link),
                Err(error) => rejected.push(Rejected { index, error }),
            }
        }
        // The newest shards, if they cannot be read, had the numbers that follow: versions must not come again.
        let unread_newest = (0..)
            .zip(&rejected)
            .take_while(|(index, rejected)| *index == rejected.index)
            .count();
        let last_read = chain.shards().map(|shard| shard.epoch).max();
        chain.last_epoch = last_read.map(|last| last.saturating_add(unread_newest as u32));
        Ok((chain, rejected))
    }

    /// Takes over what was stored beside the shards: the unseen ids, and when the history was deleted.
    ///
    /// # Errors
    /// [`Error::BadSnapshot`] for more than 1,000 unseen ids, [`Error::BadOption`] for a deletion beyond 2^32 seconds:
    /// then nothing changes.
    pub fn restore(&mut self, unseen: &[Impression], forget_before: Option<Time>) -> Result<(), Error> {
        if unseen.len() > MAX_SNAPSHOT_UNSEEN {
            return Err(Error::BadSnapshot("unseen has more than 1,000 entries"));
        }
        let forget_before = forget_before.map(rounded_up).transpose()?;
        for Impression { id, at } in unseen {
            self.unseen.insert(id.as_bytes(), *at);
        }
        self.drop_needless_unseen();
        self.forget_before = self.forget_before.max(forget_before);
        Ok(())
    }

    fn read_stored(&self, text: &[u8], epoch: Option<u32>) -> Result<Link, Error> {
        if self.links.len() == MAX_SNAPSHOT_SHARDS {
            return Err(Error::TooLarge("a chain has at most 64 shards"));
        }
        // A store holds shards: no device is there to resolve a reference.
        if Reference::from_element(text).is_some() {
            return Err(Error::BadBase64);
        }
        let encoded = wire::decode(self.options.format, text)?;
        if self.bits() + encoded.bits() > MAX_SNAPSHOT_BITS {
            return Err(Error::TooLarge("the chain's shards together have over 2^26 bits"));
        }
        // The formats that a chain may be kept in have one filter a text.
        let filter = encoded.filters().first().ok_or(Error::BadMagic)?;
        let mut shard = encoded.read_shard(filter)?;
        shard.epoch = epoch.unwrap_or(shard.epoch);
        let begun = self.schedule.begun(shard.expires);
        Link::stored(shard, text, begun)
    }

    /// The options.
    pub fn options(&self) -> &ChainOptions {
        &self.options
    }

    /// For how many seconds a store must keep what is recorded now; 0 for ever.
    pub fn life_seconds(&self) -> u64 {
        self.schedule.life()
    }

    /// The shards, newest first, the expired ones included until the next `record`.
    pub fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.links.iter().map(Link::shard)
    }

    /// Inserts each id that the newest shard does not contain; none of them is unseen any more. Returns how many no
    /// live shard contained.
    ///
    /// ```
    /// use seenguard::{ChainOptions, ShardChain, Time};
    /// let options = ChainOptions { capacity: 2, shards: 2, ..ChainOptions::default() };
    /// let mut chain = ShardChain::new(options)?;
    /// let now = Time::from_unix_seconds(1_764_000_000);
    /// assert_eq!(chain.record(&["a", "b"], now)?, 2);
    ///
    /// // The newest shard is full, so another one begins. It takes "a" again, which is thereby kept for longer.
    /// assert_eq!(chain.record(&["a", "c"], now)?, 1);
    /// assert_eq!(chain.shards().count(), 2);
    ///
    /// // With a third shard the oldest drops out, and with it "b".
    /// chain.record(&["d"], now)?;
    /// assert_eq!(chain.filter(&["a", "b", "c", "d"], None, now)?, [1]);
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds; [`Error::OutOfMemory`].
    pub fn record(&mut self, ids: &(impl IdList + ?Sized), now: Time) -> Result<usize, Error> {
        let now = shard_seconds(now)?;
        let mut shards_left = self.drop_expired(now);
        let mut unknown = 0;
        for index in 0..ids.len() {
            let id = HashedId::new(ids.get(index));
            unknown += usize::from(!self.live(now).any(|shard| shard.filter.contains_hashed(id)));
            if self.newest_is_due(now) {
                self.begin(now)?;
                shards_left = true;
            }
            if let Some(newest) = self.links.first_mut() {
                newest.insert(id);
            }
            self.unseen.remove(id.bytes());
        }
        // Only an unseen id that a dropped shard contained can have become needless.
        if shards_left {
            self.drop_needless_unseen();
        }
        Ok(unknown)
    }

    /// Makes ids unseen: they are fresh until they are recorded again. The newest 1,000 are kept; an id that no live
    /// shard contains is fresh anyway, and is not.
    ///
    /// ```
    /// use seenguard::{ChainOptions, ShardChain, Time};
    /// let now = Time::from_unix_seconds(1_764_000_000);
    /// let mut chain = ShardChain::new(ChainOptions::default())?;
    /// chain.record(&["a", "b"], now)?;
    /// chain.unsee(&["a"], now)?;
    /// assert_eq!(chain.filter(&["a", "b"], None, now)?, [0]);
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds.
    pub fn unsee(&mut self, ids: &(impl IdList + ?Sized), now: Time) -> Result<(), Error> {
        self.drop_expired(shard_seconds(now)?);
        for index in 0..ids.len() {
            self.unseen.insert(ids.get(index), now);
        }
        self.drop_needless_unseen();
        Ok(())
    }

    /// Deletes the history: no shards, no unseen ids, and snapshots say from when on impressions count. That is this
    /// time, rounded up to a second, and never earlier than before.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds.
    pub fn forget(&mut self, now: Time) -> Result<(), Error> {
        let before = rounded_up(now)?;
        self.links.clear();
        self.unseen = Unseen::default();
        self.forget_before = self.forget_before.max(Some(before));
        Ok(())
    }

    /// The time from which on impressions count.
    pub(super) fn counts_from(&self) -> Time {
        Time::from_unix_seconds(self.forget_before.unwrap_or(0).into())
    }

    /// Drops the unseen ids that no shard contains, and all but the newest 1,000 of the others.
    pub(super) fn drop_needless_unseen(&mut self) {
        let links = &self.links;
        self.unseen
            .keep_newest(|id| contained(links.iter().map(Link::shard), id));
    }

    /// What to ship: the state as of now, with the version `epoch · 2^21 + min(count, 2^21 − 1)` of the newest shard.
    /// `held` is what the device's request says that it holds: these shards become references. It ignores
    /// names that it does not understand. Without `held`, this is what to store. A shard that has not changed since it
    /// was stored keeps its text.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds.
    pub fn snapshot(&self, now: Time, held: Option<&str>) -> Result<ChainSnapshot, Error> {
        let now = shard_seconds(now)?;
        let held = held.map(Reference::split).unwrap_or_default();
        let live = self.links.iter().filter(|link| link.is_live(now));
        let shards: Result<Vec<String>, Error> = live.map(|link| self.shipped(link, &held)).collect();
        // That of the newest shard even if it has expired before an older one, which happens when the clock goes back.
        let newest = self.live(now).next().and(self.shards().next());
        let has_versions = self.options.format.is_native();
        let mut unseen = self.unseen.clone();
        unseen.retain(|id, _| contained(self.live(now), id));
        Ok(ChainSnapshot {
            version: has_versions.then(|| newest.map_or(0, version_of)),
            shards: shards?,
            format: self.options.format.of_any_size(),
            now: Time::from_unix_seconds(now.into()),
            unseen: unseen.newest_first(),
            forget_before: self.forget_before.map(|before| Time::from_unix_seconds(before.into())),
        })
    }

    /// A shard's text, or the reference that stands for it if it is held.
    fn shipped(&self, link: &Link, held: &[Reference]) -> Result<String, Error> {
        let text = link.text()?;
        if !held.is_empty() {
            let reference = Reference::of(self.options.format, text.as_bytes());
            if held.contains(&reference) {
                return Ok(reference.to_element());
            }
        }
        Ok(text.into_owned())
    }

    pub(super) fn live(&self, now: u32) -> impl Iterator<Item = &Shard> {
        self.links.iter().filter(move |link| link.is_live(now)).map(Link::shard)
    }

    /// Drops the expired shards. The newest stays as long as an older one is live: the version is made of it. Returns
    /// whether any was dropped.
    pub(super) fn drop_expired(&mut self, now: u32) -> bool {
        let before = self.links.len();
        let mut is_needed = self.live(now).next().is_some();
        self.links
            .retain(|link| std::mem::take(&mut is_needed) || link.is_live(now));
        self.links.len() < before
    }

    /// Whether a new shard must begin before the next insertion.
    fn newest_is_due(&self, now: u32) -> bool {
        let Some(newest) = self.links.first() else {
            return true;
        };
        let (shard, begun) = (newest.shard(), newest.begun());
        let expires = shard.expires != 0;
        if shard.filter.spec() != self.spec
            || shard.count >= self.options.capacity
            || expires != self.schedule.has_ttl()
        {
            return true;
        }
        // A newer one was here, and versions must grow.
        if Some(shard.epoch) != self.last_epoch {
            return true;
        }
        // A beginning far ahead comes from options that have changed: what goes in would be kept too long.
        let (now, slice) = (u64::from(now), self.schedule.slice());
        expires && (now > begun.saturating_add(slice) || begun > now.saturating_add(slice))
    }

    fn begin(&mut self, now: u32) -> Result<(), Error> {
        let epoch = match self.last_epoch {
            None => now,
            Some(last) if self.links.is_empty() => last.saturating_add(1).max(now),
            Some(last) => last.saturating_add(1),
        };
        let begun = u64::from(now);
        let filter = BloomFilter::with_spec(self.spec)?;
        let shard = Shard::new(filter, epoch, self.schedule.expires(begun));
        self.links.retain(|link| link.is_live(now));
        if let Some(sealed) = self.links.first_mut() {
            sealed.seal()?;
        }
        self.last_epoch = Some(epoch);
        self.links.insert(0, Link::new(shard, begun));
        self.drop_oldest();
        Ok(())
    }

    fn bits(&self) -> u64 {
        self.shards()
            .map(|shard| u64::from(shard.filter.parameters().bits()))
            .sum()
    }

    /// Drops the oldest full shards while more than the options' number are full or newest, and the oldest of all while
    /// a snapshot could not hold them.
    pub(super) fn drop_oldest(&mut self) {
        loop {
            let counts = |index: usize| {
                let shard = self.links[index].shard();
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

/// Whether any of these shards contains the id.
pub(super) fn contained<'a>(mut shards: impl Iterator<Item = &'a Shard>, id: &[u8]) -> bool {
    let id = HashedId::new(id);
    shards.any(|shard| shard.filter.contains_hashed(id))
}
