/**
 * Filters a page by the generated classes alone, without js/. It is plain JavaScript: it runs in other processes, too.
 */
import { readFile } from "node:fs/promises";

const vectors = new URL("../../vectors/", import.meta.url);
const [NATIVE, WINDOW_DAYS, REMEMBER, NOW_MS] = [/** @type {const} */ ([0, 0, 0]), 30, 10_000, 1_700_000_000_000];

/** @typedef {Pick<typeof import("../../../js/generated/client/seenguard.js"), "FilterKind" | "Guard" | "RecordKind" | "TextBatch">} Classes */

/** @param {string} name @returns {Promise<unknown>} */
async function readJson(name) {
  /** @type {unknown} */
  const value = JSON.parse(await readFile(new URL(name, vectors), "utf8"));
  return value;
}

/** Shards that another implementation made, and the ids that each contains by its answers. */
export async function readVectors() {
  const ids = /** @type {string[]} */ (await readJson("ids.json"));
  const { cases } = /** @type {{ cases: { expires: number, base64: string, answers: string }[] }} */ (
    await readJson("native.json")
  );
  const lasting = cases.filter(({ expires }) => expires === 0);
  return {
    ids,
    shards: lasting.map(({ base64 }) => base64),
    contained: lasting.map(({ answers }) => ids.filter((_, index) => answers[index] === "1")),
  };
}

/**
 * The ids that a guard stops: for each shard of the vectors, and for one that has recorded the first ten.
 * @param {Classes} classes
 * @param {{ readonly buffer: ArrayBuffer }} memory the module's
 */
export async function stoppedBy(classes, memory) {
  const { ids, shards } = await readVectors();
  const batch = new classes.TextBatch();
  /** @param {InstanceType<Classes["Guard"]>} guard */
  const stopped = (guard) => {
    write(batch, memory, ids);
    const count = guard.filter(batch, classes.FilterKind.Fresh, NOW_MS);
    const fresh = new Set(new Uint32Array(memory.buffer, batch.indices(), count));
    return ids.filter((_, index) => !fresh.has(index));
  };
  const byShard = shards.map((shard) => {
    const guard = guardOf(classes);
    write(batch, memory, [shard]);
    guard.apply(batch, ...NATIVE, NaN, NaN, new Float64Array(), NaN, false, NOW_MS);
    return stopped(guard);
  });
  const guard = guardOf(classes);
  write(batch, memory, ids.slice(0, 10));
  guard.record(batch, classes.RecordKind.Seen, NOW_MS);
  return { byShard, recorded: stopped(guard) };
}

/** One that is stored nowhere. @param {Classes} classes */
const guardOf = ({ Guard }) => new Guard("home", WINDOW_DAYS, REMEMBER, false, Float64Array.of(1));

/**
 * @param {InstanceType<Classes["TextBatch"]>} batch
 * @param {{ readonly buffer: ArrayBuffer }} memory
 * @param {readonly string[]} texts
 */
function write(batch, memory, texts) {
  const bytes = new TextEncoder().encode(texts.join("\0"));
  const [endsAt, bytesAt] = [batch.reserveEnds(texts.length), batch.reserve(bytes.length)];
  let end = 0;
  new Uint32Array(memory.buffer, endsAt, texts.length).set(texts.map((text) => (end += text.length)));
  new Uint8Array(memory.buffer, bytesAt, bytes.length).set(bytes);
  batch.separated(bytes.length);
}
