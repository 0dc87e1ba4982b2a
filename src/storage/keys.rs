//! The keys of a namespace, below its prefix `seenguard/<namespace>/`, and its metadata.
//!
//! | key | value |
//! | --- | --- |
//! | `<number>/r/<writer>/<n>` | a row |
//! | `<number>/m` | [`Meta`] |
//! | `<number>/h` | the snapshot in use |
//!
//! `number`: that of the latest clear that its writer knew, in a constant length, so that all lower numbers are one
//! range of keys. `n`: the later of 1 above the writer's last and the device's time, so no key is ever used twice.
//! Numbers are in base 36. A key with another letter is of a later version.

use crate::base36::{base36, base36_of_length, from_base36};
use crate::devices::DeviceName;
use crate::table::{Floor, MAX_AT, Table};

const NUMBER_DIGITS: usize = 11;
const WRITER_DIGITS: usize = 13;
const DAY_MS: u64 = 86_400_000;

/// The kind of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letter {
    /// A row, with its `n`.
    Row(u64),
    Meta,
    Snapshot,
    /// Of a later version.
    Other,
}

/// The keys of one namespace, as one writer makes them.
#[derive(Debug, Clone, Default)]
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

    /// The prefix of the keys under a number. It sorts above all keys under lower numbers.
    pub(super) fn under(&self, number: u64) -> String {
        [&self.prefix, &base36_of_length(number, NUMBER_DIGITS), "/"].concat()
    }

    /// A key for a new row.
    pub(super) fn row(&mut self, number: u64, wall_ms: u64) -> String {
        self.latest = wall_ms.max(self.latest + 1);
        [&self.under(number), "r/", &self.writer, "/", &base36(self.latest)].concat()
    }

    /// Whether this writer has created the key of a row.
    pub(super) fn has_made(&self, row: &str) -> bool {
        row.split('/').any(|part| part == self.writer)
    }

    pub(super) fn meta(&self, number: u64) -> String {
        [&self.under(number), "m"].concat()
    }

    pub(super) fn snapshot(&self, number: u64) -> String {
        [&self.under(number), "h"].concat()
    }

    /// The number and the kind of a key; `None` for a key of another form.
    pub(super) fn parse(&self, key: &str) -> Option<(u64, Letter)> {
        parse(key.strip_prefix(&self.prefix)?)
    }
}

/// The same for the part of a key after the prefix.
pub(super) fn parse(rest: &str) -> Option<(u64, Letter)> {
    let mut parts = rest.split('/');
    let number = parts.next().filter(|number| number.len() == NUMBER_DIGITS)?;
    let letter = match (parts.next()?, parts.next(), parts.next(), parts.next()) {
        ("m", None, ..) => Letter::Meta,
        ("h", None, ..) => Letter::Snapshot,
        ("r", Some(_), Some(n), None) => Letter::Row(from_base36(n.as_bytes())?),
        _ => Letter::Other,
    };
    // A larger number was not written by this crate, and no number above it could be represented.
    let number = from_base36(number.as_bytes()).filter(|&number| number <= MAX_AT)?;
    Some((number, letter))
}

/// Metadata of the namespace, stored as the text
/// `<day of last use>,<window in days>,<1: impressions are delivered>,<floor, Unix s>,<floor, Unix ms>,<device name>`,
/// of which only the day is always present.
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
    /// The metadata of a table today.
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
            floor: (deleted_at > 0 && at <= MAX_AT).then_some(Floor { deleted_at, at }),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_were_made_and_those_under_lower_numbers_come_before() {
        let mut keys = Keys::new("seenguard/home/", u64::MAX);
        for number in [0, 1, 1_764_000_000_000, MAX_AT] {
            let rows = [7, 7, 3, 9].map(|wall_ms| keys.row(number, wall_ms));
            let made = [&keys.meta(number), &keys.snapshot(number), &rows[0]].map(|key| keys.parse(key));
            let n = keys.latest - 3;
            assert_eq!(
                made,
                [Letter::Meta, Letter::Snapshot, Letter::Row(n)].map(|letter| Some((number, letter)))
            );
            // No key is used twice, though the clock jumps.
            assert_eq!(
                rows.map(|row| keys.parse(&row)),
                [n, n + 1, n + 2, n + 3].map(|n| Some((number, Letter::Row(n))))
            );
            assert!(number == 0 || keys.snapshot(number - 1) < keys.under(number));
            assert!(keys.meta(number).starts_with(&keys.under(number)));
        }
    }

    #[test]
    fn keys_of_another_letter_are_a_later_versions_and_those_of_no_such_form_are_not_read() {
        let keys = Keys::new("seenguard/home/", 1);
        for rest in ["z", "m/1", "r", "r/w", "r/w/1/2", "h/1", ""] {
            assert_eq!(
                keys.parse(&format!("seenguard/home/0000000000a/{rest}")),
                Some((10, Letter::Other)),
                "{rest}"
            );
        }
        for rest in [
            "0000000000a",
            "a/m",
            "0000000000A/m",
            "zzzzzzzzzzz/m",
            "0000000000a/r/w/",
            "0000000000a/r/w/-1",
            "s/0/w/1",
        ] {
            assert_eq!(keys.parse(&format!("seenguard/home/{rest}")), None, "{rest}");
        }
        assert_eq!(keys.parse("seenguard/homer/0000000000a/m"), None);
    }

    #[test]
    fn what_is_said_of_the_whole_is_read_as_it_was_written_and_of_other_texts_the_day_alone() {
        let name = DeviceName::new("home", 7);
        for floor in [
            None,
            Some(Floor {
                deleted_at: 9,
                at: MAX_AT,
            }),
        ] {
            let meta = Meta {
                day: 20_000,
                window_days: 30,
                reporting: floor.is_some(),
                floor,
                device_name: floor.map(|_| name),
            };
            assert_eq!(Meta::parse(&meta.text()), Some(meta));
        }
        let of_day = |day| Some(Meta { day, ..Meta::default() });
        assert_eq!(
            ["7", "8,x,y", "9,0,0,1,9007199254740992,name"].map(Meta::parse),
            [of_day(7), of_day(8), of_day(9)]
        );
        assert_eq!(["", "x", "-1", "1.5"].map(Meta::parse), [None; 4]);
    }
}
