/** Removes namespaces that have long been unused, so that a former user of a shared device leaves no data on it. */
import type { StorageContext } from "./context.js";
import * as keys from "./keys.js";

const DAY_MS = 86_400_000;
/** The default, for rows that do not contain the window. */
const WINDOW_DAYS = 30;

/** Removes the keys and the signal of each other namespace that was not used for twice its window. */
export async function cleanOthers(context: StorageContext): Promise<void> {
  const { store, engine, name: own, clock } = context;
  const today = Math.floor(clock.wallMs() / DAY_MS);
  const listed = await context.call(store.keys(keys.ROOT));
  const stashed = store.kind === "indexeddb" ? keys.localKeys(keys.ROOT) : [];
  const found = keys.parseKeys([...listed, ...stashed]).filter(({ name }) => name !== own);
  const latest = new Map<string, keys.ParsedKey>();
  for (const parsed of found) {
    const { n = -1 } = latest.get(parsed.name) ?? {};
    if (n < parsed.n) latest.set(parsed.name, parsed);
  }
  // The latest row has the newest facts: its writer had merged the rows before it.
  const rows = [...latest.values()];
  const values = await context.call(store.getMany(rows.map(({ key }) => key)));
  if (!engine || context.isEnded()) return;
  const isIdle = ({ n }: keys.ParsedKey, index: number) => {
    const [day = Math.floor(n / DAY_MS), windowDays = WINDOW_DAYS] = engine.rowFacts(values[index] ?? "");
    return today - day > 2 * windowDays;
  };
  const idle = new Set(rows.filter(isIdle).map(({ name }) => name));
  // A clear leaves a row, so a namespace with a signal and no row has no data that the signal could concern.
  const signalled = [keys.SIGNAL, keys.CLEAR].flatMap((prefix) => keys.namesUnder(prefix));
  const orphans = store.kind === "indexeddb" ? signalled.filter((name) => name !== own && !latest.has(name)) : [];
  const remove = found.filter(({ name }) => idle.has(name)).map(({ key }) => key);
  if (remove.length > 0) await context.call(store.write({ remove: remove.filter((key) => !stashed.includes(key)) }));
  keys.removeLocal(remove.filter((key) => stashed.includes(key)));
  for (const name of [...idle, ...orphans]) keys.removeLocal([keys.SIGNAL + name, keys.CLEAR + name]);
}
