/** The mutants of `mutants.mjs`: each breaks one rule of the core or of the storage protocol. */

const IMPRESSIONS = "src/guard/impressions.rs";
const RECORDING = "src/guard/recording.rs";
const DELIVERY = "src/guard/delivery.rs";
const FORGOTTEN = "src/guard/forgotten.rs";
const GUARD = "src/guard/mod.rs";
const APPLY = "src/guard/apply.rs";
const VERDICT = "src/guard/verdict.rs";
const SERVER_VIEW = "src/guard/server_view.rs";
const TAKEN_BACK = "src/guard/taken_back.rs";
const ID_LIST = "src/id_list.rs";
const CHAIN = "src/chain/shard_chain.rs";
const REPORT = "src/chain/report.rs";
const STORAGE = "src/guard/storage.rs";
const SEGMENT = "src/guard/segment.rs";
/** The model of the protocol of js/storage. */
const WRITER = "tests/simulation/writer.rs";

/**
 * What each mutant is called, and where which text becomes which.
 *
 * @type {[name: string, file: string, from: string, to: string][]}
 */
export const MUTANTS = [
  // The table.
  [
    "eviction by the clock",
    RECORDING,
    "seq: recording.seq,\n            at: recording.at,",
    "seq: recording.at,\n            at: recording.seq,",
  ],
  [
    "eviction one too early",
    IMPRESSIONS,
    "self.keep_highest(self.remember, |_| true)",
    "self.keep_highest(self.remember - 1, |_| true)",
  ],
  [
    "eviction by the window",
    IMPRESSIONS,
    "self.keep_highest(self.remember, |_| true)",
    "self.retain(|recording| recording.at > 1_765_000_000_000)",
  ],
  ["merge by the clock alone", RECORDING, "(self.seq, self.at, self.kind)", "(self.at, self.at, self.kind)"],
  [
    "no counter",
    IMPRESSIONS,
    "*counter += u64::from(*counter != MAX_SEQ);\n        *counter",
    "*counter = (*counter).max(1);\n        1",
  ],
  ["counter not raised by what is heard", IMPRESSIONS, "self.counter = self.counter.max(recording.seq);", ""],
  [
    "early recordings numbered from 1",
    IMPRESSIONS,
    "let seq = self.next_seq();\n            self.change",
    "let seq = 1;\n            self.change",
  ],
  [
    "the lower of two recordings stays",
    RECORDING,
    "Ordering::Greater => self,\n            std::cmp::Ordering::Less => other,",
    "Ordering::Greater => other,\n            std::cmp::Ordering::Less => self,",
  ],
  ["covered not merged", RECORDING, "covered: self.covered || other.covered,", ""],
  ["delivered not merged", RECORDING, "delivered: self.delivered || other.delivered,", ""],
  ["text not merged", RECORDING, "(mine, other) => mine.or(other),", "(mine, _) => mine,"],
  ["text dropped while undelivered", RECORDING, "!self.covered || (!self.delivered && reporting),", "!self.covered,"],
  [
    "window a millisecond short",
    IMPRESSIONS,
    "now_ms < recording.at.saturating_add",
    "now_ms + 1 < recording.at.saturating_add",
  ],
  [
    "window without end",
    IMPRESSIONS,
    "now_ms < recording.at.saturating_add(self.window_ms)",
    "now_ms < u64::MAX - recording.at",
  ],
  ["taken back ties win", RECORDING, "    Unseen,\n    Seen,", "    Seen,\n    Unseen,"],
  // Snapshots.
  ["older snapshots are taken", APPLY, "if is_older {", "if false {"],
  [
    "versions before deletions",
    APPLY,
    "(forget_before, version) < (self.forget_before, current)",
    "(version, forget_before) < (current, self.forget_before)",
  ],
  ["everything pending is covered", APPLY, "|| !self.server.contains(id, &live) {", "{"],
  [
    "what is taken back is stopped by shards",
    VERDICT,
    "Some(recording) if recording.is_taken_back() => Verdict::Fresh,",
    "",
  ],
  // References, and the snapshot of the last visit.
  [
    "a reference stands for a shard of another format",
    SERVER_VIEW,
    "let held = if format == self.format {",
    "let held = if format == self.format || self.len() > 0 {",
  ],
  ["a missing shard counts as empty", SERVER_VIEW, "None => is_missing = true,", "None => {}"],
  ["a request names shards after one was missing", APPLY, "if self.is_missing_shard {", "if false {"],
  [
    "a stored snapshot replaces one of this visit",
    APPLY,
    "if self.has_applied || forget_before < self.latest_deletion() {",
    "if forget_before < self.latest_deletion() {",
  ],
  [
    "a stored snapshot from before a deletion is taken over",
    APPLY,
    "if self.has_applied || forget_before < self.latest_deletion() {",
    "if self.has_applied {",
  ],
  [
    "a snapshot from before a deletion of another tab stays in use",
    STORAGE,
    "self.forget_older_snapshot(forgotten.before);",
    "",
  ],
  // What was taken back.
  [
    "a taking back ignores a later recording",
    TAKEN_BACK,
    "recording.kind == Kind::Unseen || recording.at <= at)",
    "recording.kind == Kind::Unseen || recording.at > 0 || at > 0)",
  ],
  ["a taking back reaches further with each snapshot", TAKEN_BACK, "at: entry.at.min(at),", "at,"],
  [
    "a taking back counts by the later of two clocks",
    TAKEN_BACK,
    "stated.min(stated.saturating_add_signed(offset))",
    "stated.max(stated.saturating_add_signed(offset))",
  ],
  [
    "a recording in the moment of a taking back does not count",
    GUARD,
    "taken_back.map_or(0, |taken_back| taken_back.at + 1)",
    "taken_back.map_or(0, |taken_back| taken_back.at)",
  ],
  [
    "an older listing ends a newer taking back",
    APPLY,
    "&& is_listed_anew\n                && recording.kind",
    "&& recording.kind",
  ],
  [
    "the server does not end a device's taking back",
    APPLY,
    "if self.taken_back.get(hash).is_none() && self.impressions.get(hash).is_some_and(is_own) {",
    "if false {",
  ],
  [
    "what is taken back is covered by old shards",
    APPLY,
    "if self.taken_back.get(hash).is_some() || !self.server",
    "if !self.server",
  ],
  [
    "lists do not hear of what other tabs take back",
    IMPRESSIONS,
    "let is_taken_back = recording.is_taken_back() && !was_taken_back;",
    "let is_taken_back = false;",
  ],
  ["lists do not hear of what the server takes back", APPLY, "u32::from(next.lists_more_than(&self.taken_back))", "0"],
  [
    "lists decide anew what the server has decided",
    VERDICT,
    ".is_some_and(Recording::is_taken_back);",
    ".is_some_and(|recording| recording.kind == Kind::Unseen);",
  ],
  // The server.
  [
    "reports are judged by the device's clock",
    REPORT,
    "i128::from(at_ms) + i128::from(now_ms) - i128::from(self.now_ms)",
    "i128::from(at_ms)",
  ],
  [
    "an impression from before its taking back ends it",
    REPORT,
    "at >= since && taken_back.is_none_or(|taken_back| at > taken_back)",
    "at >= since",
  ],
  [
    "an impression from before a deletion counts",
    REPORT,
    "at >= since && taken_back.is_none_or",
    "taken_back.is_none_or",
  ],
  ["recording does not end a taking back on the server", CHAIN, "self.unseen.remove(id.bytes());", ""],
  // Items with several ids.
  [
    "a duplicate by an id of an item that was not kept",
    ID_LIST,
    "if self.contains_any(hashes, ids, item) {\n                return false;",
    "if self.contains_any(hashes, ids, item) {\n                for index in range {\n                    self.firsts.entry(hashes[index]).or_insert(index as u32);\n                }\n                return false;",
  ],
  ["an item ranks by the id seen first", VERDICT, "seen.extend(all.max()", "seen.extend(all.min()"],
  // A deleted history.
  [
    "deletion by the counter alone",
    FORGOTTEN,
    "recording.seq <= self.max_seq() && recording.at < self.at",
    "recording.seq <= self.max_seq()",
  ],
  [
    "deletion by the clock alone",
    FORGOTTEN,
    "recording.seq <= self.max_seq() && recording.at < self.at",
    "recording.at < self.at",
  ],
  ["deletion does not raise the counter", IMPRESSIONS, "self.counter = self.counter.max(forgotten.max_seq());", ""],
  [
    "deletion is not stored",
    SEGMENT,
    "let forgotten = impressions.forgotten();",
    "let forgotten = impressions.forgotten().filter(|_| false);",
  ],
  [
    "deletion not applied to what turns up",
    IMPRESSIONS,
    "if self.forgotten.is_some_and(|forgotten| forgotten.covers(&recording)) {",
    "if false {",
  ],
  // Delivery.
  ["one sign instead of three", DELIVERY, "const SIGNS: usize = 3;", "const SIGNS: usize = 1;"],
  ["signs count at once", DELIVERY, "steady_ms.saturating_sub(at) < REDELIVERY_WAIT_MS", "steady_ms < at"],
  [
    "signs from before the delivery",
    DELIVERY,
    "if open.delivery.times > 0 {\n            self.progress.add(open.delivery.first, steady_ms);",
    "{\n            self.progress.add(open.delivery.first.wrapping_sub(1), steady_ms);",
  ],
  ["delivered again without signs", DELIVERY, "&& delivery.first < passed", "&& passed < u64::MAX"],
  ["delivered again for ever", DELIVERY, "const MAX_REDELIVERIES: u8 = 3;", "const MAX_REDELIVERIES: u8 = 200;"],
  ["what has not arrived is delivered", DELIVERY, "if arrived {", "if arrived || batch > 0 {"],
  ["what is under way goes again", DELIVERY, "if !open.own || open.batch != 0 {", "if !open.own {"],
  [
    "what is taken back is delivered as an impression",
    DELIVERY,
    "Kind::Unseen => &mut batch.unseen,",
    "Kind::Unseen => &mut batch.impressions,",
  ],
  ["a tab delivers what others do", DELIVERY, "if !open.own || open.batch", "if open.batch"],
  // Segments.
  [
    "compaction drops what is covered",
    STORAGE,
    "Ok(segment::write(&self.impressions, hashes))\n    }\n\n    /// Forgets",
    "hashes.retain(|&hash| self.impressions.get(hash).is_some_and(|recording| !recording.covered));\n        Ok(segment::write(&self.impressions, hashes))\n    }\n\n    /// Forgets",
  ],
  [
    "compaction merges nothing",
    STORAGE,
    "hashes.extend(contents.recordings.iter().map(|&(hash, _)| hash));\n            self.merge_contents(contents)?;",
    "hashes.extend(contents.recordings.iter().map(|&(hash, _)| hash));",
  ],
  ["that impressions are delivered is not stored", SEGMENT, "u64::from(impressions.is_reporting())", "0"],
  [
    "a clear forgets what came since",
    IMPRESSIONS,
    "recording.at >= cleared_at && recording.at <= now_ms",
    "recording.at > now_ms",
  ],
  [
    "a clear forgets nothing",
    IMPRESSIONS,
    "recording.at >= cleared_at && recording.at <= now_ms",
    "recording.at <= now_ms",
  ],
  ["what a clear keeps is not written anew", IMPRESSIONS, "self.unsaved = Unsaved {", "let _ = Unsaved {"],
  // The protocol of storage.
  [
    "compaction by everybody who hears",
    WRITER,
    "self.merge(&reading, around);\n                None",
    "self.merge(&reading, around);\n                Some(Step::Count(0))",
  ],
  [
    "no look at the generation before a write",
    WRITER,
    "self.look(around);\n        Step::WriteSegment",
    "Step::WriteSegment",
  ],
  [
    "compaction removes before it writes",
    WRITER,
    "if self.look(around) {\n            // What it read",
    "for key in &union.replaced {\n            around.store.remove(key);\n        }\n        if self.look(around) {\n            // What it read",
  ],
  [
    "compaction removes what it did not read",
    WRITER,
    "Some(Step::Remove(union.replaced.into(), Some(union.level)))",
    "let keys = segments_in(around.store).into_iter().filter(|key| key.level < union.level);\n        let keys: VecDeque<String> = keys.map(|segment| segment.key).collect();\n        Some(Step::Remove(keys, Some(union.level)))",
  ],
  [
    "a key that vanished is not looked for",
    WRITER,
    "if reading.has_missed {",
    "if reading.has_missed && around.random.below(2) == 9 {",
  ],
  [
    "no compaction",
    WRITER,
    "if of_level.count() < enough(level, around.remember) {",
    "if of_level.count() < 1_000_000 {",
  ],
  [
    "compaction at exactly as many",
    WRITER,
    "if of_level.count() < enough(level, around.remember) {",
    "if of_level.count() != enough(level, around.remember) {",
  ],
  [
    "a clear removes and then writes the generation",
    WRITER,
    "self.begin_generation(generation, at_ms, around);\n        self.enqueue",
    "self.generation = generation;\n        self.enqueue",
  ],
];
