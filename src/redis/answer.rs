//! Responses of Redis.

use crate::chain::StoredChain;
use crate::time::Time;

/// The name of the hash's field with the revision.
const REVISION: &str = "revision";

/// The response of [`RedisScript::Load`](super::RedisScript::Load).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadedFromRedis {
    /// The chain as it is stored.
    pub stored: StoredChain,
    /// Differs after each change; 0 while nothing is stored.
    pub revision: u64,
    /// The devices' pending impressions, in the lines of [`PendingUpdate::added_to`](crate::PendingUpdate::added_to).
    pub pending: String,
    /// Redis's clock.
    pub now: Option<Time>,
    /// The error with which Redis refused to store the device's pending impressions.
    pub refusal: Option<String>,
}

impl LoadedFromRedis {
    /// Reads a response: its strings in their order, each list with its length before it. `None` for any other
    /// response.
    ///
    /// ```
    /// use seenguard::LoadedFromRedis;
    /// let answer = ["1", "AAAA", "4", "theirs", "1", "revision", "7", "7", "0", "", "1764000000000"];
    /// let loaded = LoadedFromRedis::read(answer.map(String::from)).unwrap();
    /// assert_eq!((loaded.stored.shards.len(), loaded.stored.fields.len(), loaded.revision), (1, 1, 7));
    /// ```
    pub fn read(parts: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let shards = list(&mut parts)?;
        let mut names = list(&mut parts)?.into_iter();
        let fields = std::iter::from_fn(|| Some((names.next()?, names.next()?)));
        let fields = fields.filter(|(name, _)| name != REVISION).collect();
        Some(LoadedFromRedis {
            stored: StoredChain { shards, fields },
            revision: parts.next()?.parse().ok()?,
            pending: list(&mut parts)?.join("\n"),
            refusal: parts.next().map(|text| Some(text).filter(|text| !text.is_empty()))?,
            now: time(&parts.next()?),
        })
    }
}

fn list(parts: &mut impl Iterator<Item = String>) -> Option<Vec<String>> {
    let length = parts.next()?.parse().ok()?;
    let list: Vec<String> = parts.take(length).collect();
    (list.len() == length).then_some(list)
}

/// The response of [`RedisScript::StorePending`](super::RedisScript::StorePending).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingFromRedis {
    /// The devices' pending impressions if they are of more than 8 devices, for
    /// [`StoreKeys::drop_devices`](crate::StoreKeys::drop_devices).
    pub pending: String,
    /// Redis's clock.
    pub now: Option<Time>,
}

impl PendingFromRedis {
    /// Reads a response: its strings in their order, each list with its length before it. `None` for any other
    /// response.
    pub fn read(parts: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut parts = parts.into_iter();
        Some(PendingFromRedis {
            pending: list(&mut parts)?.join("\n"),
            now: time(&parts.next()?),
        })
    }
}

fn time(text: &str) -> Option<Time> {
    text.parse().ok().map(Time::from_unix_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_response_is_none() {
        let answer = ["1", "AAAA", "2", "revision", "7", "7", "1", "pending", "", "1"].map(String::from);
        assert!(LoadedFromRedis::read(answer.clone()).is_some());
        for length in 0..answer.len() {
            assert_eq!(LoadedFromRedis::read(answer[..length].to_vec()), None, "{length}");
        }
    }
}
