//! The chain: recording, rotation, and snapshots.

use super::link::Link;
use super::options::ChainOptions;
use super::rotation::RotationSchedule;
use super::seconds::{rounded_up, shard_seconds};
use super::snapshot::{ChainSnapshot, version_of};
use super::unseen::{MAX_UNSEEN_ID_BYTES, Unseen};
use crate::bloom::{BloomFilter, FilterSpec};
use crate::error::Error;
use crate::hash::HashedId;
use crate::id_list::IdList;
use crate::impression::Impression;
use crate::params::{MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, MAX_SNAPSHOT_UNSEEN};
use crate::shard::Shard;
use crate::time::Time;
use crate::wire::{self, Format, Reference};

/// A stored shard that cannot be read, and is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The index in the stored list.
    pub index: usize,
    /// Why.
    pub error: Error,
}

/// A user's chain of shards. The time is an argument: one beyond the format's 32 bits of seconds is refused with
/// [`Error::BadOption`].
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
    /// The spec of new shards.
    spec: FilterSpec,
    pub(super) links: Vec<Link>,
    pub(super) last_epoch: Option<u32>,
    pub(super) unseen: Unseen,
    /// When the history was deleted, Unix seconds.
    pub(super) forget_before: Option<u32>,
    /// Unknown fields stored with the shards, which are stored again unchanged.
    pub(super) other_fields: Vec<(String, String)>,
}

impl ShardChain {
    /// An empty chain.
    ///
    /// # Errors
    /// [`Error::BadOption`] or [`Error::BadParameters`] for invalid options; [`Error::TooLarge`] if the chain could
    /// exceed the limits of a snapshot.
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

    /// Restores a chain from stored shards, as strings, newest first. Returns the unreadable ones, too. A string that
    /// may be valid in a newer version or another library is stored again unchanged, as a full shard, until it is the
    /// oldest; a damaged one is dropped.
    ///
    /// The newest shard is continued regardless of its parameters, up to the capacity that they are made for, if it
    /// expires late enough for the options' ttl.
    ///
    /// The count of a shard whose format stores none, such as Guava's, is its estimated number of items, plus the ids
    /// inserted later.
    ///
    /// # Errors
    /// As [`ShardChain::new`], for the options; [`Error::OutOfMemory`].
    pub fn from_shards(shards: &(impl IdList + ?Sized), options: ChainOptions) -> Result<(Self, Vec<Rejected>), Error> {
        let mut chain = ShardChain::new(options)?;
        let mut rejected = Vec::new();
        for index in 0..shards.len() {
            // A format without epochs: the order stands for them.
            let epoch = (!options.format.is_native()).then_some((shards.len() - index) as u32);
            let stored = shards.get(index);
            match chain.read_stored(stored, epoch) {
                Ok(link) => chain.links.push(link),
                Err(error) => {
                    if chain.links.len() < MAX_SNAPSHOT_SHARDS && may_be_valid(options.format, stored, &error) {
                        chain.links.push(Link::unreadable(stored)?);
                    }
                    rejected.push(Rejected { index, error });
                }
            }
        }
        let mut below = 0;
        for link in chain.links.iter_mut().rev() {
            if link.is_unreadable() {
                link.set_epoch(below);
            }
            below = link.shard().epoch;
        }
        // Unreadable newest shards had the next epochs: versions must not repeat.
        let unread_newest = (0..)
            .zip(&rejected)
            .take_while(|(index, rejected)| *index == rejected.index)
            .count();
        let last_read = chain.shards().map(|shard| shard.epoch).max();
        chain.last_epoch = last_read.map(|last| last.saturating_add(unread_newest as u32));
        Ok((chain, rejected))
    }

    /// Restores the data stored with the shards: the unseen ids, and the deletion of the history.
    ///
    /// # Errors
    /// [`Error::BadSnapshot`] for more than 1,000 unseen ids, [`Error::BadOption`] for a deletion beyond 2^32 seconds.
    /// An error changes nothing.
    pub fn restore(&mut self, unseen: &[Impression], forget_before: Option<Time>) -> Result<(), Error> {
        if unseen.len() > MAX_SNAPSHOT_UNSEEN {
            return Err(Error::BadSnapshot("unseen has more than 1,000 entries"));
        }
        let forget_before = forget_before.map(rounded_up).transpose()?;
        for Impression { id, at } in unseen {
            self.unseen.insert(id.as_bytes(), *at, false);
        }
        self.drop_unneeded_unseen();
        self.forget_before = self.forget_before.max(forget_before);
        Ok(())
    }

    fn read_stored(&self, stored: &[u8], epoch: Option<u32>) -> Result<Link, Error> {
        if self.links.len() == MAX_SNAPSHOT_SHARDS {
            return Err(Error::TooLarge("a chain has at most 64 shards"));
        }
        // A store has no references: they cannot be resolved here.
        if Reference::from_element(stored).is_some() {
            return Err(Error::BadBase64);
        }
        let decoded = wire::decode(self.options.format, stored)?;
        if self.bits() + decoded.bits() > MAX_SNAPSHOT_BITS {
            return Err(Error::TooLarge("the chain's shards together have over 2^26 bits"));
        }
        // The formats in which a chain is stored have one filter in each string.
        let filter = decoded.filters().first().ok_or(Error::BadMagic)?;
        let mut shard = decoded.read_shard(filter)?;
        shard.epoch = epoch.unwrap_or(shard.epoch);
        let begun = self.schedule.begun(shard.expires);
        Link::stored(shard, stored, begun)
    }

    /// The options.
    pub fn options(&self) -> &ChainOptions {
        &self.options
    }

    /// The seconds until the last of the shards expires: the chain's expiry in a store. 0: no expiry.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds.
    pub fn life_seconds(&self, now: Time) -> Result<u64, Error> {
        let now = shard_seconds(now)?;
        let live = self.links.iter().filter(|link| link.is_live(now));
        let expiries: Vec<u32> = live.map(|link| link.shard().expires).collect();
        Ok(match expiries.iter().max() {
            // A deletion is stored for as long as an impression that was recorded at the same time.
            None => self.schedule.life(),
            Some(_) if expiries.contains(&0) => 0,
            Some(&last) => u64::from(last - now),
        })
    }

    /// The shards, newest first, the expired ones included until the next `record`.
    pub fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.links.iter().filter(|link| !link.is_unreadable()).map(Link::shard)
    }

    /// Inserts each id that the newest shard does not contain, and removes all ids from the unseen ones. Returns how
    /// many ids no live shard contained.
    ///
    /// ```
    /// use seenguard::{ChainOptions, ShardChain, Time};
    /// let options = ChainOptions { capacity: 2, shards: 2, ..ChainOptions::default() };
    /// let mut chain = ShardChain::new(options)?;
    /// let now = Time::from_unix_seconds(1_764_000_000);
    /// assert_eq!(chain.record(&["a", "b"], now)?, 2);
    ///
    /// // The newest shard is full, so another one is begun. "a" is inserted again, and so remembered for longer.
    /// assert_eq!(chain.record(&["a", "c"], now)?, 1);
    /// assert_eq!(chain.shards().count(), 2);
    ///
    /// // With a third shard the oldest is dropped, and with it "b".
    /// chain.record(&["d"], now)?;
    /// assert_eq!(chain.filter(&["a", "b", "c", "d"], None, now)?, [1]);
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds; [`Error::OutOfMemory`].
    pub fn record(&mut self, ids: &(impl IdList + ?Sized), now: Time) -> Result<usize, Error> {
        let each = (0..ids.len()).map(|index| (ids.get(index), now));
        self.record_each(each, shard_seconds(now)?)
    }

    /// [`ShardChain::record`] of ids with individual times.
    pub(super) fn record_each<'a>(
        &mut self,
        ids: impl Iterator<Item = (&'a [u8], Time)>,
        now: u32,
    ) -> Result<usize, Error> {
        let mut may_have_dropped = self.drop_expired(now);
        let mut unknown = 0;
        for (id, at) in ids {
            let id = HashedId::new(id);
            unknown += usize::from(!self.live(now).any(|shard| shard.filter.contains_hashed(id)));
            if self.newest_is_due(now) {
                self.begin(now)?;
                may_have_dropped = true;
            }
            if let Some(newest) = self.links.first_mut() {
                newest.insert(id);
            }
            self.unseen.see(id.bytes(), at);
        }
        // Only a dropped shard can make unseen ids needless.
        if may_have_dropped {
            self.drop_unneeded_unseen();
        }
        Ok(unknown)
    }

    /// Makes ids unseen: they are fresh until they are recorded at a later time. At most the newest 1,000 ids and 64 KB
    /// are stored, and no id that no live shard contains, since it is fresh anyway.
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
    /// [`Error::BadOption`] for a time beyond 2^32 seconds; [`Error::BadReport`] for an id of over 256 bytes, which
    /// cannot become unseen. An error changes nothing.
    pub fn unsee(&mut self, ids: &(impl IdList + ?Sized), now: Time) -> Result<(), Error> {
        if (0..ids.len()).any(|index| ids.get(index).len() > MAX_UNSEEN_ID_BYTES) {
            return Err(Error::BadReport("an id of over 256 bytes cannot become unseen"));
        }
        self.drop_expired(shard_seconds(now)?);
        for index in 0..ids.len() {
            self.unseen.insert(ids.get(index), now, false);
        }
        self.drop_unneeded_unseen();
        Ok(())
    }

    /// Deletes the history: drops all shards and unseen ids, and sets `forget_before` of snapshots to this time,
    /// rounded up to a second. `forget_before` never decreases.
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

    /// The time of the earliest impression that counts.
    pub(super) fn counts_from(&self) -> Time {
        Time::from_unix_seconds(self.forget_before.unwrap_or(0).into())
    }

    /// Drops unseen ids that no shard contains, and all but the newest of the others.
    pub(super) fn drop_unneeded_unseen(&mut self) {
        let links = &self.links;
        self.unseen
            .retain_newest(|id| contained(links.iter().map(Link::shard), id));
    }

    /// The snapshot to send: the state as of now, with the version `epoch · 2^21 + min(count, 2^21 − 1)` of the newest
    /// shard. `held` is the value of the device's `Seen-Held`: these shards become references; unknown names are
    /// ignored. A stored string that cannot be read is left out unless the device has it. An unchanged shard is sent as
    /// it is stored.
    ///
    /// To store the chain, use [`ShardChain::stored`].
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds.
    pub fn snapshot(&self, now: Time, held: Option<&str>) -> Result<ChainSnapshot, Error> {
        let now = shard_seconds(now)?;
        let held = held.map(Reference::split).unwrap_or_default();
        let live = self.links.iter().filter(|link| link.is_live(now));
        let shards: Result<Vec<String>, Error> =
            live.filter_map(|link| self.shipped(link, &held).transpose()).collect();
        // The newest shard gives the version even if it expires before an older one, as after the clock was set back.
        let newest = self.live(now).next().and(self.shards().next());
        let has_versions = self.options.format.is_native();
        Ok(ChainSnapshot {
            version: has_versions.then(|| newest.map_or(0, version_of)),
            shards: shards?,
            format: self.options.format.of_any_size(),
            now: Time::from_unix_seconds(now.into()),
            unseen: self.unseen.newest_first(false, |id| contained(self.live(now), id)),
            forget_before: self.forget_before.map(|before| Time::from_unix_seconds(before.into())),
        })
    }

    /// A shard as a string, or its reference if the device has it; `None` for an unreadable one that the device lacks.
    fn shipped(&self, link: &Link, held: &[Reference]) -> Result<Option<String>, Error> {
        let encoded = link.encoded()?;
        if !held.is_empty() {
            let reference = Reference::of(self.options.format, encoded.as_bytes());
            if held.contains(&reference) {
                return Ok(Some(reference.to_element()));
            }
        }
        Ok((!link.is_unreadable()).then(|| encoded.into_owned()))
    }

    pub(super) fn live(&self, now: u32) -> impl Iterator<Item = &Shard> {
        let live = move |link: &&Link| link.is_live(now) && !link.is_unreadable();
        self.links.iter().filter(live).map(Link::shard)
    }

    /// Drops the expired shards. The newest stays while an older one is live, because it gives the version. Returns
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
        // With another epoch there was a newer shard, and versions must grow.
        let can_continue = |newest: &Link| self.has_room(newest, now) && Some(newest.shard().epoch) == self.last_epoch;
        !self.links.first().is_some_and(can_continue)
    }

    /// Whether ids that are recorded now may be inserted into this shard.
    fn has_room(&self, link: &Link, now: u32) -> bool {
        !self.is_full(link) && self.schedule.lives_long_enough(link.lifetime(), now)
    }

    fn is_full(&self, link: &Link) -> bool {
        link.shard().count >= self.capacity_of(link)
    }

    /// The capacity of a shard: with other parameters than the options', the number of items that set half of its bits.
    fn capacity_of(&self, link: &Link) -> u32 {
        let parameters = link.shard().filter.parameters();
        match link.is_unreadable() || parameters == self.spec.parameters {
            true => self.options.capacity,
            false => parameters.capacity(),
        }
    }

    /// Begins a shard. Instances with and without a ttl seal each other's shards, so each continues its own shard,
    /// which becomes the newest: otherwise new shards would soon evict all others.
    fn begin(&mut self, now: u32) -> Result<(), Error> {
        let next = self.last_epoch.map_or(now, |last| last.saturating_add(1));
        self.links.retain(|link| link.is_live(now));
        // The epoch of an unreadable shard is unknown, but below the time.
        let is_above_unread = self.links.first().is_none_or(Link::is_unreadable);
        let epoch = if is_above_unread { next.max(now) } else { next };
        // The other formats have no ttl, and only an estimated count.
        let has_room = |link: &Link| self.options.format.is_native() && self.has_room(link, now);
        let with_room = self.links.iter().position(|link| !is_above_unread && has_room(link));
        if let Some(sealed) = self.links.first_mut() {
            sealed.seal()?;
        }
        self.last_epoch = Some(epoch);
        if let Some(index) = with_room {
            let link = self.links.remove(index);
            self.links.insert(0, link.with_epoch(epoch));
            return Ok(());
        }
        let begun = u64::from(now);
        let shard = Shard::new(BloomFilter::with_spec(self.spec)?, epoch, self.schedule.expires(begun));
        self.links.insert(0, Link::new(shard, begun));
        self.drop_oldest_full();
        self.drop_beyond_snapshot_limits();
        Ok(())
    }

    fn bits(&self) -> u64 {
        self.shards()
            .map(|shard| u64::from(shard.filter.parameters().bits()))
            .sum()
    }

    /// Drops the oldest full shard if more shards than the options' number are full or newest, and the shards between
    /// these two have as many items as the options promise: an instance with other options may have begun smaller ones.
    /// Returns whether it dropped one.
    pub(super) fn drop_oldest_full(&mut self) -> bool {
        // Without an expiry only the number of shards limits the chain.
        let counts = |&index: &usize| {
            let link = &self.links[index];
            index == 0 || self.is_full(link) || link.shard().expires == 0
        };
        let counting: Vec<usize> = (0..self.links.len()).filter(counts).collect();
        let &[_, ref between @ .., oldest] = counting.as_slice() else {
            return false;
        };
        // Shards with and without an expiry are used alternately: the one used last is newer, and also contains earlier
        // ids.
        let is_own_kind = |link: &Link| (link.shard().expires != 0) == (self.options.ttl_seconds > 0);
        let items = |&index: &usize| match &self.links[index] {
            link if link.is_unreadable() || !link.shard().filter.is_native() => self.capacity_of(link),
            link if is_own_kind(link) => link.shard().count.min(self.capacity_of(link)),
            _ => 0,
        };
        let items_between: u64 = between.iter().map(|index| u64::from(items(index))).sum();
        let promised_shards = self.options.shards as u64 - u64::from(is_own_kind(&self.links[oldest]));
        let promised = promised_shards * u64::from(self.options.capacity);
        let is_unneeded = counting.len() > self.options.shards && items_between >= promised;
        if is_unneeded {
            self.links.remove(oldest);
        }
        is_unneeded
    }

    /// Drops the oldest shards while the chain exceeds the limits of a snapshot.
    pub(super) fn drop_beyond_snapshot_limits(&mut self) {
        while self.links.len() > MAX_SNAPSHOT_SHARDS || self.bits() > MAX_SNAPSHOT_BITS {
            self.links.pop();
        }
    }
}

/// Whether an unreadable stored string may be valid in a newer version or another library: not if it begins as the
/// chain's own shards do and is damaged, nor if a client has decoded it from bytes.
fn may_be_valid(format: Format, stored: &[u8], error: &Error) -> bool {
    use Error::{BadEncoding, BadMagic, BadParameters, OutOfMemory};
    let is_whole = matches!(error, BadMagic | BadEncoding | BadParameters(_) | OutOfMemory);
    let is_foreign = format.is_native() && !stored.starts_with(wire::native::BASE64_BEGINNING);
    let is_element = stored.is_ascii() && !stored.is_empty() && Reference::from_element(stored).is_none();
    is_element && (is_whole || is_foreign)
}

/// Whether any of these shards contains the id.
pub(super) fn contained<'a>(mut shards: impl Iterator<Item = &'a Shard>, id: &[u8]) -> bool {
    let id = HashedId::new(id);
    shards.any(|shard| shard.filter.contains_hashed(id))
}
