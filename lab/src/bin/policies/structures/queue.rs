//! The latest N 64-bit hashes, exactly.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};

use seenguard_lab::report::Result;
use xxhash_rust::xxh64::xxh64;

use super::{CAPACITY, History};

/// The latest recordings, and how many of them each hash has. In the store only the list is kept.
pub struct ExactList {
    latest: VecDeque<u64>,
    recordings: HashMap<u64, u32, BuildHasherDefault<DefaultHasher>>,
}

impl ExactList {
    pub fn new() -> Self {
        ExactList {
            latest: VecDeque::new(),
            recordings: HashMap::default(),
        }
    }

    fn remove_one(&mut self, hash: u64) {
        if let Some(count) = self.recordings.get_mut(&hash) {
            *count -= 1;
            if *count == 0 {
                self.recordings.remove(&hash);
            }
        }
    }
}

impl History for ExactList {
    fn record(&mut self, id: &str) -> Result<()> {
        let hash = hash_of(id);
        if self.latest.len() == CAPACITY as usize
            && let Some(oldest) = self.latest.pop_front()
        {
            self.remove_one(oldest);
        }
        self.latest.push_back(hash);
        *self.recordings.entry(hash).or_default() += 1;
        Ok(())
    }

    fn contains(&self, id: &str) -> bool {
        self.recordings.contains_key(&hash_of(id))
    }

    fn stored_bytes(&self) -> Result<usize> {
        Ok(self.latest.len() * size_of::<u64>())
    }

    fn delete(&mut self, id: &str) -> bool {
        let hash = hash_of(id);
        if self.recordings.remove(&hash).is_some() {
            self.latest.retain(|&other| other != hash);
        }
        true
    }
}

fn hash_of(id: &str) -> u64 {
    xxh64(id.as_bytes(), 0)
}
