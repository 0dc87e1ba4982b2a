//! Hash schemes: from an item id to its hash and its bit positions, natively and as in other libraries.
//!
//! An id's UTF-8 bytes are hashed once, and its k positions are drawn from that hash. The native scheme is in
//! `native.rs`, each of the others in a file that is named after it, and `HashScheme` lists them.

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

/// How the positions of an id are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HashScheme {
    /// XXH64 and [`Positions`].
    Native,
    /// The scheme of another library.
    #[cfg(feature = "formats")]
    Foreign(ForeignScheme),
}

impl HashScheme {
    /// Calls `visit` with each of the id's k positions until it returns false. Returns whether it has visited all.
    /// `seed` is that of XXH64.
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
