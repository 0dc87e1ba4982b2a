//! The commands of a store in Redis: scripts with their keys and arguments.

use std::collections::BTreeMap;

use super::keys::StoreKeys;
use super::list_change::ListChange;
use crate::chain::StoredChain;
use crate::devices::{PendingToKeep, dropped_devices};

/// A script that runs in Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedisScript {
    /// Loads a user, all as of one moment (a history that was deleted must not meet the shards from before), after
    /// keeping what a device has told: [`LoadedFromRedis`](super::LoadedFromRedis) reads the answer.
    Load,
    /// Keeps what a device has told: [`KeptInRedis`](super::KeptInRedis) reads the answer.
    Keep,
    /// Drops what is kept of devices.
    Drop,
    /// Replaces a user's list and hash, and answers 1; or 0 if another process has changed either. In a full Redis it
    /// fails before it has changed anything, unless it deletes a history.
    Replace,
    /// The same even where Redis is full, from version 7 on.
    ReplaceInFull,
}

impl RedisScript {
    /// Each of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Load, Self::Keep, Self::Drop, Self::Replace, Self::ReplaceInFull];
    /// What every script begins with.
    pub const BEGINNING: &'static str = include_str!("run.lua");

    /// The script's text.
    pub fn text(self) -> &'static str {
        const LOAD: &str = concat!(
            include_str!("run.lua"),
            include_str!("keep.lua"),
            include_str!("load.lua")
        );
        const KEEP: &str = concat!(
            include_str!("run.lua"),
            include_str!("keep.lua"),
            include_str!("kept.lua")
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
            RedisScript::Keep => KEEP,
            RedisScript::Drop => DROP,
            RedisScript::Replace => REPLACE,
            RedisScript::ReplaceInFull => REPLACE_IN_FULL,
        }
    }
}

/// A script to run. Whether one has run whose connection was lost is not known: to run it again does no harm.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Loads all that there is, after keeping what a device has told.
    pub fn load(self, told: Option<&PendingToKeep>) -> RedisCommand {
        RedisCommand {
            script: RedisScript::Load,
            keys: vec![self.list, self.meta, self.pending],
            arguments: told.map(keep_arguments).unwrap_or_default(),
        }
    }

    /// Keeps what a device has told, and no more.
    pub fn keep(self, told: &PendingToKeep) -> RedisCommand {
        RedisCommand {
            script: RedisScript::Keep,
            keys: vec![self.pending],
            arguments: keep_arguments(told),
        }
    }

    /// Removes device lists beyond [`MAX_PENDING_DEVICES`](crate::MAX_PENDING_DEVICES), as they were loaded; `None` if
    /// there are none. One that has changed meanwhile stays, as does the one just stored.
    pub fn drop_devices(self, kept: &str, latest: Option<&PendingToKeep>) -> Option<RedisCommand> {
        let arguments: Vec<String> = dropped_devices(kept, latest).into_iter().flatten().collect();
        (!arguments.is_empty()).then(|| RedisCommand {
            script: RedisScript::Drop,
            keys: vec![self.pending],
            arguments,
        })
    }

    /// Makes one chain of another if the revision is still this one, to keep it for so many seconds, or for ever if they
    /// are 0. `forgets`: what is kept of devices goes, too.
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
        let ListChange { added, first, kept } = ListChange::between(&before.shards, &after.shards);
        let last = (first + kept) as i64 - 1;
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

/// The device name, the counter, the text, when it was told and for how long it is kept, both in seconds, and whether
/// it lists anything.
fn keep_arguments(told: &PendingToKeep) -> Vec<String> {
    let (device, counter) = told.key();
    let times = [told.at().unix_seconds(), told.life_seconds().into()].map(|seconds| seconds.to_string());
    let lists_any = u8::from(told.lists_any()).to_string();
    [
        [device, counter, told.text().to_owned()].as_slice(),
        &times,
        &[lists_any],
    ]
    .concat()
}

/// Of each field that is to be another its name and its value, an empty one if it goes.
fn changed_fields(before: &StoredChain, after: &StoredChain) -> Vec<String> {
    let mut known = BTreeMap::new();
    for (name, value) in &before.fields {
        known.insert(name.as_str(), value);
    }
    let mut changes = Vec::new();
    for (name, value) in &after.fields {
        if known.remove(name.as_str()) != Some(value) {
            changes.extend([name.clone(), value.clone()]);
        }
    }
    changes.extend(known.into_keys().flat_map(|name| [name.to_owned(), String::new()]));
    changes
}
