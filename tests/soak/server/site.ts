/** The demo's server, as its readers ask it. */
import type { Snapshot } from "seenguard";
import { PAGE_SIZE, type Reader, type Site } from "../readers.ts";

interface Page {
  readonly items: readonly Item[];
  readonly snapshot: Snapshot;
  readonly degraded?: true;
  /** Of these, what another device has shown. */
  readonly elsewhere: readonly string[];
}

interface Item {
  readonly id: string;
  readonly copyOf?: { readonly id: string };
}

export class DemoSite implements Site<Page> {
  /** Items that pages left out because the other device had shown them. */
  leftOut = 0;

  constructor(private readonly url: string) {}

  page({ user, turn }: Reader): [string, RequestInit] {
    return [`${this.url}/api/users/${user}/feed?turn=${String(turn)}&size=${String(PAGE_SIZE)}`, {}];
  }

  report({ user }: Reader): string {
    return `${this.url}/api/users/${user}/impressions`;
  }

  itemsOf({ items, elsewhere }: Page): string[][] {
    const leftOut = new Set(elsewhere);
    return items.filter(({ id }) => !leftOut.has(id)).map(idsOf);
  }

  note(_reader: Reader, { elsewhere }: Page): void {
    this.leftOut += new Set(elsewhere).size;
  }
}

/** A copy has the id of its original, too. */
const idsOf = ({ id, copyOf }: Item): string[] => (copyOf ? [id, copyOf.id] : [id]);
