//! Functions for the stores of `js/server/store/`: the pending impressions to keep, and the commands for Redis.

use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::batch::TextBatch;
use super::{failure, to_js};
use crate::chain::StoredChain;
use crate::devices::{PENDING_SECONDS, PendingToKeep};
use crate::id_list::IdList;
use crate::redis::{LoadedFromRedis, RedisCommand, RedisFailure, RedisScript, StoreKeys};
use crate::time::Time;

/// Refuses an invalid user.
#[wasm_bindgen(js_name = checkUser)]
pub fn check_user(user: &str) -> Result<(), JsValue> {
    StoreKeys::of("", user, false).map(drop).map_err(failure)
}

/// The pending impressions that a store keeps.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToKeep<'a> {
    text: &'a str,
    at: f64,
    life_seconds: u32,
}

/// The part of a `Seen-Pending` to keep; undefined if there is none.
#[wasm_bindgen(js_name = pendingToKeep)]
pub fn pending_to_keep(
    text: &str,
    namespace: Option<String>,
    now_seconds: f64,
    pending_seconds: Option<u32>,
) -> JsValue {
    let now = Time::from_unix_seconds(now_seconds as u64);
    let seconds = pending_seconds.unwrap_or(PENDING_SECONDS);
    match PendingToKeep::of(text, namespace.as_deref(), now, seconds) {
        Some(told) => to_js(&ToKeep {
            text: told.text(),
            at: told.at().unix_seconds() as f64,
            life_seconds: told.life_seconds(),
        }),
        None => JsValue::UNDEFINED,
    }
}

/// Restores the result of `pendingToKeep`.
fn told(text: &str, at: f64, life_seconds: u32) -> Option<PendingToKeep> {
    PendingToKeep::of(text, None, Time::from_unix_seconds(at as u64), life_seconds)
}

/// The new lines; undefined if nothing changes.
#[wasm_bindgen(js_name = keepPending)]
pub fn keep_pending(kept: &str, text: &str, at: f64, life_seconds: u32) -> Result<Option<String>, JsValue> {
    match told(text, at, life_seconds) {
        Some(told) => told.added_to(kept).map_err(failure),
        None => Ok(None),
    }
}

/// A command for Redis.
#[derive(Serialize)]
struct Command {
    script: usize,
    keys: Vec<String>,
    arguments: Vec<String>,
}

fn command(command: RedisCommand) -> JsValue {
    let RedisCommand {
        script,
        keys,
        arguments,
    } = command;
    to_js(&Command {
        script: script as usize,
        keys,
        arguments,
    })
}

/// A script by its number.
#[wasm_bindgen(js_name = redisScript)]
pub fn redis_script(number: usize) -> String {
    RedisScript::ALL
        .get(number)
        .map(|script| script.text().to_owned())
        .unwrap_or_default()
}

/// The commands of a store in Redis.
#[wasm_bindgen]
pub struct RedisCommands {
    prefix: String,
    is_cluster: bool,
}

#[wasm_bindgen]
impl RedisCommands {
    #[wasm_bindgen(constructor)]
    pub fn new(prefix: String, is_cluster: bool) -> RedisCommands {
        RedisCommands { prefix, is_cluster }
    }

    fn keys(&self, user: &str) -> Result<StoreKeys, JsValue> {
        StoreKeys::of(&self.prefix, user, self.is_cluster).map_err(failure)
    }

    /// Keeps a device's pending impressions, if given, then loads.
    pub fn load(&self, user: &str, text: Option<String>, at: f64, life_seconds: u32) -> Result<JsValue, JsValue> {
        let told = text.and_then(|text| told(&text, at, life_seconds));
        Ok(command(self.keys(user)?.load(told.as_ref())))
    }

    /// Keeps a device's pending impressions.
    pub fn keep(&self, user: &str, text: &str, at: f64, life_seconds: u32) -> Result<JsValue, JsValue> {
        let keys = self.keys(user)?;
        Ok(told(text, at, life_seconds).map_or(JsValue::UNDEFINED, |told| command(keys.keep(&told))))
    }

    /// Drops kept lists beyond the limit; undefined if there are none.
    #[wasm_bindgen(js_name = dropDevices)]
    pub fn drop_devices(&self, user: &str, kept: &str) -> Result<JsValue, JsValue> {
        Ok(self.keys(user)?.drop_devices(kept).map_or(JsValue::UNDEFINED, command))
    }

    /// Replaces a chain. The batch has, of the old and then of the new chain, each shard, then each field's name and
    /// value; `lengths` are their numbers.
    pub fn replace(
        &self,
        user: &str,
        texts: &TextBatch,
        lengths: &[usize],
        revision: f64,
        life_seconds: f64,
        forgets: bool,
    ) -> Result<JsValue, JsValue> {
        let mut texts = all(texts);
        let mut lengths = lengths.iter().copied();
        let mut list = || texts.by_ref().take(lengths.next().unwrap_or(0)).collect::<Vec<_>>();
        let mut chain = || {
            let (shards, mut names) = (list(), list().into_iter());
            let fields = std::iter::from_fn(|| Some((names.next()?, names.next()?))).collect();
            StoredChain { shards, fields }
        };
        let (before, after) = (chain(), chain());
        let keys = self.keys(user)?;
        Ok(command(keys.replace(
            revision as u64,
            &before,
            &after,
            life_seconds as u64,
            forgets,
        )))
    }
}

fn all(texts: &TextBatch) -> impl Iterator<Item = String> {
    (0..texts.len()).map(|index| String::from_utf8_lossy(texts.get(index)).into_owned())
}

/// The loaded data.
#[derive(Serialize)]
struct Loaded {
    stored: StoredChain,
    revision: f64,
    kept: String,
    now: f64,
    refusal: Option<String>,
}

/// Reads the answer of the command that loads: its texts, before those of each list their number. Undefined for another
/// answer.
#[wasm_bindgen(js_name = loadedFromRedis)]
pub fn loaded_from_redis(texts: &TextBatch) -> JsValue {
    let of = |loaded: LoadedFromRedis| Loaded {
        stored: loaded.stored,
        revision: loaded.revision as f64,
        kept: loaded.kept,
        now: loaded.now.unix_ms() as f64 / 1000.0,
        refusal: loaded.refusal,
    };
    LoadedFromRedis::read(all(texts))
        .map(of)
        .map_or(JsValue::UNDEFINED, |loaded| to_js(&loaded))
}

/// Whether to retry after this error of Redis.
#[wasm_bindgen(js_name = mayPass)]
pub fn may_pass(error: &str) -> bool {
    RedisFailure::of(error).may_pass()
}
