/** The recommended chain, and users' histories of this number of items a day. */
import { plan, type ChainOptions, type ShardChain } from "seenguard/server";

export type Sizes = Required<Pick<ChainOptions, "capacity" | "shards" | "falsePositiveRate" | "ttlSeconds">>;

export const PER_DAY = 200;
const WINDOW_DAYS = 30;
export const DAY_SECONDS = 86_400;
const FALSE_POSITIVE_RATE = 0.005;

/** The sizes that `npx seenguard plan` recommends, the basis of docs/scale.md. */
export const recommended: Sizes = planned();

function planned(): Sizes {
  const options = { perDay: PER_DAY, windowDays: WINDOW_DAYS, falsePositiveRate: FALSE_POSITIVE_RATE };
  const { capacity, shards, falsePositiveRate, ttlSeconds } = plan(options);
  return { capacity, shards, falsePositiveRate, ttlSeconds };
}

export const nameOf = (user: number): string => `user-${String(user)}`;
export const namespaceOf = (user: string): string => `home:${user}`;

/** The length of a user's history; in the steady state the oldest shards were dropped. */
export interface Age {
  readonly name: string;
  readonly days: number;
}

export const FULL: Age = { name: `full: ${String(2 * WINDOW_DAYS)} days`, days: 2 * WINDOW_DAYS };
export const HALF: Age = { name: `half: ${String(WINDOW_DAYS / 2)} days`, days: WINDOW_DAYS / 2 };
export const YOUNG: Age = { name: "young: 10 impressions", days: 0 };
export const ages: readonly Age[] = [YOUNG, HALF, FULL];

/** The ids that a user has read on a day, of 14 characters. */
export function idsOfDay(user: number, day: number, count = PER_DAY): string[] {
  return Array.from({ length: count }, (_, index) =>
    `${String(user)}-${String(day)}-${String(index)}`.padStart(14, "0"),
  );
}

/** Records a user's history, 10 ids at a time. */
export function readUpToNow(chain: ShardChain, { days }: Age, user: number): void {
  const now = Math.floor(Date.now() / 1000);
  for (let day = days; day > 0; day--) {
    const ids = idsOfDay(user, day);
    for (let from = 0; from < PER_DAY; from += 10) {
      const at = now - day * DAY_SECONDS + Math.floor((from / PER_DAY) * DAY_SECONDS);
      chain.record(ids.slice(from, from + 10), { now: at });
    }
  }
  if (days === 0) chain.record(idsOfDay(user, 0, 10), { now });
}
