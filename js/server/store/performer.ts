/** Performs the steps of a store's calls, which the engine returns, on a backend. */
import { describe, refuse, SeenGuardError } from "../../errors.js";
import { isSeconds } from "../../input/options.js";
import type { Backend, Loaded, PendingUpdate, ReceivedReport, Replacement } from "../../types/server.js";

/** A command of Redis, with the number of its script. */
export interface Command {
  readonly script: number;
  readonly keys: string[];
  readonly arguments: string[];
}

export interface Step {
  readonly call: number;
  readonly kind: "load" | "storePending" | "change" | "replace" | "forget" | "wait" | "done" | "failed";
  readonly waitMs: number;
  /** For Redis. */
  readonly command?: Command;
  /** For Redis: removes lists beyond the limit. The call does not depend on it. */
  readonly drop?: Command;
  /** For other backends. */
  readonly reported?: PendingUpdate;
  readonly replacement?: Replacement;
  /** The number of ids that no live shard contained. */
  readonly unknown: number;
  readonly report?: ReceivedReport;
  readonly refusal?: string;
  /** Parts of the loaded data that cannot be read. */
  readonly damage: readonly { code: string; message: string }[];
  /** Unix seconds. */
  readonly now: number;
}

/** Performs steps of calls. */
export interface Performer {
  /** The form of keys in Redis. */
  readonly keys?: { readonly prefix: string; readonly isCluster: boolean };
  /** Resolves to the strings of the response; those of a list follow their number. Rejects with a `StoreFailure`. */
  perform(user: string, step: Performed): Promise<readonly string[]>;
}

/** The part of a step that a backend performs. */
type Performed = Pick<Step, "kind" | "command" | "reported" | "replacement">;

/** An error of a backend. */
export class StoreFailure extends Error {
  /** One of the constants below: the argument of the engine's `failed`. */
  readonly kind: number;

  constructor(kind: number, cause: unknown) {
    super("the store failed", { cause });
    this.kind = kind;
  }

  static readonly PERMANENT = 0;
  static readonly TRANSIENT = 1;
  /** An error of the Redis client, which the engine classifies. */
  static readonly OF_REDIS = 2;
  /** The revision is not the loaded one. */
  static readonly CONFLICT = 3;

  /** A transient failure with this message. */
  static of(what: string): StoreFailure {
    return new StoreFailure(StoreFailure.TRANSIENT, new Error(what));
  }
}

/** Performs steps on a backend of the app. */
export function backendPerformer(backend: Backend): Performer {
  return {
    perform: (user, step) =>
      responseOf(backend, user, step).catch((error: unknown) => {
        if (error instanceof SeenGuardError) throw error;
        const isPermanent = (error as { isTransient?: unknown } | null | undefined)?.isTransient === false;
        throw new StoreFailure(isPermanent ? StoreFailure.PERMANENT : StoreFailure.TRANSIENT, error);
      }),
  };
}

async function responseOf(
  backend: Backend,
  user: string,
  { kind, reported, replacement }: Performed,
): Promise<readonly string[]> {
  if (replacement) {
    const isStored = kind === "forget" ? backend.forget(user, replacement) : backend.replace(user, replacement);
    return [(await isStored) ? "1" : "0"];
  }
  if (kind !== "storePending") return stringsOf(await backend.load(user, reported));
  const now = reported && (await backend.storePending(user, reported));
  return ["0", timeOf(now ?? undefined)];
}

/** The loaded data of a backend, in the order of the script in Redis. */
function stringsOf({ stored, revision, pending, refusal, now }: Loaded): string[] {
  const { shards, fields } = stored ?? { shards: [], fields: [] };
  const lists = [shards, fields.flat()].flatMap((list) => [String(list.length), ...list]);
  return [...lists, String(revision), "1", pending, refusal === undefined ? "" : describe(refusal), timeOf(now)];
}

function timeOf(seconds: number | undefined): string {
  if (seconds === undefined) return "";
  if (!isSeconds(seconds)) refuse("a store's clock must return Unix seconds, up to 2^32 − 1 (milliseconds are more)");
  return String(Math.round(seconds * 1000));
}
