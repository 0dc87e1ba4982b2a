//! The server's shards as this device holds them: the snapshot in use.
//!
//! A shard is one filter, or, where the server's format lets a filter grow by further ones, several: an id is in the shard if it is in any of
//! them. Each of these filters counts against the limits of a snapshot.

use crate::bank::FilterBank;
use crate::bloom::Shape;
use crate::hash::{HashedId, hash_id};
use crate::params::{MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, union_rate};
use crate::shard::has_expired;
use crate::wire::{self, Decoded};
use crate::{BloomFilter, Error, Format, Shard};

/// Two hashes and the length of a shard's text: what recognises one that is held already.
type Fingerprint = (u64, u64, usize);

/// One shard of the snapshot in use, where its filters lie, and what is known of it.
#[derive(Debug, Clone)]
struct HeldShard {
    fingerprint: Fingerprint,
    filters: Vec<HeldFilter>,
    epoch: u32,
    expires: u32,
}

#[derive(Debug, Clone, Copy)]
struct HeldFilter {
    bank: usize,
    lane: usize,
    set_bits: u32,
}

/// A shard of the snapshot that is coming: held already, or to be read.
enum Coming<T> {
    Held(HeldShard),
    New(Fingerprint, T),
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
}

impl ServerView {
    pub(crate) fn len(&self) -> usize {
        self.shards.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        let filters: usize = self.shards.iter().map(|shard| shard.filters.capacity()).sum();
        self.banks.iter().map(FilterBank::bytes).sum::<usize>()
            + self.shards.capacity() * size_of::<HeldShard>()
            + filters * size_of::<HeldFilter>()
    }

    /// Takes these shards in place of those in use, or, on an error, leaves everything as it is. Returns how many were held already.
    pub(crate) fn replace<S: AsRef<str>>(&mut self, texts: &[S], format: Format) -> Result<usize, Error> {
        let coming = self.read(texts, format)?;
        let reused = coming.iter().filter(|shard| matches!(shard, Coming::Held(_))).count();
        self.format = format;
        self.take(coming);
        Ok(reused)
    }

    /// Learns the sizes of all shards before it reads any: nothing is allocated for bits until they are known to be bearable.
    fn read<S: AsRef<str>>(&self, texts: &[S], format: Format) -> Result<Vec<Coming<Vec<Shard>>>, Error> {
        if texts.len() > MAX_SNAPSHOT_SHARDS {
            return Err(Error::TooLarge("a snapshot has at most 64 shards"));
        }
        let mut left: Vec<&HeldShard> = self.shards.iter().filter(|_| self.format == format).collect();
        let mut sized = Vec::with_capacity(texts.len());
        let (mut bits, mut filters) = (0, 0);
        for (index, text) in texts.iter().enumerate() {
            let fingerprint = fingerprint_of(text.as_ref());
            let coming = match left.iter().position(|held| held.fingerprint == fingerprint) {
                Some(found) => {
                    let held = left.swap_remove(found).clone();
                    let shapes = held.filters.iter().map(|filter| self.shape_of(filter));
                    bits += shapes.map(|shape| u64::from(shape.bits())).sum::<u64>();
                    filters += held.filters.len();
                    Coming::Held(held)
                }
                None => {
                    let decoded = wire::decode(format, text.as_ref()).map_err(|error| error.in_shard(index))?;
                    bits += decoded.bits();
                    filters += decoded.filters.len();
                    Coming::New(fingerprint, decoded)
                }
            };
            sized.push(coming);
        }
        if bits > MAX_SNAPSHOT_BITS {
            return Err(Error::TooLarge("the snapshot's shards together have over 2^26 bits"));
        }
        if filters > MAX_SNAPSHOT_SHARDS {
            return Err(Error::TooLarge("the snapshot's shards together have over 64 filters"));
        }
        read_payloads(sized)
    }

    fn take(&mut self, coming: Vec<Coming<Vec<Shard>>>) {
        self.drop_lanes_but(&coming);
        self.shards = Vec::with_capacity(coming.len());
        for shard in coming {
            let held = match shard {
                Coming::Held(held) => held,
                Coming::New(fingerprint, filters) => HeldShard {
                    fingerprint,
                    epoch: filters.first().map_or(0, |filter| filter.epoch),
                    expires: filters.first().map_or(0, |filter| filter.expires),
                    filters: filters.iter().map(|shard| self.place(&shard.filter)).collect(),
                },
            };
            self.shards.push(held);
        }
        self.drop_empty_banks();
    }

    /// Empties the lanes that no held shard needs any more.
    fn drop_lanes_but(&mut self, coming: &[Coming<Vec<Shard>>]) {
        let mut kept = vec![0u64; self.banks.len()];
        for shard in coming {
            if let Coming::Held(held) = shard {
                for filter in &held.filters {
                    kept[filter.bank] |= 1 << filter.lane;
                }
            }
        }
        for (bank, kept) in self.banks.iter_mut().zip(kept) {
            if bank.used() & !kept != 0 {
                bank.remove(!kept);
            }
        }
    }

    fn place(&mut self, filter: &BloomFilter) -> HeldFilter {
        let fitting = (0..self.banks.len()).find_map(|bank| {
            let fits = self.banks[bank].shape() == filter.shape();
            fits.then(|| self.banks[bank].add_lane())
                .flatten()
                .map(|lane| (bank, lane))
        });
        let (bank, lane) = fitting.unwrap_or_else(|| {
            let mut bank = FilterBank::new(filter.shape());
            let lane = bank.add_lane().unwrap_or_default();
            self.banks.push(bank);
            (self.banks.len() - 1, lane)
        });
        self.banks[bank].load(lane, filter);
        HeldFilter {
            bank,
            lane,
            set_bits: filter.set_bits(),
        }
    }

    fn drop_empty_banks(&mut self) {
        for bank in (0..self.banks.len()).rev() {
            if self.banks[bank].is_empty() {
                self.banks.remove(bank);
                let filters = self.shards.iter_mut().flat_map(|shard| &mut shard.filters);
                for filter in filters.filter(|filter| filter.bank > bank) {
                    filter.bank -= 1;
                }
            }
        }
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
        let holds = |filter: &HeldFilter| matches[filter.bank] >> filter.lane & 1 == 1;
        let contains = |shard: &HeldShard| shard.filters.iter().any(holds) && !has_expired(shard.expires, now);
        self.shards
            .iter()
            .position(contains)
            .map(|index| (index, self.format.is_native().then_some(self.shards[index].epoch)))
    }

    pub(crate) fn expired(&self, now: u64) -> usize {
        self.len() - self.live_shards(now).count()
    }

    pub(crate) fn false_positive_rate(&self, now: u64) -> f64 {
        union_rate(
            self.live_filters(now)
                .map(|filter| self.shape_of(filter).parameters.false_positive_rate(filter.set_bits)),
        )
    }

    /// What the newest shard's positions follow, if it is a native one.
    pub(crate) fn newest_native_shape(&self) -> Option<Shape> {
        let newest = self.shards.first().filter(|_| self.format.is_native())?;
        newest.filters.first().map(|filter| self.shape_of(filter))
    }

    fn shape_of(&self, filter: &HeldFilter) -> Shape {
        self.banks[filter.bank].shape()
    }

    fn live_filters(&self, now: u64) -> impl Iterator<Item = &HeldFilter> {
        self.live_shards(now).flat_map(|shard| &shard.filters)
    }

    fn live_shards(&self, now: u64) -> impl Iterator<Item = &HeldShard> {
        self.shards.iter().filter(move |shard| !has_expired(shard.expires, now))
    }
}

fn read_payloads(sized: Vec<Coming<Decoded>>) -> Result<Vec<Coming<Vec<Shard>>>, Error> {
    let read = |(index, shard): (usize, Coming<Decoded>)| {
        Ok(match shard {
            Coming::Held(held) => Coming::Held(held),
            Coming::New(fingerprint, decoded) => {
                Coming::New(fingerprint, decoded.read().map_err(|error| error.in_shard(index))?)
            }
        })
    };
    sized.into_iter().enumerate().map(read).collect()
}

fn fingerprint_of(text: &str) -> Fingerprint {
    // Two seeds that have nothing in common make 128 bits.
    (
        hash_id(text.as_bytes(), 0x5EE7),
        hash_id(text.as_bytes(), !0x5EE7),
        text.len(),
    )
}
