//! Reference fingerprints and groups, as they lie in `tests/vectors/simhash.json`.

use serde::Deserialize;

#[derive(Deserialize)]
pub struct SimhashVectors {
    pub cases: Vec<SimhashCase>,
    /// As text, in the order in which they are added: the ids are `item-0`, `item-1`, …
    fingerprints: Vec<String>,
    pub grouped: Vec<Grouped>,
}

#[derive(Deserialize)]
pub struct SimhashCase {
    pub features: Vec<(String, f64)>,
    pub fingerprint: String,
}

/// The group of each of the fingerprints, at one distance.
#[derive(Deserialize)]
pub struct Grouped {
    pub distance: u32,
    pub groups: Vec<String>,
}

impl SimhashVectors {
    pub fn fingerprints(&self) -> Vec<u64> {
        let read = |text: &String| u64::from_str_radix(text, 16).unwrap();
        self.fingerprints.iter().map(read).collect()
    }
}

pub fn vectors() -> SimhashVectors {
    serde_json::from_str(include_str!("../vectors/simhash.json")).unwrap()
}
