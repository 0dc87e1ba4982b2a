//! The native hot path, for callgrind to count its instructions: `node scripts/test/instructions.mjs` runs this under
//! valgrind and compares the counts with those that were written down. Times differ from run to run, these do not.
//!
//! Only what happens inside the two functions below is counted; callgrind knows them by their names.

mod feed;

use std::hint::black_box;

use feed::Random;
use seenguard::device::Guard;

#[inline(never)]
fn counted_filter_of_2000_ids(guard: &mut Guard, page: &[String]) -> usize {
    feed::filter(guard, black_box(page)).len()
}

#[inline(never)]
fn counted_apply_of_5_shards(guard: &mut Guard, shards: &[String]) {
    feed::apply(guard, black_box(shards));
}

fn main() {
    let mut random = Random(1);
    let seen = feed::seen(&mut random);
    let shards = feed::shards_of(&seen);
    let mut guard = feed::guard();
    counted_apply_of_5_shards(&mut guard, &shards);
    let page = random.page(&seen.concat());
    // Once without being counted, until every buffer has its size.
    feed::filter(&mut guard, &page);
    let fresh = counted_filter_of_2000_ids(&mut guard, &page);
    assert!((1_450..=1_500).contains(&fresh), "{fresh} of 2,000 ids are fresh");
}
