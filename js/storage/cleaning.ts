/** Removes namespaces that were not used for long: a person who has left a shared device leaves no trace for ever. */
import type { StorageContext } from "./context.js";
import * as keys from "./keys.js";

const DAY_MS = 86_400_000;
/** Where no row says it: the default. */
const WINDOW_DAYS = 30;

/** Removes the keys of each other namespace that was not used for twice its window, and its signal. */
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
  // The row that was written last has the facts that its writer knew of all others.
  const rows = [...latest.values()];
  const texts = await context.call(store.getMany(rows.map(({ key }) => key)));
  if (!engine || context.isEnded()) return;
  const isIdle = ({ n }: keys.ParsedKey, index: number) => {
    const [day = Math.floor(n / DAY_MS), windowDays = WINDOW_DAYS] = engine.rowFacts(texts[index] ?? "");
    return today - day > 2 * windowDays;
  };
  const idle = new Set(rows.filter(isIdle).map(({ name }) => name));
  // A clear leaves a row: what has a signal alone has no data whose clear it could tell.
  const signalled = [keys.SIGNAL, keys.CLEAR].flatMap((prefix) => keys.namesUnder(prefix));
  const orphans = store.kind === "indexeddb" ? signalled.filter((name) => name !== own && !latest.has(name)) : [];
  const remove = found.filter(({ name }) => idle.has(name)).map(({ key }) => key);
  if (remove.length > 0) await context.call(store.write({ remove: remove.filter((key) => !stashed.includes(key)) }));
  keys.removeLocal(remove.filter((key) => stashed.includes(key)));
  for (const name of [...idle, ...orphans]) keys.removeLocal([keys.SIGNAL + name, keys.CLEAR + name]);
}
