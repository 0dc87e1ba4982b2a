//! The server's shards as this device holds them: the snapshot in use.

use crate::bank::FilterBank;
use crate::bloom::Shape;
use crate::hash::{HashedId, hash_id};
use crate::params::{MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, union_rate};
use crate::shard::has_expired;
use crate::wire::{base64, native::Header};
use crate::{BloomFilter, Error};

/// Two hashes and the length of a shard's text: what recognises one that is held already.
type Fingerprint = (u64, u64, usize);

/// One shard of the snapshot in use, where its bits lie, and what is known of it.
#[derive(Debug, Clone, Copy)]
struct HeldShard {
    fingerprint: Fingerprint,
    bank: usize,
    lane: usize,
    epoch: u32,
    expires: u32,
    set_bits: u32,
}

/// A shard of the snapshot that is coming: held already, or decoded now.
enum Coming {
    Held(HeldShard),
    Decoded {
        fingerprint: Fingerprint,
        filter: BloomFilter,
        epoch: u32,
        expires: u32,
    },
}

/// Which shards answer at one time, bank by bank: made once for a batch.
#[derive(Debug, Default)]
pub(crate) struct LiveShards {
    lanes: Vec<(usize, u64)>,
}

/// The shards of the snapshot in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerView {
    banks: Vec<FilterBank>,
    /// Newest first, as shipped.
    shards: Vec<HeldShard>,
}

impl ServerView {
    pub(crate) fn len(&self) -> usize {
        self.shards.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.banks.iter().map(FilterBank::bytes).sum::<usize>() + self.shards.capacity() * size_of::<HeldShard>()
    }

    /// Takes these shards in place of those in use, or, on an error, leaves everything as it is. Returns how many were held already.
    pub(crate) fn replace<S: AsRef<str>>(&mut self, texts: &[S]) -> Result<usize, Error> {
        let coming = self.read(texts)?;
        let reused = coming.iter().filter(|shard| matches!(shard, Coming::Held(_))).count();
        self.take(coming);
        Ok(reused)
    }

    fn read<S: AsRef<str>>(&self, texts: &[S]) -> Result<Vec<Coming>, Error> {
        if texts.len() > MAX_SNAPSHOT_SHARDS {
            return Err(Error::TooLarge("a snapshot has at most 64 shards"));
        }
        let mut left: Vec<&HeldShard> = self.shards.iter().collect();
        let mut held_or_bytes = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            let fingerprint = fingerprint_of(text.as_ref());
            match left.iter().position(|held| held.fingerprint == fingerprint) {
                Some(found) => held_or_bytes.push((fingerprint, Ok(*left.swap_remove(found)))),
                None => {
                    let bytes = base64::decode(text.as_ref()).map_err(|error| error.in_shard(index))?;
                    held_or_bytes.push((fingerprint, Err(bytes)));
                }
            }
        }
        self.decode(&held_or_bytes)
    }

    /// Reads all headers before any payload: nothing is allocated for bits until the sizes are known to be bearable.
    fn decode(&self, shards: &[(Fingerprint, Result<HeldShard, Vec<u8>>)]) -> Result<Vec<Coming>, Error> {
        let mut headers = Vec::with_capacity(shards.len());
        let mut bits = 0;
        for (index, (_, shard)) in shards.iter().enumerate() {
            let header = match shard {
                Ok(held) => {
                    bits += u64::from(self.banks[held.bank].shape().bits());
                    None
                }
                Err(bytes) => {
                    let header = Header::read(bytes).map_err(|error| error.in_shard(index))?;
                    bits += u64::from(header.parameters.bits());
                    Some(header)
                }
            };
            headers.push(header);
        }
        if bits > MAX_SNAPSHOT_BITS {
            return Err(Error::TooLarge("the snapshot's shards together have over 2^26 bits"));
        }
        let coming = shards
            .iter()
            .zip(headers)
            .enumerate()
            .map(|(index, ((fingerprint, held), header))| match (held, header) {
                (Ok(held), _) => Ok(Coming::Held(*held)),
                (Err(_), Some(header)) => {
                    let shard = header.read_payload().map_err(|error| error.in_shard(index))?;
                    Ok(Coming::Decoded {
                        fingerprint: *fingerprint,
                        filter: shard.filter,
                        epoch: shard.epoch,
                        expires: shard.expires,
                    })
                }
                (Err(_), None) => Err(Error::Truncated { length: 0 }.in_shard(index)),
            });
        coming.collect()
    }

    fn take(&mut self, coming: Vec<Coming>) {
        self.drop_lanes_but(&coming);
        self.shards = Vec::with_capacity(coming.len());
        for shard in coming {
            let held = match shard {
                Coming::Held(held) => held,
                Coming::Decoded {
                    fingerprint,
                    filter,
                    epoch,
                    expires,
                } => {
                    let (bank, lane) = self.place(&filter);
                    HeldShard {
                        fingerprint,
                        bank,
                        lane,
                        epoch,
                        expires,
                        set_bits: filter.set_bits(),
                    }
                }
            };
            self.shards.push(held);
        }
        self.drop_empty_banks();
    }

    /// Empties the lanes that no held shard needs any more.
    fn drop_lanes_but(&mut self, coming: &[Coming]) {
        let mut kept = vec![0u64; self.banks.len()];
        for shard in coming {
            if let Coming::Held(held) = shard {
                kept[held.bank] |= 1 << held.lane;
            }
        }
        for (bank, kept) in self.banks.iter_mut().zip(kept) {
            if bank.used() & !kept != 0 {
                bank.remove(!kept);
            }
        }
    }

    fn place(&mut self, filter: &BloomFilter) -> (usize, usize) {
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
        (bank, lane)
    }

    fn drop_empty_banks(&mut self) {
        for bank in (0..self.banks.len()).rev() {
            if self.banks[bank].is_empty() {
                self.banks.remove(bank);
                for shard in self.shards.iter_mut().filter(|shard| shard.bank > bank) {
                    shard.bank -= 1;
                }
            }
        }
    }

    /// What answers at this time of the server's clock, Unix seconds.
    pub(crate) fn live(&self, now: u64) -> LiveShards {
        let mut lanes: Vec<(usize, u64)> = (0..self.banks.len()).map(|bank| (bank, 0)).collect();
        for shard in self.live_shards(now) {
            lanes[shard.bank].1 |= 1 << shard.lane;
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

    /// The newest live shard that contains the id: its place in the snapshot and its epoch.
    pub(crate) fn find(&self, id: HashedId<'_>, now: u64) -> Option<(usize, u32)> {
        let matches: Vec<u64> = self.banks.iter().map(|bank| bank.matches(id)).collect();
        let contains =
            |shard: &HeldShard| matches[shard.bank] >> shard.lane & 1 == 1 && !has_expired(shard.expires, now);
        self.shards
            .iter()
            .position(contains)
            .map(|index| (index, self.shards[index].epoch))
    }

    pub(crate) fn expired(&self, now: u64) -> usize {
        self.len() - self.live_shards(now).count()
    }

    pub(crate) fn false_positive_rate(&self, now: u64) -> f64 {
        union_rate(self.live_shards(now).map(|shard| {
            self.banks[shard.bank]
                .shape()
                .parameters
                .false_positive_rate(shard.set_bits)
        }))
    }

    /// What the newest shard's positions follow.
    pub(crate) fn newest_shape(&self) -> Option<Shape> {
        self.shards.first().map(|shard| self.banks[shard.bank].shape())
    }

    fn live_shards(&self, now: u64) -> impl Iterator<Item = &HeldShard> {
        self.shards.iter().filter(move |shard| !has_expired(shard.expires, now))
    }
}

fn fingerprint_of(text: &str) -> Fingerprint {
    // Two seeds that have nothing in common make 128 bits.
    (
        hash_id(text.as_bytes(), 0x5EE7),
        hash_id(text.as_bytes(), !0x5EE7),
        text.len(),
    )
}
