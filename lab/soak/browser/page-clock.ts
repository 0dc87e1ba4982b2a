/**
 * Imported before the package: makes the page's clocks run at the speed of the soak's. Timers, storage and network use
 * the machine's time. Also captures the memory of the Wasm module, which the package does not expose.
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
// Replace both clocks, since one that is shifted alone looks like a clock that has jumped.
Object.defineProperty(performance, "now", { value: () => steadyMs() * rate });
Object.defineProperty(performance, "timeOrigin", { value: virtual(origin) });

/** Machine milliseconds since the document's start, as in entries of a PerformanceObserver. */
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
