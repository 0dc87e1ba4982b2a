//! Groups of near-duplicates: items whose fingerprints differ in a few bits have one group's id.

use super::fingerprint_index::FingerprintIndex;
use crate::error::Error;

/// Puts fingerprints into groups as they arrive, and finds what lies within a few bits of one.
///
/// A fingerprint that equals one added before is not stored again. Nothing is ever removed: a server begins a new one
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
    /// The group of each fingerprint: its number in `ids`.
    groups: Vec<u32>,
    ids: GroupIds,
}

/// A fingerprint that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearDuplicate<'a> {
    /// One that was added.
    pub fingerprint: u64,
    /// Bits in which it differs.
    pub distance: u32,
    /// The id of its group.
    pub group: &'a str,
}

impl NearDuplicates {
    /// No fingerprints yet. Those that differ in at most `distance` bits, 0 to 3, are near-duplicates.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a larger distance; [`Error::OutOfMemory`]: empty, it takes up to 6 MB.
    pub fn new(distance: u32) -> Result<Self, Error> {
        Ok(NearDuplicates {
            index: FingerprintIndex::new(distance)?,
            groups: Vec::new(),
            ids: GroupIds::default(),
        })
    }

    /// The group of the nearest fingerprint within the distance, the first one added on a tie; else a new group of this
    /// `id`. The fingerprint is added to the group.
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

/// The groups' ids, as one text: a string for each would take several times the memory.
#[derive(Debug, Clone, Default)]
struct GroupIds {
    text: String,
    /// Where each id ends.
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
