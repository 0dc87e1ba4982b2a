//! Groups of near-duplicates: items whose fingerprints differ in a few bits have one group's id.

use super::fingerprint_index::FingerprintIndex;
use crate::error::Error;

/// Groups fingerprints as they arrive, and finds those that differ in a few bits.
///
/// A fingerprint that equals one added before is not stored again. Nothing is ever removed, so a server replaces it
/// from time to time.
///
/// ```
/// use seenguard::near_duplicates::NearDuplicates;
/// let mut groups = NearDuplicates::new(3)?;
/// assert_eq!(groups.group_of(0b0000_0000, "story-1")?, "story-1");
/// assert_eq!(groups.group_of(0b0000_0111, "copy-of-1")?, "story-1");
/// assert_eq!(groups.group_of(0b1111_0000, "story-2")?, "story-2");
/// # Ok::<(), seenguard::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NearDuplicates {
    index: FingerprintIndex,
    /// The group of each fingerprint, as a number in `ids`.
    groups: Vec<u32>,
    ids: GroupIds,
}

/// A fingerprint that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearDuplicate<'a> {
    /// The fingerprint, as it was added.
    pub fingerprint: u64,
    /// The number of bits in which it differs.
    pub distance: u32,
    /// The id of its group.
    pub group: &'a str,
}

impl NearDuplicates {
    /// An empty set. Fingerprints that differ in at most `distance` bits, 0 to 3, are near-duplicates.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a larger distance; [`Error::OutOfMemory`]: an empty set needs up to 6 MB.
    pub fn new(distance: u32) -> Result<Self, Error> {
        Ok(NearDuplicates {
            index: FingerprintIndex::new(distance)?,
            groups: Vec::new(),
            ids: GroupIds::default(),
        })
    }

    /// Adds a fingerprint to the group of the nearest one within the distance, on a tie the first one added; if there
    /// is none, to a new group with this `id`. Returns the group's id.
    ///
    /// It is compared with all fingerprints of a group, not with its first one alone. So a group can become wider than
    /// the distance: each of its members has a near-duplicate in it, and two of them may differ in more bits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], with nothing changed.
    pub fn group_of(&mut self, fingerprint: u64, id: &str) -> Result<&str, Error> {
        let nearest = self.index.nearest(fingerprint);
        let group = nearest.map(|(_, number)| self.groups[number as usize]);
        if let (Some((0, _)), Some(group)) = (nearest, group) {
            return Ok(self.ids.get(group));
        }
        // There is memory for everything before anything changes.
        self.groups.try_reserve(1)?;
        if group.is_none() {
            self.ids.try_reserve(id)?;
        }
        self.index.push(fingerprint)?;
        let group = group.unwrap_or_else(|| self.ids.push(id));
        self.groups.push(group);
        Ok(self.ids.get(group))
    }

    /// The different fingerprints within the distance that were added, in no particular order.
    pub fn find(&self, fingerprint: u64) -> impl Iterator<Item = NearDuplicate<'_>> {
        self.index.within(fingerprint).map(|(distance, number)| NearDuplicate {
            fingerprint: self.index.get(number),
            distance,
            group: self.ids.get(self.groups[number as usize]),
        })
    }

    /// How many different fingerprints were added.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether none was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The groups' ids in one string: a string for each would need several times the memory.
#[derive(Debug, Clone, Default)]
struct GroupIds {
    text: String,
    /// The end of each id in the string.
    ends: Vec<usize>,
}

impl GroupIds {
    /// Makes room for one more.
    fn try_reserve(&mut self, id: &str) -> Result<(), Error> {
        self.text.try_reserve(id.len())?;
        self.ends.try_reserve(1)?;
        Ok(())
    }

    /// Returns its number. There are no more groups than fingerprints, whose numbers have 32 bits.
    fn push(&mut self, id: &str) -> u32 {
        let number = self.ends.len() as u32;
        self.text.push_str(id);
        self.ends.push(self.text.len());
        number
    }

    fn get(&self, number: u32) -> &str {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }
}
