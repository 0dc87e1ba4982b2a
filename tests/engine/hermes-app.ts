/**
 * An app in React Native with a guard; it prints the outcome as JSON. Before it, the globals that React Native adds to
 * Hermes, whose command has timers that do not wait: here a test sets the time.
 */
import type { Report } from "seenguard/formats";
import { SeenGuard } from "seenguard/formats";
import guava from "../vectors/guava.json";
import ids from "../vectors/ids.json";
import native from "../vectors/native.json";

declare function print(text: string): void;

export interface Outcome {
  readonly engine: string;
  readonly missing: readonly string[];
  readonly errors: readonly string[];
  /** "1" for each id that a shard stops, for each shard. */
  readonly native: readonly string[];
  readonly guava: readonly string[];
  readonly recorded: readonly string[];
  readonly fresh: readonly string[];
  readonly delivered: readonly string[];
  readonly nextVisit: readonly string[];
}

const waiting: { readonly run: () => void; readonly at: number; isOver: boolean }[] = [];
let elapsedMs = 0;

/** Advances the time by N milliseconds, and runs the timers that are due, once. */
export function elapse(ms: number): void {
  elapsedMs += ms;
  for (const timer of waiting.filter(({ at, isOver }) => !isOver && at <= elapsedMs)) {
    timer.isOver = true;
    timer.run();
  }
}

/** React Native's `AbortController`, without listeners. */
class Controller {
  readonly signal = { aborted: false };

  abort(): void {
    this.signal.aborted = true;
  }
}

Object.assign(globalThis, {
  AbortController: Controller,
  queueMicrotask: (run: () => void) => void Promise.resolve().then(run),
  setTimeout: (run: () => void, ms = 0) => waiting.push({ run, at: elapsedMs + ms, isOver: false }) - 1,
  clearTimeout: (timer: number) => {
    const cleared = waiting[timer];
    if (cleared) cleared.isOver = true;
  },
});

const TEXTS = ["a", "ü", "€", "😀", "滤"];

async function main(): Promise<Outcome> {
  const values = new Map<string, string>();
  const storage = {
    get: (key: string) => values.get(key),
    set: (key: string, value: string) => void values.set(key, value),
    remove: (key: string) => void values.delete(key),
    keys: () => [...values.keys()],
  };
  const errors: string[] = [];
  const onError = ({ message }: Error) => void errors.push(message);
  const open = () => SeenGuard.open({ namespace: "home:1", storage, onError });

  const guard = await open();
  const { engine } = guard.stats();
  const answer = (shards: readonly string[], format: "seenguard" | "guava") => {
    guard.apply({ shards, format, now: 0 });
    const fresh = new Set(guard.filter(ids));
    return ids.map((id) => (fresh.has(id) ? "0" : "1")).join("");
  };
  const answers = {
    native: native.cases.map(({ base64 }) => answer([base64], "seenguard")),
    guava: guava.cases.map(({ base64 }) => answer([base64], "guava")),
  };
  guard.apply({ shards: [] });
  guard.record(TEXTS);
  const [recorded, fresh] = [guard.pending(), guard.filter([...TEXTS, "new"])];

  const delivered: string[] = [];
  const send = ({ impressions }: Report) => {
    for (const { id } of impressions) delivered.push(id);
    return Promise.resolve();
  };
  guard.report({ url: "https://feed.test/seen", send });
  elapse(5_000);
  const closed = guard.close();
  elapse(0);
  await closed;
  const missing = ["WebAssembly", "TextEncoder", "TextDecoder", "performance", "structuredClone"];
  return {
    ...{ engine, errors, recorded, fresh, delivered, ...answers },
    missing: missing.filter((name) => !(name in globalThis)),
    nextVisit: (await open()).filter([...TEXTS, "new"]),
  };
}

main().then(
  (outcome) => print(JSON.stringify(outcome)),
  (error: unknown) => print(String((error as Error).stack)),
);
