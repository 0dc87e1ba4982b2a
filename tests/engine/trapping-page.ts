/** Pages of their own whose engine traps when a guard is asked to explain. */
import { openPage, type Package } from "../support/node.js";
import { trappingWasm } from "./trapping.js";

const INSTANTIATE_TRAPPING = `{
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = (_, imports) => instantiate(trapping, imports);
}`;

let trapping: Uint8Array | undefined;

export function newTrappingPage(): Package {
  trapping ??= trappingWasm();
  return openPage(INSTANTIATE_TRAPPING, { trapping }).seenguard;
}
