/**
 * The tools of a namespace, such as the panel of `seenguard/devtools`, and their events. They are not public: the method
 * is under a registered symbol, which all bundles of the package share. Without a tool nothing is counted.
 */
import { callBack } from "../errors.js";
import { countItems, idsOfItem, indicesOf, type ItemIdList } from "../input/ids.js";
import type { Indices } from "../engine/engine-guard.js";
import type { Explanation, ItemId } from "../types/seenguard.js";

export const HOOK = Symbol.for("seenguard.devtools");

/** The guard's interface for tools. Calls that a tool makes while it handles an event cause no events. */
export interface HookedGuard {
  /** Subscribes to events of all handles and feeds of the namespace. Returns stop. */
  [HOOK](tool: Tool): () => void;
}

export interface Tool {
  decided(decision: Decision): void;
  applied(snapshot: AppliedSnapshot): void;
}

/** The verdicts of one call. A feed decides an item once, so items that it decided earlier are not included. */
export interface Decision {
  /** The number of decided items that have a usable id. */
  readonly items: number;
  readonly stopped: readonly StoppedItem[];
}

/** `id`: the first of the item's `ids` that was seen, and `why`. For a duplicate: its first id, which was not seen. */
export interface StoppedItem {
  readonly ids: readonly string[];
  readonly id: string;
  readonly why: Explanation;
}

export interface AppliedSnapshot {
  /** The shards of the snapshot as received. */
  readonly shards: readonly string[];
  /** The lag of each impression that it newly covers. */
  readonly lagsMs: readonly number[];
}

/** Whether an event is being dispatched, by any namespace: calls that tools make meanwhile cause no events. */
let isDispatching = false;

export class Tools {
  private readonly tools = new Set<Tool>();
  private readonly explain: (id: ItemId) => Explanation;

  constructor(explain: (id: ItemId) => Explanation) {
    this.explain = explain;
  }

  /** Returns remove. */
  add(tool: Tool): () => void {
    this.tools.add(tool);
    return () => this.tools.delete(tool);
  }

  /** The items of a list were decided: `fresh` are the indices of those that pass. */
  decided(list: ItemIdList, fresh: Indices): void {
    const items = countItems(list);
    if (!this.areListening || items === 0) return;
    const passed = new Set(fresh);
    const others = indicesOf(list).filter((item) => !passed.has(item));
    const stopped = others.map((item) => this.whyStopped(idsOfItem(list, item).map(String)));
    this.dispatch((tool) => tool.decided({ items, stopped }));
  }

  applied(snapshot: AppliedSnapshot): void {
    this.dispatch((tool) => tool.applied(snapshot));
  }

  get areListening(): boolean {
    return this.tools.size > 0 && !isDispatching;
  }

  private whyStopped(ids: readonly string[]): StoppedItem {
    const [first = ""] = ids;
    const id = ids.find((each) => this.explain(each).seen) ?? first;
    return { ids, id, why: this.explain(id) };
  }

  /** Dispatches an event after the call has returned, so that no tool affects its result. */
  private dispatch(callTool: (tool: Tool) => void): void {
    if (!this.areListening) return;
    queueMicrotask(() => {
      isDispatching = true;
      for (const tool of this.tools) callBack(callTool, tool);
      isDispatching = false;
    });
  }
}
