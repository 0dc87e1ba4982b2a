/**
 * Imported before the package: lets the page's clocks run as fast as the soak's. Timers keep the machine's time, as
 * storage and network do. Also catches the memory of the Wasm module, which the package keeps to itself.
 */
import type { ClockSettings } from "./clock.ts";

declare global {
  var clockSettings: ClockSettings;
}

const { startedMs, epochMs, rate } = globalThis.clockSettings;
const wallMs = Date.now.bind(Date);
const steadyMs = performance.now.bind(performance);
const origin = performance.timeOrigin;
const virtual = (ms: number) => epochMs + (ms - startedMs) * rate;

Date.now = () => virtual(wallMs());
// Both, so that a clock that is shifted alone does not pass for one that has jumped.
Object.defineProperty(performance, "now", { value: () => steadyMs() * rate });
Object.defineProperty(performance, "timeOrigin", { value: virtual(origin) });

/** Milliseconds of the machine since the document began, as in entries of a PerformanceObserver. */
export const machineMs = steadyMs;

const memories: WebAssembly.Memory[] = [];
const instantiate = WebAssembly.instantiate.bind(WebAssembly) as (...args: unknown[]) => Promise<unknown>;
Object.assign(WebAssembly, {
  instantiate: async (...args: unknown[]) => {
    const result = (await instantiate(...args)) as WebAssembly.Instance | WebAssembly.WebAssemblyInstantiatedSource;
    const { memory } = ("instance" in result ? result.instance : result).exports;
    if (memory instanceof WebAssembly.Memory) memories.push(memory);
    return result;
  },
});

export const wasmBytes = (): number => memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
