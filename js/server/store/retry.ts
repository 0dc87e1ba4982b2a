/** Tries something again, after a longer and longer random pause. */
import { pause } from "../../host.js";

/** With the pauses, about 5 seconds. */
const MOST_ATTEMPTS = 60;
const MOST_PAUSE_MS = 200;

/** The first answer that is not `undefined`; `undefined` after the last attempt. */
export async function retry<T>(attempt: () => Promise<T | undefined>): Promise<T | undefined> {
  for (let attempts = 0; attempts < MOST_ATTEMPTS; attempts++) {
    if (attempts > 0) await pause(Math.random() * Math.min(2 ** attempts, MOST_PAUSE_MS));
    const answer = await attempt();
    if (answer !== undefined) return answer;
  }
  return undefined;
}
