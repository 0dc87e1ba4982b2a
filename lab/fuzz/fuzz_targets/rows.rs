//! Stored rows: any string is read without a panic, and the next visit finds the read and the recorded impressions.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use seenguard::Time;
use seenguard_fuzz::common::device::{Device, save};
use seenguard_fuzz::common::{base64_of, sealed};
use seenguard_fuzz::pieces::{BEGINNING_MS, Bytes, Few, Id, texts};

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    rows: Few<Row<'a>, 8>,
    recorded: Few<Id, 8>,
    unseen: Few<Id, 4>,
}

#[derive(Debug, Arbitrary)]
enum Row<'a> {
    /// The content of a row, which gets a valid checksum.
    Content(Bytes<'a>),
    Text(Bytes<'a>),
}

impl Row<'_> {
    fn text(&self) -> String {
        match self {
            Row::Content(content) => base64_of(&sealed(content.0.to_vec())),
            Row::Text(text) => String::from_utf8_lossy(text.0).into_owned(),
        }
    }
}

fuzz_target!(|input: Input<'_>| {
    let mut device = Device {
        rows: input.rows.0.iter().map(Row::text).collect(),
    };
    let now = Time::from_unix_ms(BEGINNING_MS);
    let mut guard = device.next_visit();
    guard.record(&texts(&input.recorded.0), now);
    guard.unsee(&texts(&input.unseen.0), now);
    save(&mut guard, &mut device);
    let later = device.next_visit();
    for id in (0..=255).map(|number| Id(number).text()) {
        assert_eq!(later.explain(&id, now), guard.explain(&id, now), "{id:?}");
    }
    assert_eq!(later.pending(usize::MAX, now), guard.pending(usize::MAX, now));
});
