//! One Bloom filter: m bits, of which an item sets k.
//!
//! A query tests the item's k bits: a 0 proves that the item was never inserted; all 1 means that it was, or, at the
//! false positive rate, that other items have set them.

use crate::error::Error;
use crate::hash::{HashScheme, HashedId};
use crate::params::Parameters;

/// The parameters that determine the bits of an id. Filters of one spec can be united, and tested together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FilterSpec {
    pub(crate) parameters: Parameters,
    /// The seed of XXH64 in the native scheme; 0 in every other.
    pub(crate) seed: u64,
    pub(crate) scheme: HashScheme,
}

impl FilterSpec {
    /// The spec of a chain with the default options.
    pub(crate) const DEFAULT: FilterSpec = FilterSpec::native(Parameters::DEFAULT, 0);

    pub(crate) const fn native(parameters: Parameters, seed: u64) -> Self {
        FilterSpec {
            parameters,
            seed,
            scheme: HashScheme::Native,
        }
    }

    pub(crate) fn bits(self) -> u32 {
        self.parameters.bits()
    }

    pub(crate) fn is_native(self) -> bool {
        self.scheme == HashScheme::Native
    }

    /// Calls `visit` with each of the id's positions until it returns false. Returns whether it has visited all.
    #[inline]
    pub(crate) fn visit_positions(self, id: HashedId<'_>, visit: impl FnMut(u32) -> bool) -> bool {
        self.scheme.visit_positions(id, self.seed, self.parameters, visit)
    }
}

/// A Bloom filter over item ids.
///
/// ```
/// use seenguard::{BloomFilter, Parameters};
/// let mut filter = BloomFilter::new(Parameters::for_capacity(1000, 0.001)?, 0);
/// assert!(filter.insert("article-17"));
/// assert!(filter.contains("article-17"));
/// assert!(!filter.contains("article-18"));
/// # Ok::<(), seenguard::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BloomFilter {
    spec: FilterSpec,
    words: Vec<u64>,
}

impl BloomFilter {
    /// An empty filter. `seed`: the seed of XXH64, the same in a whole deployment.
    pub fn new(parameters: Parameters, seed: u64) -> Self {
        let spec = FilterSpec::native(parameters, seed);
        BloomFilter {
            spec,
            words: vec![0; word_count(spec)],
        }
    }

    /// An empty filter with an untrusted size.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn with_spec(spec: FilterSpec) -> Result<Self, Error> {
        let mut words = Vec::new();
        words.try_reserve_exact(word_count(spec))?;
        words.resize(word_count(spec), 0);
        Ok(BloomFilter { spec, words })
    }

    pub(crate) fn spec(&self) -> FilterSpec {
        self.spec
    }

    pub(crate) fn is_native(&self) -> bool {
        self.spec.is_native()
    }

    /// m and k.
    pub fn parameters(&self) -> Parameters {
        self.spec.parameters
    }

    /// The seed of XXH64; 0 for a filter of another format.
    pub fn seed(&self) -> u64 {
        self.spec.seed
    }

    /// Inserts an id, as UTF-8 bytes. Returns whether the filter did not contain it before.
    pub fn insert(&mut self, id: impl AsRef<[u8]>) -> bool {
        self.insert_hashed(HashedId::new(id.as_ref()))
    }

    pub(crate) fn insert_hashed(&mut self, id: HashedId<'_>) -> bool {
        let mut is_new = false;
        let words = &mut self.words;
        self.spec.visit_positions(id, |position| {
            let (word, bit) = (&mut words[(position / 64) as usize], 1 << (position % 64));
            is_new |= *word & bit == 0;
            *word |= bit;
            true
        });
        is_new
    }

    /// Whether the id was inserted; wrongly true at [`BloomFilter::false_positive_rate`], never wrongly false.
    pub fn contains(&self, id: impl AsRef<[u8]>) -> bool {
        self.contains_hashed(HashedId::new(id.as_ref()))
    }

    #[inline]
    pub(crate) fn contains_hashed(&self, id: HashedId<'_>) -> bool {
        self.spec.visit_positions(id, |position| self.is_set(position))
    }

    /// Inserts all that `other` contains.
    ///
    /// # Errors
    /// [`Error::BadParameters`] if the two differ in bits, hashes, seed or format: equal bits would then stand for
    /// different items.
    pub fn union(&mut self, other: &BloomFilter) -> Result<(), Error> {
        if self.spec != other.spec {
            return Err(Error::BadParameters(
                "only filters of one format with equal bits, hashes and seed unite",
            ));
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
        Ok(())
    }

    /// Whether the two have one spec and all bits of `other` are set here.
    pub(crate) fn contains_all_of(&self, other: &BloomFilter) -> bool {
        self.spec == other.spec
            && self
                .words
                .iter()
                .zip(&other.words)
                .all(|(word, other)| other & !word == 0)
    }

    /// The number of bits that are set.
    pub fn set_bits(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// The share of bits that are set, 0 to 1.
    pub fn fill(&self) -> f64 {
        self.parameters().fill(self.set_bits())
    }

    /// The estimated number of distinct ids in it; see [`Parameters::estimate_items`].
    pub fn estimate_items(&self) -> f64 {
        self.parameters().estimate_items(self.set_bits())
    }

    /// The current false positive rate.
    pub fn false_positive_rate(&self) -> f64 {
        self.parameters().false_positive_rate(self.set_bits())
    }

    #[inline]
    fn is_set(&self, position: u32) -> bool {
        self.words[(position / 64) as usize] >> (position % 64) & 1 == 1
    }

    #[inline]
    pub(crate) fn set(&mut self, position: u32) {
        self.words[(position / 64) as usize] |= 1 << (position % 64);
    }

    /// The bits in words of 64, bit i at bit `i mod 64` of word `i div 64`; bits from m on are 0.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// The set positions in ascending order.
    pub(crate) fn set_positions(&self) -> impl Iterator<Item = u32> + '_ {
        (0..)
            .zip(&self.words)
            .flat_map(|(index, &word): (u32, _)| SetBits(word).map(move |bit| 64 * index + bit))
    }
}

fn word_count(spec: FilterSpec) -> usize {
    spec.bits().div_ceil(64) as usize
}

/// The indices of the set bits of a word, lowest first.
struct SetBits(u64);

impl Iterator for SetBits {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(bit)
    }
}
