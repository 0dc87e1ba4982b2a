//! FNV-1a of 32 bits (Fowler, Noll and Vo 1991).

/// The offset basis of the standard.
pub(super) const OFFSET_BASIS: u32 = 0x811C_9DC5;
const PRIME: u32 = 0x0100_0193;

/// The hash of `bytes`, beginning with `basis`.
pub(super) fn fnv1a_32(bytes: &[u8], basis: u32) -> u32 {
    bytes
        .iter()
        .fold(basis, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME))
}
