//! What the stores of `js/server/store/` ask: names of keys, and what to keep of devices' pending impressions.

use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::batch::TextBatch;
use super::{failure, to_js};
use crate::chain::{ListChange, StoreKeys};
use crate::devices::{PENDING_SECONDS, PendingToKeep};
use crate::id_list::IdList;
use crate::time::Time;

/// The keys of a user: of the list, of the hash beside it, and of what devices have pending.
#[wasm_bindgen(js_name = storeKeys)]
pub fn store_keys(prefix: &str, user: &str, is_cluster: bool) -> Result<JsValue, JsValue> {
    let StoreKeys { list, meta, pending } = StoreKeys::of(prefix, user, is_cluster).map_err(failure)?;
    Ok(to_js(&[list, meta, pending]))
}

/// How to make one list of shards of another: how many new ones come first, from which element of the old list on stay
/// how many. The batch has the old list's texts before those of the new one.
#[wasm_bindgen(js_name = listChange)]
pub fn list_change(texts: &TextBatch, before: usize) -> Vec<u32> {
    let text = |index| texts.get(index);
    let before = before.min(texts.len());
    let old: Vec<&[u8]> = (0..before).map(text).collect();
    let new: Vec<&[u8]> = (before..texts.len()).map(text).collect();
    let ListChange { added, first, kept, .. } = ListChange::between(&old, &new);
    [added, first, kept].map(|number| number as u32).to_vec()
}

/// What to keep of what came as `Seen-Pending`, as the arguments of `keep.lua`; undefined if nothing.
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
        Some(pending) => to_js(&pending.arguments()),
        None => JsValue::UNDEFINED,
    }
}

/// The lines of what is kept from now on; undefined if nothing changes.
#[wasm_bindgen(js_name = keepPending)]
pub fn keep_pending(
    kept: &str,
    text: &str,
    namespace: Option<String>,
    now_seconds: f64,
    pending_seconds: Option<u32>,
) -> Result<Option<String>, JsValue> {
    let now = Time::from_unix_seconds(now_seconds as u64);
    let seconds = pending_seconds.unwrap_or(PENDING_SECONDS);
    match PendingToKeep::of(text, namespace.as_deref(), now, seconds) {
        Some(pending) => pending.added_to(kept).map_err(failure),
        None => Ok(None),
    }
}
