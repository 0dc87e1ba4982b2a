//! When shards are sealed and when they expire.

/// The times of a chain whose shards expire. Without a ttl no shard expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RotationSchedule {
    ttl: u64,
    slice: u64,
}

/// The lifetime of a shard. For a united shard `begun` is the earlier of two times, which does not follow from its
/// expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lifetime {
    /// Unix seconds.
    pub(super) begun: u64,
    /// Unix seconds; 0 for never.
    pub(super) expires: u32,
}

impl RotationSchedule {
    /// `shards` is the number of shards that cover the ttl.
    pub(super) fn new(ttl_seconds: u32, shards: usize) -> Self {
        let ttl = u64::from(ttl_seconds);
        RotationSchedule {
            ttl,
            slice: ttl / shards.saturating_sub(1).max(1) as u64,
        }
    }

    /// Whether a shard of this lifetime outlives the ttl of an id that is recorded now.
    pub(super) fn lives_long_enough(self, Lifetime { begun, expires }: Lifetime, now: u32) -> bool {
        match self.ttl {
            0 => expires == 0,
            _ => expires != 0 && u64::from(now) <= begun.saturating_add(self.slice),
        }
    }

    /// The lifetime of a shard in seconds; 0: it never expires.
    pub(super) fn life(self) -> u64 {
        self.ttl + self.slice
    }

    /// The expiry of a shard begun at this time, both in Unix seconds; 0 for never.
    pub(super) fn expires(self, begun: u64) -> u32 {
        if self.ttl == 0 {
            0
        } else {
            u32::try_from(begun.saturating_add(self.life())).unwrap_or(u32::MAX)
        }
    }

    /// When a shard with this expiry was begun.
    pub(super) fn begun(self, expires: u32) -> u64 {
        u64::from(expires).saturating_sub(self.life())
    }

    /// Whether two shards may unite, because their expiries lie within one slice. For a united shard, the expiry that
    /// its earliest part had is compared, too: otherwise each further union would renew its oldest items.
    pub(super) fn allow_union(self, a: Lifetime, b: Lifetime) -> bool {
        if a.expires == 0 || b.expires == 0 {
            return a.expires == b.expires;
        }
        let ends = [a.expires, self.expires(a.begun), b.expires, self.expires(b.begun)];
        let (first, last) = ends
            .iter()
            .fold((u32::MAX, 0), |(first, last), &end| (first.min(end), last.max(end)));
        u64::from(last - first) <= self.slice
    }
}

/// Whether expiry `a` is not before expiry `b`; 0 is never.
pub(super) fn outlasts(a: u32, b: u32) -> bool {
    a == 0 || (b != 0 && a >= b)
}
