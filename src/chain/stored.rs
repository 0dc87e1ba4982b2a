//! The stored form of a chain: a list of shards, and the fields of a hash, each a name with a number.
//!
//! | field | value |
//! | --- | --- |
//! | `unseen:<id>` | since when the id is unseen, Unix milliseconds |
//! | `seen:<id>` | in its place: when it was seen again, Unix milliseconds |
//! | `forgetBefore` | when the history was deleted, Unix seconds |

use serde::{Deserialize, Serialize};

use super::seconds::{rounded_up, shard_seconds};
use super::shard_chain::{ShardChain, contained};
use super::unseen::MAX_UNSEEN_ID_BYTES;
use crate::error::Error;
use crate::id_list::IdList;
use crate::impression::Impression;
use crate::time::Time;

/// The prefix of a field's name; the rest of the name is an id, which may be any string.
const UNSEEN: &str = "unseen:";
const SEEN: &str = "seen:";
const FORGET_BEFORE: &str = "forgetBefore";
/// The end of the format's 32 bits of seconds: a later time is invalid.
const LAST_SECOND: u64 = u32::MAX as u64;

/// The stored form of a chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredChain {
    /// The shards as strings, newest first.
    pub shards: Vec<String>,
    /// The names and values of the hash, usually none.
    pub fields: Vec<(String, String)>,
}

impl ShardChain {
    /// The form to store. Stored strings that cannot be read are in it unchanged.
    ///
    /// # Errors
    /// As [`ShardChain::snapshot`].
    pub fn stored(&self, now: Time) -> Result<StoredChain, Error> {
        let seconds = shard_seconds(now)?;
        let live = self.links.iter().filter(|link| link.is_live(seconds));
        let shards: Result<Vec<String>, Error> = live.map(|link| Ok(link.encoded()?.into_owned())).collect();
        Ok(StoredChain {
            shards: shards?,
            fields: self.stored_fields(now)?,
        })
    }

    /// The fields of [`ShardChain::stored`].
    pub(crate) fn stored_fields(&self, now: Time) -> Result<Vec<(String, String)>, Error> {
        let now = shard_seconds(now)?;
        let since = |prefix: &'static str, is_seen: bool| {
            let ids = self.unseen.newest_first(is_seen, |id| contained(self.live(now), id));
            ids.into_iter()
                .map(move |Impression { id, at }| (format!("{prefix}{id}"), at.unix_ms().to_string()))
        };
        let forget_before = |at: u32| (FORGET_BEFORE.to_owned(), at.to_string());
        Ok(since(UNSEEN, false)
            .chain(since(SEEN, true))
            .chain(self.forget_before.map(forget_before))
            .chain(self.other_fields.iter().cloned())
            .collect())
    }

    /// Restores the fields stored with the shards, given as a list of names, each followed by its value. Returns how
    /// many it has dropped: damaged fields, and unseen ids beyond their limits. Fields of other names are stored again
    /// unchanged.
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
        let mut left_out = 0;
        for index in 0..fields.len() / 2 {
            match read_field(fields.get(2 * index), fields.get(2 * index + 1)) {
                Some(Field::Since { id, at, is_seen }) => self.unseen.insert(id.as_bytes(), at, is_seen),
                Some(Field::ForgetBefore(at)) => self.forget_before = self.forget_before.max(Some(rounded_up(at)?)),
                Some(Field::Other(name, value)) => self.other_fields.push((name.to_owned(), value.to_owned())),
                None => left_out += 1,
            }
        }
        left_out += self.unseen.retain_newest(|_| true);
        self.drop_unneeded_unseen();
        Ok(left_out)
    }
}

enum Field<'a> {
    Since { id: &'a str, at: Time, is_seen: bool },
    ForgetBefore(Time),
    Other(&'a str, &'a str),
}

fn read_field<'a>(name: &'a [u8], value: &'a [u8]) -> Option<Field<'a>> {
    let [name, value] = [name, value].map(|text| std::str::from_utf8(text).ok());
    let (name, value) = (name?, value?);
    let since = |prefix, is_seen| name.strip_prefix(prefix).map(|id| (id, is_seen));
    let since = since(UNSEEN, false).or_else(|| since(SEEN, true));
    if since.is_none() && name != FORGET_BEFORE {
        return Some(Field::Other(name, value));
    }
    let number: u64 = value.parse().ok()?;
    match since {
        None => (number <= LAST_SECOND).then(|| Field::ForgetBefore(Time::from_unix_seconds(number))),
        Some((id, is_seen)) => {
            let at = Time::from_unix_ms(number);
            let can_be = at.unix_seconds() <= LAST_SECOND && id.len() <= MAX_UNSEEN_ID_BYTES;
            can_be.then_some(Field::Since { id, at, is_seen })
        }
    }
}
