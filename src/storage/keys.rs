//! The keys of a namespace, below its prefix `seenguard/<namespace>/`, and what is said of the namespace as a whole.
//!
//! | key | value |
//! | --- | --- |
//! | `<number>/r/<writer>/<n>` | a row |
//! | `<number>/m` | [`Meta`] |
//! | `<number>/h` | the snapshot in use |
//!
//! `number`: that of the latest clear that its writer knew of, always as long, so that what stands under lower ones is
//! one range of keys. `n`: the later of 1 above the writer's last and the device's time, so no key is ever used twice.
//! Numbers are to the base 36. A key of another letter is a later version's.

use crate::base36::{base36, base36_of_length, from_base36};
use crate::device_name::DeviceName;
use crate::table::{Floor, MAX_AT, Table};

const NUMBER_DIGITS: usize = 11;
const WRITER_DIGITS: usize = 13;
const DAY_MS: u64 = 86_400_000;

/// What a key stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letter {
    /// A row, with its `n`.
    Row(u64),
    Meta,
    Snapshot,
    /// A later version's.
    Other,
}

/// The keys of one namespace, as one writer makes them.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    prefix: String,
    writer: String,
    latest: u64,
}

impl Keys {
    pub(super) fn new(prefix: &str, random: u64) -> Self {
        Keys {
            prefix: prefix.to_owned(),
            writer: base36_of_length(random, WRITER_DIGITS),
            latest: 0,
        }
    }

    /// What the keys under a number begin with: above all those under lower numbers.
    pub(super) fn under(&self, number: u64) -> String {
        [&self.prefix, &base36_of_length(number, NUMBER_DIGITS), "/"].concat()
    }

    /// A key for a new row.
    pub(super) fn row(&mut self, number: u64, wall_ms: u64) -> String {
        self.latest = wall_ms.max(self.latest + 1);
        [&self.under(number), "r/", &self.writer, "/", &base36(self.latest)].concat()
    }

    pub(super) fn meta(&self, number: u64) -> String {
        [&self.under(number), "m"].concat()
    }

    pub(super) fn snapshot(&self, number: u64) -> String {
        [&self.under(number), "h"].concat()
    }

    /// The number of a key and what it stands for; nothing for a key of no such form.
    pub(super) fn parse(&self, key: &str) -> Option<(u64, Letter)> {
        parse(key.strip_prefix(&self.prefix)?)
    }
}

/// The same of what comes after the prefix.
pub(super) fn parse(rest: &str) -> Option<(u64, Letter)> {
    let mut parts = rest.split('/');
    let number = parts.next().filter(|number| number.len() == NUMBER_DIGITS)?;
    let letter = match (parts.next()?, parts.next(), parts.next(), parts.next()) {
        ("m", None, ..) => Letter::Meta,
        ("h", None, ..) => Letter::Snapshot,
        ("r", Some(_), Some(n), None) => Letter::Row(from_base36(n.as_bytes())?),
        _ => Letter::Other,
    };
    // A higher one is no number of ours: nothing above it could be written.
    let number = from_base36(number.as_bytes()).filter(|&number| number <= MAX_AT)?;
    Some((number, letter))
}

/// What is said of the namespace as a whole, as the text
/// `<day of last use>,<window in days>,<1: impressions are delivered>,<floor, Unix s>,<floor, Unix ms>,<device name>`,
/// of which the day alone is certain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Meta {
    /// Days since 1970.
    pub(super) day: u64,
    pub(super) window_days: u64,
    pub(super) reporting: bool,
    pub(super) floor: Option<Floor>,
    pub(super) device_name: Option<DeviceName>,
}

impl Meta {
    /// What a table says today.
    pub(super) fn of(table: &Table, wall_ms: u64) -> Self {
        Meta {
            day: wall_ms / DAY_MS,
            window_days: table.window_ms().div_ceil(DAY_MS),
            reporting: table.is_reporting(),
            floor: table.floor(),
            device_name: table.device_name(),
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(',');
        let day = parts.next()?.parse().ok()?;
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok()).unwrap_or(0);
        let (window_days, reporting) = (number(), number() == 1);
        let (deleted_at, at) = (u32::try_from(number()).unwrap_or(0), number());
        Some(Meta {
            day,
            window_days,
            reporting,
            floor: (deleted_at > 0).then_some(Floor { deleted_at, at }),
            device_name: parts.next().and_then(DeviceName::parse),
        })
    }

    pub(super) fn text(&self) -> String {
        let floor = self.floor.unwrap_or(Floor { deleted_at: 0, at: 0 });
        let name = self.device_name.map(|name| name.to_string()).unwrap_or_default();
        let (deleted_at, at) = (floor.deleted_at, floor.at);
        let (day, window, reporting) = (self.day, self.window_days, u8::from(self.reporting));
        format!("{day},{window},{reporting},{deleted_at},{at},{name}")
    }
}
