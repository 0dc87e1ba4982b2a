//! Snapshots of every format: `inspect`, a guard and a chain must agree on each.

use allocation_counter::measure;
use arbitrary::Arbitrary;
use seenguard::device::{Applied, Guard};
use seenguard::wire::Reference;
use seenguard::{
    ChainOptions, Error, Format, Inspection, MAX_BITS, MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, Shard, ShardChain,
    Snapshot, Time, inspect,
};

use crate::common::bytes_of;
use crate::common::reference::{ReferenceShard, decode_base64};
use crate::pieces::{BEGINNING_MS, Few, Id, texts};
use crate::shards::{FormatInput, ShardInput, Text};

const NOW: Time = Time::from_unix_ms(BEGINNING_MS);
/// The allowed memory in addition to the strings and the bits, for errors and lists.
const LITTLE: u64 = 128 * 1024;
/// Shards up to this many bytes are also read by the reference implementation.
const MOST_PLAIN_BYTES: usize = 2_048;
/// Filters of up to this many bits are written again.
const MOST_WRITTEN_BITS: u32 = 1 << 14;
/// Chains of up to this many bits are read again.
const MOST_COMPARED_BITS: u64 = 1 << 20;

/// One input.
#[derive(Debug, Arbitrary)]
pub struct Input<'a> {
    format: FormatInput,
    shards: Few<ShardInput<'a>, 8>,
    /// The repetitions of the list, to exceed limits.
    times: u8,
    recorded: Few<Id, 8>,
    items: Few<Id, 24>,
}

/// An element of a snapshot, with the result of `inspect`.
struct Element {
    text: Text,
    result: Result<Inspection, Error>,
    is_reference: bool,
}

/// Runs `inspect`, a guard and a chain on an input's shards.
///
/// # Panics
/// If a property does not hold.
pub fn check(input: &Input<'_>) {
    let format = input.format.get();
    let mut list: Vec<Text> = Vec::new();
    for shard in &input.shards.0 {
        list.push(shard.text(format, &list));
    }
    let elements: Vec<Element> = list.into_iter().map(|text| Element::of(format, text)).collect();
    let times = 1 + usize::from(input.times % 70 / 8);
    let snapshot: Vec<&Element> = (0..times).flat_map(|_| &elements).collect();
    check_guard(format, &snapshot, input);
    check_chain(format, &snapshot, &input.recorded.0);
}

impl Element {
    /// Inspects a string, and checks the result.
    fn of(format: Format, text: Text) -> Self {
        let result = match std::str::from_utf8(&text.text) {
            Ok(unicode) => inspect(format, unicode),
            Err(_) => Err(Error::BadBase64),
        };
        if let Ok(inspection) = &result {
            check_figures(inspection);
        }
        if format == Format::Native && text.text.len() <= MOST_PLAIN_BYTES {
            check_against_reference(&text.text, &result);
        }
        let is_reference = Reference::from_element(&text.text).is_some();
        let element = Element {
            text,
            result,
            is_reference,
        };
        for id in element.text.ids.iter().filter(|_| element.result.is_ok()) {
            assert!(element.contains(*id, element.last_second()), "{id:?} is lost");
        }
        element
    }

    fn shards(&self) -> impl Iterator<Item = &Shard> {
        let filters = self.result.iter().flat_map(|inspection| &inspection.filters);
        filters.map(|filter| &filter.shard)
    }

    fn bits(&self) -> u64 {
        let bits = |shard: &Shard| u64::from(shard.filter.parameters().bits());
        self.shards().map(bits).sum()
    }

    /// The last second before it expires, or any time if it never expires.
    fn last_second(&self) -> Time {
        let expires = self.shards().next().map_or(0, |shard| shard.expires);
        Time::from_unix_seconds(u64::from(expires).saturating_sub(1))
    }

    fn contains(&self, id: Id, now: Time) -> bool {
        self.result.as_ref().is_ok_and(|read| read.contains(id.text(), now))
    }

    fn is_readable(&self) -> bool {
        self.result.is_ok() && !self.is_reference
    }
}

fn check_figures(inspection: &Inspection) {
    let rate = inspection.false_positive_rate();
    assert!((0.0..=1.0).contains(&rate), "a rate of {rate}");
    for number in [inspection.information_limit_bits(), inspection.estimated_items()] {
        assert!(number.is_finite() && number >= 0.0, "{number}");
    }
    assert!(!inspection.filters.is_empty());
}

/// Compares the native format with the reference implementation, which is written from its description only.
fn check_against_reference(text: &[u8], result: &Result<Inspection, Error>) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    let reference = match decode_base64(text) {
        Some(bytes) => ReferenceShard::from_bytes(&bytes),
        None => Err("bad-base64"),
    };
    match (result, reference) {
        (Err(error), reference) => assert_eq!(reference.err(), Some(error.code())),
        (Ok(inspection), Ok(reference)) if reference.bits <= MOST_WRITTEN_BITS => {
            let written = inspection.filters[0].shard.to_base64().map(|text| bytes_of(&text));
            assert_eq!(written, Ok(reference.to_bytes()), "the canonical bytes differ");
        }
        (Ok(_), Ok(_)) => {}
        (Ok(_), Err(code)) => panic!("{code} is read"),
    }
}

/// Checks that a snapshot is applied exactly if each shard can be read and all are within the limits, and otherwise
/// changes nothing.
fn check_guard(format: Format, elements: &[&Element], input: &Input<'_>) {
    let recorded = &input.recorded.0;
    let mut guard = Guard::new(30.0, 1_000).expect("the options are those of a guard");
    guard.record(&texts(recorded), NOW);
    let shards: Vec<&[u8]> = elements.iter().map(|element| &element.text.text[..]).collect();
    let is_applied = apply_within_memory(&mut guard, format, &shards, elements);
    let filters: usize = elements.iter().map(|element| element.shards().count()).sum();
    let is_within = elements.len().max(filters) <= MAX_SNAPSHOT_SHARDS && bits_of(elements) <= MAX_SNAPSHOT_BITS;
    let is_right = is_within && elements.iter().all(|element| element.is_readable());
    assert_eq!(is_applied, is_right, "applied or not");
    let held = guard.held();
    assert_eq!(
        Reference::split(&held).len(),
        if is_applied { elements.len() } else { 0 }
    );
    if is_applied && !elements.is_empty() {
        let references: Vec<String> = held.split('.').map(|name| format!("~{name}")).collect();
        let applied = apply(&mut guard, format, &references).expect("the guard's shards are valid");
        assert_eq!((applied.reason, guard.held()), (None, held), "references have the same result");
    }
    let is_stopped = |id: &Id| {
        let is_in_use = is_applied && elements.iter().any(|element| element.contains(*id, NOW));
        is_in_use || recorded.contains(id)
    };
    let named = elements.iter().flat_map(|element| element.text.ids.iter().take(2));
    for id in input.items.0.iter().chain(recorded).chain(named) {
        assert_eq!(guard.explain(id.text(), NOW).is_some(), is_stopped(id), "{id:?}");
    }
    let items = &input.items.0;
    let fresh = guard.filter(&texts(items), NOW);
    let is_first = |index: &u32| !items[..*index as usize].contains(&items[*index as usize]);
    let expected = (0..items.len() as u32).filter(|index| is_first(index) && !is_stopped(&items[*index as usize]));
    assert_eq!(fresh, expected.collect::<Vec<u32>>(), "explain and filter agree");
    assert_eq!(fresh, guard.split(&texts(items), NOW).fresh, "filter and split");
}

fn bits_of(elements: &[&Element]) -> u64 {
    elements.iter().map(|element| element.bits()).sum()
}

fn apply<S: AsRef<[u8]>>(guard: &mut Guard, format: Format, shards: &[S]) -> Result<Applied, Error> {
    let shards: Vec<&[u8]> = shards.iter().map(AsRef::as_ref).collect();
    let snapshot = Snapshot {
        format,
        ..Snapshot::new(&shards[..])
    };
    guard.apply(snapshot, NOW)
}

/// Applies a snapshot, and checks that it uses no more than a few times the memory of the strings and the bits,
/// regardless of headers.
fn apply_within_memory(guard: &mut Guard, format: Format, shards: &[&[u8]], elements: &[&Element]) -> bool {
    let mut result = None;
    let memory = measure(|| result = Some(apply(guard, format, shards))).bytes_max;
    let text: usize = shards.iter().map(|shard| shard.len()).sum();
    let bits = bits_of(elements).min(MAX_SNAPSHOT_BITS);
    // The order of positions is checked only after the filter is allocated.
    let is_read_in_part = |element: &&Element| {
        element
            .result
            .as_ref()
            .is_err_and(|error| error.code() == "bad-payload")
    };
    let in_part = elements.iter().copied().any(|element| is_read_in_part(&element));
    let in_part = if in_part { u64::from(MAX_BITS) / 8 } else { 0 };
    let most = 3 * text as u64 + in_part + bits / 2 + LITTLE;
    assert!(memory <= most, "{memory} bytes for {text} of text and {bits} bits");
    matches!(result, Some(Ok(Applied { reason: None, .. })))
}

/// Checks that a chain rejects exactly the shards that cannot be read or exceed a limit, and that a guard and a chain
/// accept its snapshot.
fn check_chain(format: Format, elements: &[&Element], recorded: &[Id]) {
    let options = ChainOptions {
        capacity: 100,
        shards: 3,
        false_positive_rate: 0.01,
        format,
        ..ChainOptions::default()
    };
    let list: Vec<&[u8]> = elements.iter().map(|element| &element.text.text[..]).collect();
    let Ok((mut chain, rejected)) = ShardChain::from_shards(&list, options) else {
        assert!(
            ShardChain::new(options).is_err(),
            "stored shards do not make options wrong"
        );
        return;
    };
    let (mut taken, mut bits) = (0, 0);
    for (index, element) in elements.iter().enumerate() {
        let fits = taken < MAX_SNAPSHOT_SHARDS && bits + element.bits() <= MAX_SNAPSHOT_BITS;
        let is_rejected = rejected.iter().any(|rejected| rejected.index == index);
        assert_ne!(
            is_rejected,
            fits && element.is_readable(),
            "{:?}",
            element.result.is_ok()
        );
        if !is_rejected {
            (taken, bits) = (taken + 1, bits + element.bits());
        }
    }
    chain.record(&texts(recorded), NOW).expect("there is memory");
    let shipped = chain.snapshot(NOW, None).expect("the chain's shards can be encoded");
    let mut guard = Guard::new(30.0, 1_000).expect("the options are those of a guard");
    let applied = guard
        .apply(Snapshot::from(&shipped), NOW)
        .expect("a guard applies the snapshot");
    assert_eq!(applied.reason, None);
    for id in recorded {
        assert!(
            guard.explain(id.text(), NOW).is_some(),
            "{id:?} was recorded on the server"
        );
    }
    let is_of_size = matches!(format, Format::GoBloomfilter { bits: Some(_), .. });
    if bits <= MOST_COMPARED_BITS && !is_of_size {
        let (again, rejected) = ShardChain::from_shards(&shipped.shards, options).expect("the options are right");
        assert!(rejected.is_empty(), "a chain rejects the snapshot: {rejected:?}");
        let shards = again.snapshot(NOW, None).expect("it was encoded before").shards;
        assert_eq!(shards, shipped.shards, "decoding and encoding change the shards");
    }
}
