//! A chain as a store keeps it: its shards as a list, and beside them fields of a hash, each a name with a number.
//!
//! | field | value |
//! | --- | --- |
//! | `unseen:<id>` | since when the id is unseen, Unix milliseconds |
//! | `forgetBefore` | when the history was deleted, Unix seconds |

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::shard_chain::ShardChain;
use crate::error::Error;
use crate::id_list::IdList;
use crate::impression::Impression;
use crate::params::MAX_SNAPSHOT_UNSEEN;
use crate::time::Time;

/// Any text may be an id, so the names of their fields have a prefix.
const UNSEEN: &str = "unseen:";
const FORGET_BEFORE: &str = "forgetBefore";
/// The end of the format's 32 bits of seconds: a later time is damage.
const LAST_SECOND: u64 = u32::MAX as u64;

/// What a store keeps of a chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredChain {
    /// The shards' texts, newest first.
    pub shards: Vec<String>,
    /// The fields of the hash; mostly there is none.
    pub fields: Vec<(String, String)>,
}

impl ShardChain {
    /// What to store as of now.
    ///
    /// # Errors
    /// As [`ShardChain::snapshot`].
    pub fn stored(&self, now: Time) -> Result<StoredChain, Error> {
        let snapshot = self.snapshot(now, None)?;
        let unseen = |Impression { id, at }: Impression| (format!("{UNSEEN}{id}"), at.unix_ms().to_string());
        let forget_before = |at: Time| (FORGET_BEFORE.to_owned(), at.unix_seconds().to_string());
        Ok(StoredChain {
            shards: snapshot.shards,
            fields: snapshot
                .unseen
                .into_iter()
                .map(unseen)
                .chain(snapshot.forget_before.map(forget_before))
                .chain(self.other_fields.iter().cloned())
                .collect(),
        })
    }

    /// Takes over the fields that were stored beside the shards, as a list of each name followed by its value. It
    /// leaves out damaged fields, and more unseen ids than a snapshot has. Returns how many fields that are. One of
    /// another name stays as it is.
    ///
    /// ```
    /// use seenguard::{ChainOptions, ShardChain, Time};
    /// let now = Time::from_unix_seconds(1_764_000_000);
    /// let mut chain = ShardChain::new(ChainOptions::default())?;
    /// chain.record(&["a"], now)?;
    /// let left_out = chain.restore_fields(&["unseen:a", "1764000000000", "forgetBefore", "soon", "theirs", "1"])?;
    /// assert_eq!((left_out, chain.contains("a", now)?), (1, false));
    /// assert_eq!(chain.stored(now)?.fields[1], ("theirs".into(), "1".into()));
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn restore_fields(&mut self, fields: &(impl IdList + ?Sized)) -> Result<usize, Error> {
        let count = fields.len() / 2;
        let mut unseen = Vec::new();
        unseen.try_reserve_exact(count)?;
        let mut forget_before = None;
        let mut left_out = 0;
        for index in 0..count {
            match read_field(fields.get(2 * index), fields.get(2 * index + 1)) {
                Some(Field::Unseen(id, at)) => unseen.push((id, at)),
                Some(Field::ForgetBefore(at)) => forget_before = forget_before.max(Some(at)),
                Some(Field::Other(name, value)) => self.other_fields.push((name.to_owned(), value.to_owned())),
                None => left_out += 1,
            }
        }
        unseen.sort_unstable_by_key(|&(id, at)| (Reverse(at), id));
        left_out += unseen.len().saturating_sub(MAX_SNAPSHOT_UNSEEN);
        let newest = unseen.iter().take(MAX_SNAPSHOT_UNSEEN);
        let newest: Vec<Impression> = newest.map(|&(id, at)| Impression { id: id.to_owned(), at }).collect();
        self.restore(&newest, forget_before)?;
        Ok(left_out)
    }
}

enum Field<'a> {
    Unseen(&'a str, Time),
    ForgetBefore(Time),
    Other(&'a str, &'a str),
}

fn read_field<'a>(name: &'a [u8], value: &'a [u8]) -> Option<Field<'a>> {
    let [name, value] = [name, value].map(|text| std::str::from_utf8(text).ok());
    let (name, value) = (name?, value?);
    let unseen = name.strip_prefix(UNSEEN);
    if unseen.is_none() && name != FORGET_BEFORE {
        return Some(Field::Other(name, value));
    }
    let number: u64 = value.parse().ok()?;
    match unseen {
        None => (number <= LAST_SECOND).then(|| Field::ForgetBefore(Time::from_unix_seconds(number))),
        Some(id) => (number / 1000 <= LAST_SECOND).then(|| Field::Unseen(id, Time::from_unix_ms(number))),
    }
}
