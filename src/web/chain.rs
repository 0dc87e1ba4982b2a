//! The functions behind `ShardChain`. Ids and stored shards come in as the batch.

use std::cell::RefCell;

use wasm_bindgen::prelude::wasm_bindgen;

use super::answer::Answer;
use super::batch::with_batch;
use super::format;
use super::numbered::{Numbered, with_numbered};
use crate::id_list::IdList;
use crate::{ChainOptions, Error, ShardChain};

thread_local! {
    static CHAINS: RefCell<Numbered<ShardChain>> = const { RefCell::new(Numbered::new()) };
}

/// Goes on from the batch's stored shards in the format that the first three arguments tell, newest first; from none, a new chain. Answers its number,
/// and the codes of the shards that could not be read, each with its place. Or no number, for options without meaning, and what is wrong with them.
// Plain arguments are what crosses this boundary most cheaply.
#[allow(clippy::too_many_arguments)]
#[wasm_bindgen(js_name = newChain)]
pub fn new_chain(
    kind: u8,
    number: u32,
    rate: f64,
    capacity: u32,
    shards: usize,
    false_positive_rate: f64,
    seed: u64,
    ttl_seconds: u32,
) -> *const f64 {
    let mut answer = Answer::default();
    let options = format(kind, number, rate).map(|format| ChainOptions {
        capacity,
        shards,
        false_positive_rate,
        seed,
        ttl_seconds,
        format,
    });
    if let Err(error) = options.and_then(|options| go_on(options, &mut answer)) {
        answer.tell_error(&error);
    }
    answer.place()
}

fn go_on(options: ChainOptions, answer: &mut Answer) -> Result<(), Error> {
    let (chain, rejected) = with_batch(|ids, _| {
        let stored = (0..ids.len()).map(|index| {
            // What is no UTF-8, which JavaScript does not write, is no base64 either.
            std::str::from_utf8(ids.get(index)).unwrap_or("!")
        });
        ShardChain::from_shards(&stored.collect::<Vec<_>>(), options)
    })?;
    let number = CHAINS.with_borrow_mut(|chains| chains.add(chain));
    answer.tell(&[number as f64]);
    for shard in rejected {
        answer.tell_text_at(shard.error.code().as_bytes(), shard.index as u64);
    }
    Ok(())
}

/// Gives a chain's memory back.
#[wasm_bindgen(js_name = freeChain)]
pub fn free_chain(number: usize) {
    CHAINS.with_borrow_mut(|chains| chains.remove(number));
}

/// Records the batch's ids. Returns how many no live shard contained. Times are Unix seconds.
#[wasm_bindgen(js_name = recordInChain)]
pub fn record_in_chain(chain: usize, now_seconds: f64) -> usize {
    with_numbered(&CHAINS, chain, |chain, ids, _| {
        chain.record((0..ids.len()).map(|index| ids.get(index)), now_seconds as u64)
    })
    .unwrap_or_default()
}

/// Puts the indices of the batch's ids that no live shard contains where `fresh` tells. Returns how many they are.
#[wasm_bindgen(js_name = filterByChain)]
pub fn filter_by_chain(chain: usize, now_seconds: f64) -> usize {
    with_numbered(&CHAINS, chain, |chain, ids, fresh| {
        chain.filter_into(ids, now_seconds as u64, fresh);
        fresh.len()
    })
    .unwrap_or_default()
}

/// Answers what the server ships: its clock, the version if the format has any, and the shards' texts.
#[wasm_bindgen(js_name = shipChain)]
pub fn ship_chain(chain: usize, now_seconds: f64) -> *const f64 {
    let mut answer = Answer::default();
    with_numbered(&CHAINS, chain, |chain, _, _| {
        let snapshot = chain.snapshot(now_seconds as u64);
        answer.tell(&[snapshot.now as f64]);
        if let Some(version) = snapshot.version {
            answer.tell(&[version as f64]);
        }
        for shard in &snapshot.shards {
            answer.tell_text_at(shard.as_bytes(), 0);
        }
    });
    answer.place()
}
