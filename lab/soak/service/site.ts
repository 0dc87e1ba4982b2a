/**
 * The readers' use of the service: they alternate between both services, and request pages of all seen items and some
 * new ones.
 */
import type { Snapshot } from "seenguard";
import { PAGE_SIZE, type Reader, type Site } from "../readers.ts";
import { CHAIN, type Deployment } from "./deployment.ts";

/** The number of new items of each turn. */
const NEW = 2 * PAGE_SIZE;
/** The false positive rate of a full pending list. */
const PENDING_RATE = 1_000 / 2 ** 24;
const DEVICES = 2;

interface Page {
  readonly items: readonly string[];
  readonly snapshot?: Snapshot;
  readonly degraded?: boolean;
}

export class ServiceSite implements Site<Page> {
  /** The seen candidates that had to be left out. */
  offeredAgain = 0;
  /** The new items that were stopped, their total, and the expected number of false positives. */
  readonly falsePositives = { found: 0, of: 0, expected: 0 };

  constructor(private readonly deployment: Deployment) {}

  page(reader: Reader): [string, RequestInit] {
    const body = JSON.stringify({ ranked: [...reader.shown, ...newItems(reader)], size: PAGE_SIZE });
    return [this.address(reader, "page"), { method: "POST", body }];
  }

  report(reader: Reader): string {
    return this.address(reader, "impressions");
  }

  itemsOf({ items }: Page): string[][] {
    return items.map((id) => [id]);
  }

  note(reader: Reader, { items, snapshot }: Page, passed: readonly string[]): void {
    this.offeredAgain += reader.shown.size;
    // Candidates after the page's last item were not examined.
    const all = newItems(reader);
    const decided = items.length < PAGE_SIZE ? all : all.slice(0, all.indexOf(items.at(-1) ?? "") + 1);
    const isPassed = new Set(passed);
    this.falsePositives.found += decided.filter((id) => !isPassed.has(id)).length;
    this.falsePositives.of += decided.length;
    this.falsePositives.expected +=
      decided.length * ((snapshot?.shards.length ?? 0) * CHAIN.falsePositiveRate + DEVICES * PENDING_RATE);
  }

  private address({ user, random }: Reader, what: string): string {
    const url = this.deployment.urlOf(random() < 0.5 ? "service" : "service with a stream");
    return `${url}/v1/users/${user}/${what}`;
  }
}

/** The new items of this turn, which are candidates only once. */
const newItems = ({ turn }: Reader): string[] =>
  Array.from({ length: NEW }, (_, index) => `article-${String(turn * NEW + index)}`);
