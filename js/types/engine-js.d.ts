/**
 * `seenguard/engine-js`: the engine as JavaScript. The other entries import it where there is no WebAssembly; an app has
 * nothing to call in it.
 */
export declare function createEngine(): object;
