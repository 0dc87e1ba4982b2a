//! The reference vectors in `tests/vectors`.

use serde::Deserialize;

/// One file of reference shards with the ids that are queried.
pub struct Vectors {
    pub ids: Vec<String>,
    pub cases: Vec<Case>,
}

/// One reference shard. It contains the first `inserted` ids.
#[derive(Debug, Deserialize)]
pub struct Case {
    pub capacity: Option<u32>,
    pub false_positive_rate: Option<f64>,
    pub bits: u32,
    pub hashes: u32,
    pub seed: String,
    pub epoch: u32,
    pub expires: u32,
    pub inserted: usize,
    pub count: u32,
    pub encoding: u8,
    pub set_bits: u32,
    pub base64: String,
    pub positions_of_first: Option<Vec<u32>>,
    /// One character an id: `1` where the shard contains it.
    pub answers: String,
}

impl Case {
    pub fn seed(&self) -> u64 {
        self.seed.parse().unwrap()
    }

    pub fn answer(&self, index: usize) -> bool {
        self.answers.as_bytes()[index] == b'1'
    }
}

#[derive(Deserialize)]
struct VectorFile {
    ids_here: Option<Vec<String>>,
    cases: Vec<Case>,
}

/// `native.json` over the ids of `ids.json`.
pub fn native() -> Vectors {
    let ids = serde_json::from_str(include_str!("../vectors/ids.json")).unwrap();
    let file: VectorFile = serde_json::from_str(include_str!("../vectors/native.json")).unwrap();
    Vectors { ids, cases: file.cases }
}

/// `native-edges.json`, which contains its ids.
pub fn edges() -> Vectors {
    let text = with_replaced_surrogates(include_str!("../vectors/native-edges.json"));
    let file: VectorFile = serde_json::from_str(&text).unwrap();
    Vectors {
        ids: file.ids_here.unwrap(),
        cases: file.cases,
    }
}

/// JSON text in which the escape of each surrogate without its other half has become that of U+FFFD. JSON may hold such
/// text and Rust's strings may not; the format says that it is hashed so.
pub fn with_replaced_surrogates(json: &str) -> String {
    let escape_at = |at: usize| -> Option<u32> {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let (mut out, mut at) = (String::with_capacity(json.len()), 0);
    while let Some(character) = json[at..].chars().next() {
        let length = match (escape_at(at), escape_at(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push_str("\\ufffd");
                at += 6;
                continue;
            }
            (Some(_), _) => 6,
            // An escaped backslash begins no escape.
            (None, _) if json[at..].starts_with("\\\\") => 2,
            (None, _) => character.len_utf8(),
        };
        out.push_str(&json[at..at + length]);
        at += length;
    }
    out
}
