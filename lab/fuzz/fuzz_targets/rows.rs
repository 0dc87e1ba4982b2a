//! Stored rows: any text is read without a panic, and what was read and recorded is found again by the next visit.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use seenguard::device::Place;
use seenguard_fuzz::common::device::{Device, PREFIX, Tab};
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
    /// The content of a row; its checksum is right.
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

fn visit(device: &mut Device) -> Tab {
    let mut tab = Tab::new(Place::IndexedDb);
    tab.now_ms = BEGINNING_MS;
    tab.work(device);
    tab
}

fuzz_target!(|input: Input<'_>| {
    let mut device = Device::default();
    for (writer, row) in input.rows.0.iter().enumerate() {
        device
            .main
            .insert(format!("{PREFIX}{:011}/r/{writer}/1", 0), row.text());
    }
    let mut tab = visit(&mut device);
    tab.record(&texts(&input.recorded.0));
    tab.unsee(&texts(&input.unseen.0));
    tab.flush(&mut device);
    let later = visit(&mut device);
    for id in (0..=255).map(|number| Id(number).text()) {
        assert_eq!(later.has(&id), tab.has(&id), "{id:?}");
    }
    assert_eq!(later.pending(), tab.pending());
});
