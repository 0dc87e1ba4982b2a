//! The native hot path, whose instructions callgrind counts: `node scripts/test/instructions.mjs` runs this under
//! valgrind and compares the counts with the recorded ones. Unlike times, they do not differ from run to run.
//!
//! Only instructions inside the two functions below are counted; callgrind identifies them by their names.

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
    // Warm up without counting, so that every buffer has its size.
    feed::filter(&mut guard, &page);
    let fresh = counted_filter_of_2000_ids(&mut guard, &page);
    assert!((1_450..=1_500).contains(&fresh), "{fresh} of 2,000 ids are fresh");
}
