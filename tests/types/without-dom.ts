/** A server's code that imports every entry: it has the language's types, and no others. It never runs. */
import { SeenGuard, type FetchPage, type GuardOptions } from "seenguard";
import type { SeenGuardPanel, UnseeEvent } from "seenguard/devtools";
import { SeenGuard as FormatsGuard } from "seenguard/formats";
import { SeenGuard as SlimGuard, type WasmSource } from "seenguard/slim";

export async function open(
  options: GuardOptions,
  element: Parameters<SeenGuard["observe"]>[0],
  wasm: WasmSource,
): Promise<SeenGuard[]> {
  const guards = [await SeenGuard.open(options), await FormatsGuard.open(options)];
  guards.push(await SlimGuard.open({ ...options, wasm }));
  for (const guard of guards) guard.observe(element)();
  return guards;
}

export const fetchPage: FetchPage<string> = ({ page, signal }) =>
  Promise.resolve(signal.aborted || page > 0 ? null : { items: ["a"] });

export const shownBy = ({ guard }: SeenGuardPanel): number => guard?.stats().pending ?? 0;
export const takenBack = ({ detail }: UnseeEvent): number => detail.ids.length;
