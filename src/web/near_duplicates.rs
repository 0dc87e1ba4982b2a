//! The function `simhash` and the class `NearDuplicates`. Fingerprints are strings of 16 hexadecimal digits.

use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::batch::TextBatch;
use super::failure;
use crate::error::Error;
use crate::id_list::IdList;
use crate::near_duplicates;

/// The fingerprint of the batch's features with these weights.
#[wasm_bindgen]
pub fn simhash(features: &TextBatch, weights: &[f64]) -> Result<String, JsValue> {
    let weighted = (0..features.len()).zip(weights);
    near_duplicates::simhash(weighted.map(|(index, &weight)| (features.get(index), weight)))
        .map(|fingerprint| format!("{fingerprint:016x}"))
        .map_err(failure)
}

/// Reserved memory, freed when memory runs out, since making the error needs some.
const SPARE_BYTES: usize = 1 << 16;

/// Fingerprints in groups.
#[wasm_bindgen]
pub struct NearDuplicates {
    groups: near_duplicates::NearDuplicates,
    spare: Vec<u8>,
}

#[wasm_bindgen]
impl NearDuplicates {
    /// An empty set. Fingerprints that differ in at most `distance` bits are near-duplicates.
    #[wasm_bindgen(constructor)]
    pub fn new(distance: u32) -> Result<NearDuplicates, JsValue> {
        near_duplicates::NearDuplicates::new(distance)
            .map(|groups| NearDuplicates {
                groups,
                spare: Vec::new(),
            })
            .map_err(failure)
    }

    /// The group of the batch's first string, a fingerprint; if there is none, a new group with the second string as
    /// its id.
    #[wasm_bindgen(js_name = groupOf)]
    pub fn group_of(&mut self, fingerprint_and_id: &TextBatch) -> Result<String, JsValue> {
        self.group_of_strings(fingerprint_and_id).map_err(|error| {
            self.spare = Vec::new();
            failure(error)
        })
    }
}

impl NearDuplicates {
    fn group_of_strings(&mut self, fingerprint_and_id: &TextBatch) -> Result<String, Error> {
        self.spare.try_reserve_exact(SPARE_BYTES)?;
        let [fingerprint, id] = [0, 1].map(|index| String::from_utf8_lossy(fingerprint_and_id.get(index)));
        let group = self.groups.group_of(parse(&fingerprint)?, &id)?;
        let mut answer = String::new();
        answer.try_reserve_exact(group.len())?;
        answer.push_str(group);
        Ok(answer)
    }
}

/// Reads a fingerprint.
fn parse(text: &str) -> Result<u64, Error> {
    let is_fingerprint = text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let read = u64::from_str_radix(text, 16).ok().filter(|_| is_fingerprint);
    read.ok_or(Error::BadOption("a fingerprint must be 16 hexadecimal digits"))
}
