/** What the Wasm module answers. It has no names for what it tells: in which order that comes, `src/web/` says. */
import { SeenGuardError } from "./errors.js";
import type { ErrorCode } from "./types/seenguard.js";

/** Numbers; of ids or other texts where each ends in the bytes and a number that goes with it, mostly a time; and their bytes, or one text's, in UTF-8. */
export type Answer = readonly [numbers: Float64Array, ids: Float64Array, bytes: Uint8Array];

/** The answer where there is none. */
export const NO_ANSWER: Answer = [new Float64Array(), new Float64Array(), new Uint8Array()];

/** How many numbers tell where an answer's parts are. */
const COUNTS = 4;

/** Copies an answer out of the module's memory, where the next one takes its place. */
export function readAnswer({ buffer }: WebAssembly.Memory, place: number): Answer {
  const [count = 0, idCount = 0, length, start] = new Float64Array(buffer, place >>> 0, COUNTS);
  const numbers = new Float64Array(buffer, place >>> 0, COUNTS + count + idCount);
  return [
    numbers.slice(COUNTS, COUNTS + count),
    numbers.slice(COUNTS + count),
    new Uint8Array(buffer, start, length).slice(),
  ];
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** An answer's text. */
export function textOf([, , bytes]: Answer): string {
  return decoder.decode(bytes);
}

/** The error that an answer's text tells: its code and what is wrong, which happened at `place`. */
export function errorOf(answer: Answer, place = ""): SeenGuardError {
  const [code = "", ...words] = textOf(answer).split(" ");
  return new SeenGuardError(code as ErrorCode, place + words.join(" "));
}

/** An answer's ids, each with its time. */
export function idsOf([, ids, bytes]: Answer): (readonly [id: string, ms: number])[] {
  let start = 0;
  return Array.from({ length: ids.length / 2 }, (_, index) => {
    const [end = 0, ms = 0] = ids.subarray(2 * index);
    const id = decoder.decode(bytes.subarray(start, end));
    start = end;
    return [id, ms] as const;
  });
}
