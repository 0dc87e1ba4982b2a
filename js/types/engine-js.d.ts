/**
 * `seenguard/engine-js`: the engine of `seenguard` as JavaScript, for the option `fallback` of `SeenGuard.open`; and
 * `seenguard/formats/engine-js`: that of `seenguard/formats`. Apps do not call anything in it.
 */
export declare function createEngine(): object;
