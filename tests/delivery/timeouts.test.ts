/** How long to wait before something is tried again. */
import { expect, test } from "vitest";
import { retryDelayMs } from "../../js/platform/host.js";

test.each([
  [0, 1_000],
  [1, 2_000],
  [3, 8_000],
  [10, 60_000],
  [2_000, 60_000],
])(
  "after %d failures before this one it is at most %d ms, at least half of that, and not always the same",
  (failures, most) => {
    const delays = Array.from({ length: 100 }, () => retryDelayMs(failures, 60_000));
    expect(Math.max(...delays)).toBeLessThanOrEqual(most);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(most / 2);
    expect(new Set(delays).size).toBeGreaterThan(1);
  },
);
