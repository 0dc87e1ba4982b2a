//! From an item id to its hash and its bit positions: the native ones, and those of other libraries.
//!
//! An id's UTF-8 bytes are hashed once; its k positions are drawn from that hash. How they are drawn is the hash scheme
//! of a filter: the native one is in `native.rs`, each of the others in a file that is named after it. `mod.rs` alone knows which
//! schemes there are.

mod native;

#[cfg(feature = "formats")]
mod bits_and_blooms;
#[cfg(feature = "formats")]
mod fnv;
#[cfg(feature = "formats")]
mod foreign;
#[cfg(feature = "formats")]
mod go_bloomfilter;
#[cfg(feature = "formats")]
mod guava;
#[cfg(feature = "formats")]
mod murmur3;
#[cfg(feature = "formats")]
mod murmur64a;
#[cfg(feature = "formats")]
mod redisbloom;

#[cfg(feature = "formats")]
pub(crate) use foreign::ForeignScheme;
pub(crate) use native::HashedId;
pub use native::{Positions, hash_id};

use crate::params::Parameters;

/// How a filter gets an id's positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HashScheme {
    /// XXH64 and [`Positions`].
    Native,
    /// That of another library.
    #[cfg(feature = "formats")]
    Foreign(ForeignScheme),
}

impl HashScheme {
    /// Calls `visit` with each of the id's k positions until it returns false. Returns whether it never did. `seed` is
    /// that of XXH64.
    #[inline]
    pub(crate) fn visit_positions(
        self,
        id: HashedId<'_>,
        seed: u64,
        parameters: Parameters,
        visit: impl FnMut(u32) -> bool,
    ) -> bool {
        let hashes = parameters.hashes() as usize;
        match self {
            HashScheme::Native => Positions::new(id.seeded(seed), parameters.bits())
                .take(hashes)
                .all(visit),
            #[cfg(feature = "formats")]
            HashScheme::Foreign(scheme) => scheme.positions(id.bytes(), parameters.bits()).take(hashes).all(visit),
        }
    }
}
