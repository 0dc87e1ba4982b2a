//! What `inspect` says of texts: whether they can be read, how large they are, and which ids they contain.

use std::rc::Rc;

use seenguard::wire::Reference;
use seenguard::{Error, Format, Inspection, Shard, Time, inspect};

use crate::common::bytes_of;
use crate::common::reference::{ReferenceShard, decode_base64};
use crate::pieces::Id;
use crate::shards::Text;

/// Shards of up to this many bytes are read by the plain reference, too.
const MOST_PLAIN_BYTES: usize = 2_048;

/// And written by it, if they have up to so many bits.
const MOST_PLAIN_BITS: u32 = 1 << 14;
/// Filters up to this size are written again.
const MOST_WRITTEN_BITS: u32 = 1 << 17;

/// A text, and what can be said of it alone.
#[derive(Debug, Clone)]
pub struct Inspected {
    pub text: Rc<Text>,
    pub result: Rc<Result<Inspection, Error>>,
}

impl Inspected {
    /// Inspects a text, and checks what is said of it.
    pub fn of(format: Format, text: Text) -> Self {
        // Texts come as bytes where they are wrong, but as Unicode.
        let result = match std::str::from_utf8(&text.text) {
            Ok(unicode) => inspect(format, unicode),
            Err(_) => Err(Error::BadBase64),
        };
        if let Ok(inspection) = &result {
            check_figures(inspection);
            for id in &text.ids {
                // At the last second before its expiry; a shard that never expires answers then, too.
                let last = Time::from_unix_seconds(u64::from(expiry_of(inspection)).saturating_sub(1));
                assert!(inspection.contains(id.text(), last), "{id:?} is lost");
            }
        }
        if format == Format::Native && text.text.len() <= MOST_PLAIN_BYTES {
            check_against_reference(&text.text, &result);
        }
        Inspected {
            text: Rc::new(text),
            result: Rc::new(result),
        }
    }

    fn inspection(&self) -> Option<&Inspection> {
        self.result.as_ref().as_ref().ok()
    }

    /// Why it cannot be read.
    pub fn error(&self) -> Option<&Error> {
        self.result.as_ref().as_ref().err()
    }

    pub fn bits(&self) -> u64 {
        self.inspection().map_or(0, bits_of)
    }

    pub fn filters(&self) -> usize {
        self.inspection().map_or(0, |inspection| inspection.filters.len())
    }

    pub fn contains(&self, id: Id, now_seconds: u64) -> bool {
        let now = Time::from_unix_seconds(now_seconds);
        let contains = |inspection: &Inspection| inspection.contains(id.text(), now);
        self.inspection().is_some_and(contains)
    }

    pub fn is_reference(&self) -> bool {
        Reference::from_element(&self.text.text).is_some()
    }
}

fn expiry_of(inspection: &Inspection) -> u32 {
    inspection.filters.first().map_or(0, |first| first.shard.expires)
}

fn bits_of(inspection: &Inspection) -> u64 {
    let bits = |shard: &Shard| u64::from(shard.filter.parameters().bits());
    inspection.filters.iter().map(|each| bits(&each.shard)).sum()
}

fn check_figures(inspection: &Inspection) {
    let rate = inspection.false_positive_rate();
    assert!((0.0..=1.0).contains(&rate), "a rate of {rate}");
    let limit = inspection.information_limit_bits();
    assert!(limit.is_finite() && limit >= 0.0, "a limit of {limit} bits");
    let items = inspection.estimated_items();
    assert!(items.is_finite() && items >= 0.0, "{items} items");
    assert!(!inspection.filters.is_empty());
    for filter in &inspection.filters {
        if filter.shard.filter.parameters().bits() <= MOST_WRITTEN_BITS && filter.shard.to_bytes().is_ok() {
            let text = filter.shard.to_base64().unwrap_or_default();
            let again = Shard::from_base64(&text);
            assert_eq!(
                again.as_ref(),
                Ok(&filter.shard),
                "a shard is not what was written of it"
            );
        }
    }
}

/// The native format, as it is read from its description alone.
fn check_against_reference(text: &[u8], result: &Result<Inspection, Error>) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    let reference = match decode_base64(text) {
        Some(bytes) => ReferenceShard::from_bytes(&bytes),
        None => Err("bad-base64"),
    };
    match (result, reference) {
        (Err(error), reference) => assert_eq!(reference.err(), Some(error.code())),
        (Ok(inspection), Ok(reference)) => {
            let shard = &inspection.filters[0].shard;
            if reference.bits > MOST_PLAIN_BITS {
                return;
            }
            let canonical = shard.to_base64().map(|text| bytes_of(&text));
            assert_eq!(canonical, Ok(reference.to_bytes()), "the canonical bytes differ");
        }
        (Ok(_), Err(code)) => panic!("{code} is read"),
    }
}
