/**
 * A consumer by itself, beside the one in the server: `REDIS_URL=redis://… CONSUMER=second tsx
 * www/server/redis/consume.ts`.
 *
 * Give each its own name, and the same one when it is started again; and all the SHARD_FORMAT of the server.
 */
import { ProblemLog } from "../store.ts";
import { Consumer } from "./consumer.ts";

const { REDIS_URL: url, CONSUMER: name, BATCH_SIZE: batchSize, ABANDONED_AFTER_MS: abandonedAfterMs } = process.env;
if (url === undefined || name === undefined) {
  console.error("REDIS_URL and CONSUMER are needed: where Redis is, and what this consumer is called");
  process.exit(2);
}

const problems = new ProblemLog(({ what, user }) => {
  console.error(user === undefined ? what : `${what} (${user})`);
});
const consumer = new Consumer(
  url,
  {
    name,
    ...(batchSize === undefined ? {} : { batchSize: Number(batchSize) }),
    ...(abandonedAfterMs === undefined ? {} : { abandonedAfterMs: Number(abandonedAfterMs) }),
  },
  problems,
);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void consumer.stop());
console.log(`consumer ${name} takes impressions`);
