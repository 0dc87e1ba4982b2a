/** A document's custom store over the profile's values. The program decides how each call ends. */
import type { SeenStorage } from "seenguard";
import type { Made } from "./hostile.js";
import type { Outcome, PageDocument } from "./browser.js";
import type { Written } from "./ledger.js";

/** A wrong result of a store. */
export type Lie =
  | { readonly way: "lists what is gone" | "lists twice" | "lists nothing" | "loses" }
  | { readonly way: "truncates"; readonly at: number }
  | { readonly way: "answers anything"; readonly value: Made };

type Operation = "get" | "set" | "remove" | "keys";

interface Call {
  readonly operation: Operation;
  readonly key: string;
  readonly run: () => unknown;
  readonly written?: Written;
}

export function customStore(document: PageDocument, lies: () => Lie | undefined): SeenStorage {
  const { custom, ledger } = document.browser;
  const call = (operation: Operation, key: string, run: () => unknown, written?: Written) => {
    document.browser.count();
    return perform(document, { operation, key, run, ...(written && { written }) }, lies()) as never;
  };
  return {
    get: (key) => call("get", key, () => ledger.read(document, custom.get(key))),
    set: (key, value) => {
      const written = ledger.issued(document, key, value);
      return call(
        "set",
        key,
        () => {
          custom.set(key, value);
          ledger.applied(written);
        },
        written,
      );
    },
    remove: (key) => call("remove", key, () => void custom.delete(key)),
    keys: () => call("keys", "", () => [...custom.keys()]),
  };
}

function perform(document: PageDocument, call: Call, lie: Lie | undefined): unknown {
  const { browser } = document;
  const outcome = browser.draw();
  const answer = () => (lie ? falseAnswer(document, call, lie) : call.run());
  const confirm = (value: unknown) => {
    browser.ledger.confirmed(call.written);
    return value;
  };
  // Some stores return a value instead of a promise.
  if (outcome.way === "works" && browser.random.next() < 0.2) return confirm(answer());
  return new Promise((resolve, reject) => {
    const isSure = outcome.way !== "fails" && !(outcome.way === "is silent" && !outcome.isDone);
    const stop = document.onEnd(() => isSure && browser.survives() && call.run());
    const ms = outcome.way === "is late" ? outcome.ms : browser.random.below(4);
    browser.after(ms, document, () => {
      stop();
      end(outcome, call, { answer: () => resolve(confirm(answer())), reject });
    });
  });
}

function end(
  outcome: Outcome,
  { operation, run }: Call,
  { answer, reject }: { readonly answer: () => void; readonly reject: (error: unknown) => void },
): void {
  const { way } = outcome;
  if (way === "is silent") {
    if (outcome.isDone) run();
  } else if (way === "fails" || way === "loses the connection") reject(new Error("no disk"));
  else if (way === "fails though done") {
    run();
    reject(new Error("no disk"));
  } else if (way === "is full" && operation === "set") reject(new DOMException("full", "QuotaExceededError"));
  else answer();
}

/** The wrong result that a lying store returns. */
function falseAnswer({ browser }: PageDocument, { operation, key, run }: Call, lie: Lie): unknown {
  const keys = () => [...browser.custom.keys()];
  if (lie.way !== "lists twice") browser.ledger.lied();
  if (operation === "keys" && lie.way === "lists twice") return [...keys(), ...keys()];
  if (operation === "keys" && lie.way === "lists what is gone") return [...keys(), ...keys().map((one) => `${one}z`)];
  if (operation === "keys" && lie.way === "lists nothing") return [];
  if (operation === "get" && lie.way === "truncates") return browser.custom.get(key)?.slice(0, lie.at);
  if (operation === "set" && lie.way === "loses") return undefined;
  return lie.way === "answers anything" ? lie.value.make() : run();
}
