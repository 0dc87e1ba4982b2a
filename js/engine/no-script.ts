/** In the place of `seenguard/engine-js` in builds for workers at the edge: all of them have WebAssembly. */

export function createEngine(): never {
  throw new Error("this build for workers has none");
}
