/** What the Wasm module answers. It has no names for what it tells: in which order that comes, `src/web/guard.rs` says. */

/** Numbers, and ids in UTF-8 with a time each. */
export type Answer = readonly [numbers: readonly number[], ids: readonly (readonly [Uint8Array, number])[]];

/** The answer where there is none. */
export const NO_ANSWER: Answer = [[], []];

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** An id of an answer. */
export function textOf(id: Uint8Array): string {
  return decoder.decode(id);
}
