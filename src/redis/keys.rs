//! The keys of a user's data in a store.

use crate::error::Error;

/// The suffixes of a user's other keys.
const META: &str = ":meta";
const PENDING: &str = ":pending";
/// Most bytes of a user's name.
const MAX_USER_BYTES: usize = 512;

/// A user's three keys. On a cluster they share a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreKeys {
    /// The list of shards, newest first.
    pub list: String,
    /// The hash with the revision, the unseen ids, and the time at which the history was deleted.
    pub meta: String,
    /// The hash with the devices' pending lists.
    pub pending: String,
}

impl StoreKeys {
    /// The keys of a user: `<prefix><user>`, and the same followed by `:meta` and `:pending`. On a cluster they begin
    /// with `<prefix>{<user>}`, where opening braces in the prefix, closing ones in the user, and `%` are
    /// percent-encoded: the part between the first braces determines the slot.
    ///
    /// ```
    /// use seenguard::StoreKeys;
    /// assert_eq!(StoreKeys::of("seen:", "ada", false)?.meta, "seen:ada:meta");
    /// assert_eq!(StoreKeys::of("seen:", "ada", true)?.pending, "seen:{ada}:pending");
    /// assert_eq!(StoreKeys::of("seen{}:", "}", true)?.list, "seen%7B}:{%7D}");
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadOption`] for a user that is empty, has over 512 bytes, or ends in `:meta` or `:pending`.
    pub fn of(prefix: &str, user: &str, is_cluster: bool) -> Result<Self, Error> {
        if user.is_empty() {
            return Err(Error::BadOption("a store's user must be a string that is not empty"));
        }
        if user.len() > MAX_USER_BYTES {
            return Err(Error::BadOption("a user's name must have at most 512 bytes"));
        }
        if user.ends_with(META) || user.ends_with(PENDING) {
            return Err(Error::BadOption("a user's name must not end in :meta or :pending"));
        }
        let list = if is_cluster {
            let prefix = prefix.replace('%', "%25").replace('{', "%7B");
            let user = user.replace('%', "%25").replace('}', "%7D");
            format!("{prefix}{{{user}}}")
        } else {
            format!("{prefix}{user}")
        };
        Ok(StoreKeys {
            meta: format!("{list}{META}"),
            pending: format!("{list}{PENDING}"),
            list,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of a key that determines its slot.
    fn hash_tag(key: &str) -> &str {
        let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
        tag.map_or(key, |(tag, _)| if tag.is_empty() { key } else { tag })
    }

    #[test]
    fn on_a_cluster_the_keys_of_a_user_share_a_slot() {
        let names = ["a", "{", "}", "}x", "{}", "{a}b", "a}{", "%7D", "%", "\u{0}", "é"];
        let mut lists = Vec::new();
        for prefix in ["", "seen:", "seen{}:", "{", "}", "{}", "{a}", "a{b"] {
            for user in names {
                let keys = StoreKeys::of(prefix, user, true).unwrap();
                assert_ne!(hash_tag(&keys.list), keys.list, "{prefix}, {user}");
                assert_eq!(hash_tag(&keys.list), hash_tag(&keys.meta), "{prefix}, {user}");
                assert_eq!(hash_tag(&keys.list), hash_tag(&keys.pending), "{prefix}, {user}");
                lists.push(keys.list);
            }
            lists.sort();
            lists.dedup();
            assert_eq!(lists.len() % names.len(), 0, "no two users share a list");
        }
    }

    #[test]
    fn a_user_with_a_reserved_suffix_or_too_long_a_name_is_refused() {
        StoreKeys::of("seen:", &"a".repeat(512), false).unwrap();
        for user in ["", "ada:meta", "ada:pending", ":meta", &"é".repeat(257)] {
            assert_eq!(
                StoreKeys::of("seen:", user, false).map_err(|error| error.code()),
                Err("bad-option")
            );
        }
    }
}
