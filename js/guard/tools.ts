/** The tools of a namespace, such as the panel of `seenguard/devtools`. Without a tool nothing is counted. */
import { callBack } from "../errors.js";
import { countItems, idsOfItem, indicesOf, type ItemIdList } from "../input/ids.js";
import type { Indices } from "../engine/engine-types.js";
import type { Explanation, ItemId } from "../types/seenguard.js";
import type { AppliedSnapshot, StoppedItem, Tool } from "./hook.js";

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

  private get areListening(): boolean {
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
