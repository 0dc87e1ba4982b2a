/** What the guard of the Wasm module can be asked, by number. What each takes and answers, `src/web/guard.rs` says. */
export const RECORD = 0;
export const EXPLAIN = 1;
export const APPLY = 2;
export const STATS = 3;
export const PENDING = 4;
export const PENDING_SHARD = 5;
export const SET_DELIVERING = 6;
export const BEGIN_BATCH = 7;
export const END_BATCH = 8;
export const TAKE_UNSAVED = 9;
export const CHECKPOINT = 10;
export const TAKE_IN = 11;
export const FORGET = 12;
