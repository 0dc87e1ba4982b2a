/**
 * One guard for each namespace, shared by all components that hold it. It stays open with the document; its report runs
 * while it is held. A holder is removed one task late, so that a remount (StrictMode, `<Activity>`, Fast Refresh, a
 * change of routes) ends nothing.
 */
import { callBack, failure, refuse, SeenGuardError, warnOnce } from "../errors.js";
import { keepLatest } from "../feed/keep-latest.js";
import type { UseSeenGuardOptions } from "../types/react.js";
import type { GuardOptions, ReportOptions, SeenGuard } from "../types/seenguard.js";
import { changesOf } from "./changes.js";
import { withLatest } from "./latest.js";

/** The most guards that stay open, unless more are held. */
const MOST = 4;
/** Timeout of `open`, for example if a download hangs, after which everything passes. */
const OPEN_TIMEOUT_MS = 15_000;

/** Returns the options of a component's latest rendering. */
type Holder = () => UseSeenGuardOptions | null | undefined;

interface Shared {
  /** `null`: opening has failed, and everything passes. */
  guard: SeenGuard | null | undefined;
  /** The error of wrong options. */
  failure?: { readonly error: unknown };
  isOpening: boolean;
  stopReport?: (() => void) | undefined;
  /** The address of the running report. */
  url?: string | undefined;
  readonly holders: Map<Holder, () => void>;
  readonly onError: (error: SeenGuardError) => void;
}

const shared = new Map<string, Shared>();

/** The guard of a namespace; `undefined`: it is not open yet; `null`: there is none. Throws errors of its options. */
export function guardOf(namespace: string | undefined): SeenGuard | null | undefined {
  if (!namespace) return null;
  const held = shared.get(namespace);
  if (held?.failure) throw held.failure.error;
  return held && shownOf(held);
}

/** A guard that the app has closed is opened again, too. */
const isOpen = (guard: Shared["guard"]) => guard && !changesOf(guard).isOver;

/** After a failure, mounted components show everything; a component that mounts first waits for the next attempt. */
const shownOf = ({ guard, holders }: Shared) => (isOpen(guard) || holders.size > 0 ? guard : undefined);

/** A key whose change requires a new call of `holdGuard`. */
export function identityOf(options: ReturnType<Holder>): string {
  return options?.namespace ? JSON.stringify([options.namespace, options.report?.url]) : "";
}

/**
 * Holds the guard of the options' namespace. Calls `onChange` when the result of `guardOf` changes. Returns release.
 */
export function holdGuard(holder: Holder, onChange: () => void): () => void {
  const namespace = holder()?.namespace;
  if (!namespace) return () => {};
  const held = shared.get(namespace) ?? newShared();
  held.guard = shownOf(held);
  held.holders.set(holder, onChange);
  keep(namespace, held);
  if (!isOpen(held.guard) && !held.isOpening) open(namespace, held, holder);
  report(held, holder);
  return () => {
    held.holders.delete(holder);
    // Corrected options are tried at once.
    if (held.failure && held.holders.size === 0) shared.delete(namespace);
    else setTimeout(leave, 0, namespace, held);
  };
}

function newShared(): Shared {
  const warn = warnOnce();
  const holders: Shared["holders"] = new Map();
  const onError = (error: SeenGuardError) => callBack(latestOf(holders, "onError") ?? warn, error);
  return { guard: undefined, isOpening: false, holders, onError };
}

/** An option of the first holder that has it. */
function latestOf<Name extends keyof UseSeenGuardOptions>(holders: Shared["holders"], name: Name) {
  return [...holders.keys()].map((holder) => holder()?.[name]).find(Boolean);
}

function open(namespace: string, opened: Shared, holder: Holder): void {
  const { open, report: _, ...options } = { ...holder() } as UseSeenGuardOptions;
  const tell = () => [...opened.holders.values()].forEach((onChange) => onChange());
  const fail = (error: unknown) => {
    opened.isOpening = false;
    if (error instanceof SeenGuardError && error.code === "bad-option") opened.failure = { error };
    else {
      opened.guard ??= null;
      opened.onError(failure("engine", "the guard is not open, and everything passes", error));
    }
    tell();
  };
  const take = (guard: SeenGuard) => {
    opened.isOpening = false;
    if (isOpen(opened.guard) || shared.get(namespace) !== opened) return void guard.close();
    opened.guard = guard;
    for (const each of opened.holders.keys()) report(opened, each);
    tell();
  };
  opened.isOpening = true;
  const timer = setTimeout(fail, OPEN_TIMEOUT_MS, `it has not opened within ${OPEN_TIMEOUT_MS / 1000} s`);
  const latest = withLatest<GuardOptions>(options, (name) => latestOf(opened.holders, name));
  new Promise<SeenGuard>((resolve) => {
    if (typeof open !== "function") refuse("`open` is missing: SeenGuard.open of the entry that the app uses");
    resolve(open({ ...latest, onError: opened.onError }));
  })
    .then(take, fail)
    .finally(() => clearTimeout(timer));
}

/** Starts the report with the options of the first holder that has any, unless it runs. Another `url` is refused. */
function report(held: Shared, holder: Holder): void {
  const options = holder()?.report;
  if (!options || !held.guard || (held.stopReport && held.url === options.url)) return;
  const latest = () => latestOf(held.holders, "report") ?? options;
  // An object may contain a token, which each rendering updates.
  const headers = typeof options.headers === "object" && { headers: () => latest().headers as Record<string, string> };
  try {
    held.stopReport = held.guard.report({
      ...withLatest<ReportOptions>(options, (name) => latest()[name]),
      ...headers,
    });
    held.url = options.url;
  } catch (error) {
    held.failure = { error };
  }
}

/** Delivers waiting impressions and ends the report when the last holder has left. */
function leave(namespace: string, left: Shared): void {
  if (left.holders.size > 0 || shared.get(namespace) !== left) return;
  const { guard, stopReport } = left;
  left.stopReport = undefined;
  if (stopReport) void guard?.deliver().finally(stopReport);
  keep(namespace, left);
}

function keep(namespace: string, kept: Shared): void {
  const closed = keepLatest(shared, namespace, kept, MOST, ({ holders }) => holders.size > 0);
  for (const { guard } of closed) void guard?.close();
}
