//! When shards are sealed and when they expire.

/// The times of a chain whose shards expire. Without a ttl none does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RotationSchedule {
    ttl: u64,
    slice: u64,
}

/// From when to when a shard is in use. Of a united shard `begun` is the earlier beginning, which its expiry does not
/// tell.
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

    /// Whether a shard that was begun and expires then lives as long as what is recorded now must.
    pub(super) fn lives_long_enough(self, Lifetime { begun, expires }: Lifetime, now: u32) -> bool {
        match self.ttl {
            0 => expires == 0,
            _ => expires != 0 && u64::from(now) <= begun.saturating_add(self.slice),
        }
    }

    /// Seconds for which a shard answers; 0 for ever.
    pub(super) fn life(self) -> u64 {
        self.ttl + self.slice
    }

    /// When a shard begun then expires; 0 for never.
    pub(super) fn expires(self, begun: u64) -> u32 {
        if self.ttl == 0 {
            0
        } else {
            u32::try_from(begun.saturating_add(self.life())).unwrap_or(u32::MAX)
        }
    }

    /// When a shard that expires then was begun.
    pub(super) fn begun(self, expires: u32) -> u64 {
        u64::from(expires).saturating_sub(self.life())
    }

    /// Whether two shards may unite: their expiries lie within one slice. A united shard counts with both ends of what
    /// it holds, else each further union would renew the earliest of it.
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

/// Whether a shard with the expiry `a` answers as long as one with the expiry `b`; 0 is never.
pub(super) fn outlasts(a: u32, b: u32) -> bool {
    a == 0 || (b != 0 && a >= b)
}
