//! The server's shards as this device holds them: the snapshot in use.
//!
//! A shard is one filter, or, where the server's format lets a filter grow by further ones, several: an id is in the shard if it is in any of
//! them. Each of these filters counts against the limits of a snapshot.

use crate::bank::FilterBank;
use crate::bloom::Shape;
use crate::hash::{HashedId, hash_id};
use crate::ids::IdList;
use crate::params::{MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, union_rate};
use crate::shard::has_expired;
use crate::wire::{self, Decoded};
use crate::{BloomFilter, Error, Format};

/// Two hashes and the length of a shard's text: what recognises one that is held already.
type Fingerprint = (u64, u64, usize);

/// One shard of the snapshot in use.
#[derive(Debug, Clone, Copy)]
struct HeldShard {
    fingerprint: Fingerprint,
    epoch: u32,
    expires: u32,
}

/// One filter: whose it is, and where its bits lie.
#[derive(Debug, Clone, Copy)]
struct HeldFilter {
    shard: usize,
    bank: usize,
    lane: usize,
}

/// A shard of the snapshot that is coming.
struct Coming {
    shard: HeldShard,
    /// Its place in the snapshot in use, if it is held already.
    held: Option<usize>,
    /// Else what it is read from, and then its filters.
    decoded: Decoded,
    filters: Vec<BloomFilter>,
}

/// Which filters answer at one time, bank by bank: made once for a batch.
#[derive(Debug, Default)]
pub(crate) struct LiveShards {
    lanes: Vec<(usize, u64)>,
}

/// The shards of the snapshot in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerView {
    format: Format,
    banks: Vec<FilterBank>,
    /// Newest first, as shipped.
    shards: Vec<HeldShard>,
    /// In the order of their shards.
    filters: Vec<HeldFilter>,
}

impl ServerView {
    pub(crate) fn len(&self) -> usize {
        self.shards.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.banks.iter().map(FilterBank::bytes).sum::<usize>()
            + self.shards.capacity() * size_of::<HeldShard>()
            + self.filters.capacity() * size_of::<HeldFilter>()
    }

    /// Takes these shards in place of those in use, or, on an error, leaves everything as it is. Returns how many were held already.
    pub(crate) fn replace<L: IdList + ?Sized>(&mut self, texts: &L, format: Format) -> Result<usize, Error> {
        let coming = self.read(texts, format)?;
        let reused = coming.iter().filter(|shard| shard.held.is_some()).count();
        self.format = format;
        self.take(&coming);
        Ok(reused)
    }

    /// Learns the sizes of all shards before it reads any: nothing is allocated for bits until they are known to be bearable.
    fn read<L: IdList + ?Sized>(&self, texts: &L, format: Format) -> Result<Vec<Coming>, Error> {
        if !format.is_known() {
            return Err(Error::BadSnapshot(wire::NOT_KNOWN));
        }
        if texts.count() > MAX_SNAPSHOT_SHARDS {
            return Err(Error::TooLarge("a snapshot has at most 64 shards"));
        }
        let mut coming = Vec::with_capacity(texts.count());
        let (mut bits, mut filters) = (0, 0);
        for index in 0..texts.count() {
            let shard = self.size(texts.id(index), format, &coming);
            let shard = shard.map_err(|error| error.in_shard(index))?;
            for filter in self.filters_of(shard.held) {
                bits += u64::from(self.shape_of(filter).bits());
                filters += 1;
            }
            bits += shard.decoded.bits();
            filters += shard.decoded.filters.len();
            coming.push(shard);
        }
        if bits > MAX_SNAPSHOT_BITS {
            return Err(Error::TooLarge("the snapshot's shards together have over 2^26 bits"));
        }
        if filters > MAX_SNAPSHOT_SHARDS {
            return Err(Error::TooLarge("the snapshot's shards together have over 64 filters"));
        }
        for (index, shard) in coming.iter_mut().enumerate() {
            for unread in &shard.decoded.filters {
                let filter = shard.decoded.filter(unread);
                shard.filters.push(filter.map_err(|error| error.in_shard(index))?);
            }
        }
        Ok(coming)
    }

    /// Recognises a shard that is held and that none of those before stands for, or learns the sizes of a new one.
    fn size(&self, text: &[u8], format: Format, before: &[Coming]) -> Result<Coming, Error> {
        let fingerprint = fingerprint_of(text);
        let is_left = |&held: &usize| {
            self.shards[held].fingerprint == fingerprint && before.iter().all(|coming| coming.held != Some(held))
        };
        let held = (0..self.shards.len()).filter(|_| self.format == format).find(is_left);
        let (decoded, shard) = match held {
            Some(held) => (Decoded::default(), self.shards[held]),
            None => {
                let decoded = wire::decode(format, text)?;
                let shard = HeldShard {
                    fingerprint,
                    epoch: decoded.epoch,
                    expires: decoded.expires,
                };
                (decoded, shard)
            }
        };
        Ok(Coming {
            shard,
            held,
            decoded,
            filters: Vec::new(),
        })
    }

    fn filters_of(&self, shard: Option<usize>) -> impl Iterator<Item = &HeldFilter> {
        self.filters.iter().filter(move |filter| Some(filter.shard) == shard)
    }

    fn take(&mut self, coming: &[Coming]) {
        self.drop_lanes_but(coming);
        let mut filters = Vec::new();
        for (shard, coming) in coming.iter().enumerate() {
            filters.extend(self.filters_of(coming.held).map(|&held| HeldFilter { shard, ..held }));
            filters.extend(coming.filters.iter().map(|filter| self.place(shard, filter)));
        }
        self.filters = filters;
        self.shards = coming.iter().map(|coming| coming.shard).collect();
    }

    /// Empties the lanes that no held shard needs any more. What is left of a bank without any takes no memory, and the next one goes there.
    fn drop_lanes_but(&mut self, coming: &[Coming]) {
        for bank in 0..self.banks.len() {
            let mut kept = 0;
            for coming in coming {
                for filter in self.filters_of(coming.held).filter(|filter| filter.bank == bank) {
                    kept |= 1 << filter.lane;
                }
            }
            if self.banks[bank].used() & !kept != 0 {
                self.banks[bank].remove(!kept);
            }
        }
    }

    fn place(&mut self, shard: usize, filter: &BloomFilter) -> HeldFilter {
        let shape = filter.shape();
        let with_room = |bank: &FilterBank| bank.shape() == shape && bank.used() != u64::MAX;
        let place = self.banks.iter().position(with_room);
        let bank = place.unwrap_or_else(|| match self.banks.iter().position(FilterBank::is_empty) {
            Some(empty) => {
                self.banks[empty] = FilterBank::new(shape);
                empty
            }
            None => {
                self.banks.push(FilterBank::new(shape));
                self.banks.len() - 1
            }
        });
        let lane = self.banks[bank].add_lane().unwrap_or_default();
        self.banks[bank].load(lane, filter);
        HeldFilter { shard, bank, lane }
    }

    /// What answers at this time of the server's clock, Unix seconds.
    pub(crate) fn live(&self, now: u64) -> LiveShards {
        let mut lanes: Vec<(usize, u64)> = (0..self.banks.len()).map(|bank| (bank, 0)).collect();
        for filter in self.live_filters(now) {
            lanes[filter.bank].1 |= 1 << filter.lane;
        }
        lanes.retain(|&(_, lanes)| lanes != 0);
        LiveShards { lanes }
    }

    #[inline]
    pub(crate) fn contains(&self, id: HashedId<'_>, live: &LiveShards) -> bool {
        live.lanes
            .iter()
            .any(|&(bank, lanes)| self.banks[bank].matches(id) & lanes != 0)
    }

    /// The newest live shard that contains the id: its place in the snapshot and, in the native format, its epoch.
    pub(crate) fn find(&self, id: HashedId<'_>, now: u64) -> Option<(usize, Option<u32>)> {
        let matches: Vec<u64> = self.banks.iter().map(|bank| bank.matches(id)).collect();
        let found = self
            .live_filters(now)
            .find(|filter| matches[filter.bank] >> filter.lane & 1 == 1)?;
        let epoch = self.shards[found.shard].epoch;
        Some((found.shard, self.format.is_native().then_some(epoch)))
    }

    pub(crate) fn expired(&self, now: u64) -> usize {
        let has_expired = |shard: &&HeldShard| has_expired(shard.expires, now);
        self.shards.iter().filter(has_expired).count()
    }

    pub(crate) fn false_positive_rate(&self, now: u64) -> f64 {
        union_rate(self.live_filters(now).map(|filter| {
            let set_bits = self.banks[filter.bank].set_bits(filter.lane);
            self.shape_of(filter).parameters.false_positive_rate(set_bits)
        }))
    }

    /// What the newest shard's positions follow, if it is a native one.
    pub(crate) fn newest_native_shape(&self) -> Option<Shape> {
        let newest = self.filters.first().filter(|_| self.format.is_native());
        newest.map(|filter| self.shape_of(filter))
    }

    fn shape_of(&self, filter: &HeldFilter) -> Shape {
        self.banks[filter.bank].shape()
    }

    fn live_filters(&self, now: u64) -> impl Iterator<Item = &HeldFilter> {
        self.filters
            .iter()
            .filter(move |filter| !has_expired(self.shards[filter.shard].expires, now))
    }
}

fn fingerprint_of(text: &[u8]) -> Fingerprint {
    // Two seeds that have nothing in common make 128 bits.
    (hash_id(text, 0x5EE7), hash_id(text, !0x5EE7), text.len())
}
