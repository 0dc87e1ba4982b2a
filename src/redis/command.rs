//! The commands of a store in Redis: scripts with their keys and arguments.

use serde::{Serialize, Serializer};

use super::keys::StoreKeys;
use super::list_change::ListChange;
use crate::chain::StoredChain;
use crate::devices::{PendingUpdate, dropped_devices};

/// A script that runs in Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedisScript {
    /// Stores the device's pending list, if there is one, and loads a user's data. All of it is of one moment: shards
    /// from before a deletion of the history must not be combined with its time.
    /// [`LoadedFromRedis`](super::LoadedFromRedis) reads the response.
    Load,
    /// Stores a device's pending list: [`PendingFromRedis`](super::PendingFromRedis) reads the response.
    StorePending,
    /// Removes devices' pending lists.
    Drop,
    /// Replaces a user's list and hash, and returns 1; returns 0 if another process has changed either. In a full Redis
    /// it fails before it has changed anything, unless it deletes a history.
    Replace,
    /// [`RedisScript::Replace`] that also writes to a full Redis. Redis 7 or newer.
    ReplaceInFull,
}

impl RedisScript {
    /// All scripts, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Load,
        Self::StorePending,
        Self::Drop,
        Self::Replace,
        Self::ReplaceInFull,
    ];
    /// The functions with which every script begins.
    pub const BEGINNING: &'static str = include_str!("run.lua");

    /// The source of the script.
    pub fn source(self) -> &'static str {
        const LOAD: &str = concat!(
            include_str!("run.lua"),
            include_str!("store_pending.lua"),
            include_str!("load.lua")
        );
        const STORE_PENDING: &str = concat!(
            include_str!("run.lua"),
            include_str!("store_pending.lua"),
            include_str!("pending.lua")
        );
        const DROP: &str = concat!(include_str!("run.lua"), include_str!("drop.lua"));
        const REPLACE: &str = concat!(include_str!("run.lua"), include_str!("replace.lua"));
        const REPLACE_IN_FULL: &str = concat!(
            "#!lua flags=allow-oom\n",
            include_str!("run.lua"),
            include_str!("replace.lua")
        );
        match self {
            RedisScript::Load => LOAD,
            RedisScript::StorePending => STORE_PENDING,
            RedisScript::Drop => DROP,
            RedisScript::Replace => REPLACE,
            RedisScript::ReplaceInFull => REPLACE_IN_FULL,
        }
    }
}

/// Serialized as its number.
impl Serialize for RedisScript {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(*self as u32)
    }
}

/// A script to run, with its keys and arguments. It may run twice, as after a lost connection, without harm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RedisCommand {
    /// The script.
    pub script: RedisScript,
    /// Its keys.
    pub keys: Vec<String>,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl StoreKeys {
    /// Stores the device's pending list, if there is one, and loads the user's data.
    pub fn load(self, pending: Option<&PendingUpdate>) -> RedisCommand {
        RedisCommand {
            script: RedisScript::Load,
            keys: vec![self.list, self.meta, self.pending],
            arguments: pending.map(pending_arguments).unwrap_or_default(),
        }
    }

    /// Stores a device's pending list, and loads nothing.
    pub fn store_pending(self, pending: &PendingUpdate) -> RedisCommand {
        RedisCommand {
            script: RedisScript::StorePending,
            keys: vec![self.pending],
            arguments: pending_arguments(pending),
        }
    }

    /// Removes device lists beyond [`MAX_PENDING_DEVICES`](crate::MAX_PENDING_DEVICES); `None` if there are none.
    /// `stored`: the lists as they were loaded: a list that has changed since is not removed, nor is `latest`.
    pub fn drop_devices(self, stored: &str, latest: Option<&PendingUpdate>) -> Option<RedisCommand> {
        let arguments: Vec<String> = dropped_devices(stored, latest).into_iter().flatten().collect();
        (!arguments.is_empty()).then(|| RedisCommand {
            script: RedisScript::Drop,
            keys: vec![self.pending],
            arguments,
        })
    }

    /// Replaces a chain by another one if the revision is unchanged, and stores it for this many seconds; 0: without
    /// expiry. `forgets`: also removes the devices' pending lists.
    ///
    /// ```
    /// use seenguard::{StoreKeys, StoredChain};
    /// let keys = StoreKeys::of("seen:", "ada", false)?;
    /// let [before, after] = [["b", "a"], ["c", "b"]].map(|shards| StoredChain {
    ///     shards: shards.map(String::from).to_vec(),
    ///     ..StoredChain::default()
    /// });
    /// // The elements 0 to 0 stay, and one comes before them.
    /// assert_eq!(keys.replace(7, &before, &after, 60, false).arguments, ["7", "0", "0", "60", "1", "c"]);
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    pub fn replace(
        self,
        revision: u64,
        before: &StoredChain,
        after: &StoredChain,
        life_seconds: u64,
        forgets: bool,
    ) -> RedisCommand {
        let ListChange {
            added,
            first,
            unchanged,
        } = ListChange::between(&before.shards, &after.shards);
        let last = (first + unchanged) as i64 - 1;
        let numbers = [
            revision.to_string(),
            first.to_string(),
            last.to_string(),
            life_seconds.to_string(),
            added.to_string(),
        ];
        // The oldest first.
        let shards = after.shards[..added].iter().rev().cloned();
        let mut keys = vec![self.list, self.meta];
        keys.extend(forgets.then_some(self.pending));
        RedisCommand {
            script: RedisScript::Replace,
            keys,
            arguments: numbers
                .into_iter()
                .chain(shards)
                .chain(changed_fields(before, after))
                .collect(),
        }
    }
}

/// The arguments of a script that stores a pending list: device name, counter, list, when it arrived and how long it is
/// stored, both in seconds, and whether it lists anything.
fn pending_arguments(pending: &PendingUpdate) -> Vec<String> {
    let (device, counter) = pending.key();
    let [at, life] = [pending.at().unix_seconds(), pending.life_seconds().into()].map(|seconds| seconds.to_string());
    let lists_any = u8::from(pending.lists_any()).to_string();
    vec![device, counter, pending.text().to_owned(), at, life, lists_any]
}

/// Name and new value of each changed field; an empty value deletes it.
fn changed_fields(before: &StoredChain, after: &StoredChain) -> Vec<String> {
    let (known, wanted) = (sorted_fields(before), sorted_fields(after));
    let changed = after.fields.iter().filter(|field| known.binary_search(field).is_err());
    let removed = before.fields.iter().filter(|(name, _)| {
        let found = wanted.binary_search_by(|(wanted, _)| wanted.cmp(name));
        found.is_err()
    });
    let changed = changed.map(|(name, value)| [name.clone(), value.clone()]);
    let removed = removed.map(|(name, _)| [name.clone(), String::new()]);
    changed.chain(removed).flatten().collect()
}

fn sorted_fields(chain: &StoredChain) -> Vec<&(String, String)> {
    let mut fields: Vec<_> = chain.fields.iter().collect();
    fields.sort_unstable();
    fields
}
