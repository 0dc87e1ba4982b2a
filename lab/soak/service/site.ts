/** The service, as its readers use it: each time one of both, for a page of all that they have seen and some new items. */
import type { Snapshot } from "seenguard";
import { PAGE_SIZE, type Reader, type Site } from "../readers.ts";
import { CHAIN, type Deployment } from "./deployment.ts";

/** New items of each turn. */
const NEW = 2 * PAGE_SIZE;
/** The rate of false positives of a full pending list. */
const PENDING_RATE = 1_000 / 2 ** 24;
const DEVICES = 2;

interface Page {
  readonly items: readonly string[];
  readonly snapshot?: Snapshot;
  readonly degraded?: boolean;
}

export class ServiceSite implements Site<Page> {
  /** Items that the reader had seen, and that were offered again to be left out. */
  offeredAgain = 0;
  /** New items that a page passed over or the guard stopped, of how many, and how many may be expected. */
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
    // What ranks after the page's last item was not decided.
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

/** Those of this turn: nobody is offered them before or after. */
const newItems = ({ turn }: Reader): string[] =>
  Array.from({ length: NEW }, (_, index) => `article-${String(turn * NEW + index)}`);
