/** Has the mutants of a run be active in the contexts, too, that tests make for pages and realms of their own. */
import vm from "node:vm";

/** What Stryker's code in each mutated file looks up: which mutant is active, and what is counted. */
const SHARED = "__stryker__";

const { createContext } = vm;
vm.createContext = (context = {}, options) => {
  const shared = { get: (): unknown => Reflect.get(globalThis, SHARED) };
  return createContext(typeof context === "symbol" ? context : Object.defineProperty(context, SHARED, shared), options);
};
