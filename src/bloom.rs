//! One Bloom filter: m bits, of which an item sets k.
//!
//! To ask for an item is to look at its k bits: one that is 0 proves that the item was never inserted; all 1 means that it was, or, at the
//! false positive rate, that others happened to set them.

use crate::hash::{HashScheme, HashedId, Positions};
use crate::wire::ForeignPositions;
use crate::{Error, Parameters};

/// What decides which bits an id has. Filters of one spec answer for the same positions, so they unite, and are asked together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FilterSpec {
    pub(crate) parameters: Parameters,
    /// Of the native hash; 0 for every other.
    pub(crate) seed: u64,
    pub(crate) scheme: HashScheme,
}

impl FilterSpec {
    pub(crate) fn native(parameters: Parameters, seed: u64) -> Self {
        FilterSpec {
            parameters,
            seed,
            scheme: HashScheme::Native,
        }
    }

    /// The spec of a filter of another format.
    pub(crate) fn foreign(scheme: HashScheme, parameters: Parameters) -> Self {
        FilterSpec {
            parameters,
            seed: 0,
            scheme,
        }
    }

    pub(crate) fn bits(self) -> u32 {
        self.parameters.bits()
    }

    /// Without the feature `formats` no filter is of another one, and what could only be meant for such filters is not compiled.
    #[inline]
    pub(crate) fn is_native(self) -> bool {
        !cfg!(feature = "formats") || self.scheme == HashScheme::Native
    }

    /// Calls `visit` with the id's positions in the native format until it answers false; true if it never did. Other formats have
    /// [`ForeignPositions`]: apart, so that their code is not in this loop.
    #[inline]
    pub(crate) fn all_positions(self, id: HashedId<'_>, visit: impl FnMut(u32) -> bool) -> bool {
        let hash = id.seeded(self.seed);
        Positions::new(hash, self.bits())
            .take(self.parameters.hashes() as usize)
            .all(visit)
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
    /// An empty filter. `seed` is that of XXH64: one for a deployment.
    pub fn new(parameters: Parameters, seed: u64) -> Self {
        BloomFilter::with_spec(FilterSpec::native(parameters, seed))
    }

    pub(crate) fn with_spec(spec: FilterSpec) -> Self {
        BloomFilter {
            spec,
            words: vec![0; spec.bits().div_ceil(64) as usize],
        }
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

    /// Inserts an id, the UTF-8 bytes of its text. Returns whether the filter did not contain it before.
    pub fn insert(&mut self, id: impl AsRef<[u8]>) -> bool {
        self.insert_hashed(HashedId::new(id.as_ref()))
    }

    pub(crate) fn insert_hashed(&mut self, id: HashedId<'_>) -> bool {
        let mut new = false;
        if !self.spec.is_native() {
            for position in ForeignPositions::new(self.spec, id) {
                new |= !self.is_set(position);
                self.set(position);
            }
            return new;
        }
        let words = &mut self.words;
        self.spec.all_positions(id, |position| {
            let (word, bit) = ((position >> 6) as usize, 1 << (position & 63));
            new |= words[word] & bit == 0;
            words[word] |= bit;
            true
        });
        new
    }

    /// Whether the id was inserted; wrongly true at [`BloomFilter::false_positive_rate`], never wrongly false.
    pub fn contains(&self, id: impl AsRef<[u8]>) -> bool {
        self.contains_hashed(HashedId::new(id.as_ref()))
    }

    #[inline]
    pub(crate) fn contains_hashed(&self, id: HashedId<'_>) -> bool {
        if !self.spec.is_native() {
            return self.contains_foreign(id);
        }
        self.spec.all_positions(id, |position| self.is_set(position))
    }

    #[inline(never)]
    fn contains_foreign(&self, id: HashedId<'_>) -> bool {
        ForeignPositions::new(self.spec, id).all(|position| self.is_set(position))
    }

    /// Takes over what `other` contains.
    ///
    /// # Errors
    /// [`Error::BadParameters`] if the two differ in bits, hashes, seed or format: their bits then mean different items.
    pub fn union(&mut self, other: &BloomFilter) -> Result<(), Error> {
        if self.spec != other.spec {
            return Err(Error::BadParameters(
                "only filters of one format with equal bits, hashes and seed unite",
            ));
        }
        self.take_over(other);
        Ok(())
    }

    /// The same for a filter that is known to be of this spec.
    pub(crate) fn take_over(&mut self, other: &BloomFilter) {
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine |= theirs;
        }
    }

    /// Whether whatever `other` contains is contained here: they have one spec, and all of its bits are set here.
    pub(crate) fn contains_all_of(&self, other: &BloomFilter) -> bool {
        self.spec == other.spec
            && self
                .words
                .iter()
                .zip(&other.words)
                .all(|(mine, theirs)| theirs & !mine == 0)
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

    /// The rate at which ids that are not in it are answered "contained", as of now.
    pub fn false_positive_rate(&self) -> f64 {
        self.parameters().false_positive_rate(self.set_bits())
    }

    #[inline]
    fn is_set(&self, position: u32) -> bool {
        self.words[(position >> 6) as usize] >> (position & 63) & 1 == 1
    }

    #[inline]
    pub(crate) fn set(&mut self, position: u32) {
        self.words[(position >> 6) as usize] |= 1 << (position & 63);
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
        let words = self.words.iter();
        // The base of the first word is 64 more.
        let (word, base) = (0, 0u32.wrapping_sub(64));
        SetPositions { words, word, base }
    }
}

/// The set bits of one word, lowest first, of which the lowest has the number `base`.
pub(crate) fn bits_of(word: u64, base: u32) -> impl Iterator<Item = u32> {
    BitsOf { word, base }
}

struct SetPositions<'a> {
    /// The words that come after this one, of which these bits are left, the lowest of it being the position `base`.
    words: std::slice::Iter<'a, u64>,
    word: u64,
    base: u32,
}

impl Iterator for SetPositions<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        while self.word == 0 {
            self.word = *self.words.next()?;
            self.base = self.base.wrapping_add(64);
        }
        let bit = self.word.trailing_zeros();
        self.word &= self.word - 1;
        Some(self.base + bit)
    }
}

struct BitsOf {
    word: u64,
    base: u32,
}

impl Iterator for BitsOf {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.word == 0 {
            return None;
        }
        let bit = self.word.trailing_zeros();
        self.word &= self.word - 1;
        Some(self.base + bit)
    }
}
