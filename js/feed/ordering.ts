/** In which order a feed shows what it has decided. */
import type { Verdict } from "./verdicts.js";

/** By place in a list: the verdict on the item there, if the feed shows it. */
export type Shown = readonly (Verdict | undefined)[];

/** For items without an id: they keep their places. */
export const WITHOUT_ID: Verdict = { group: 0, rank: 0, ids: [] };

/**
 * The places in the order of showing. Each group keeps the places that it has in the list: the fresh ones come first
 * there, in the list's order, then the seen ones. So nothing moves when others come before it or after it.
 */
export function inGroups(shown: Shown): number[] {
  const groups = new Map<number, number[]>();
  shown.forEach((verdict, place) => {
    if (!verdict) return;
    const places = groups.get(verdict.group);
    if (places) places.push(place);
    else groups.set(verdict.group, [place]);
  });
  const order: number[] = [];
  for (const places of groups.values()) {
    const sorted = [...places].sort((a, b) => rankOf(shown, a) - rankOf(shown, b));
    places.forEach((place, index) => {
      order[place] = sorted[index] ?? place;
    });
  }
  // Places of what is not shown are holes.
  return order.flat();
}

/** The same in two: what is fresh, and what was seen. */
export function freshAndSeen(shown: Shown): { fresh: number[]; seen: number[] } {
  const order = inGroups(shown);
  return {
    fresh: order.filter((place) => rankOf(shown, place) === 0),
    seen: order.filter((place) => rankOf(shown, place) > 0),
  };
}

function rankOf(shown: Shown, place: number): number {
  return shown[place]?.rank ?? 0;
}
