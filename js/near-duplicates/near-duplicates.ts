/** `simhash`, a fingerprint of an item's features; and `NearDuplicates`, groups of items with similar fingerprints. */
import { readGiven, refuse, SeenGuardError } from "../errors.js";
import type { NearDuplicates as Groups } from "../generated/server/seenguard.js";
import { copyList } from "../input/ids.js";
import { checkAllOptions, isNonEmptyString, wholeNumber, type Rules } from "../input/options.js";
import type * as Api from "../types/near-duplicates.js";
import { call, callWith, freeIn, loadServerEngine, serverEngine, type ServerEngine } from "../server/engine.js";

const rules = { distance: wholeNumber(0, 3, 3) } satisfies Rules;

/** The state of a `NearDuplicates`. */
interface Handle {
  readonly engine: ServerEngine;
  /** `undefined` once it was freed. */
  groups: Groups | undefined;
}

export class NearDuplicates implements Api.NearDuplicates {
  /** A function, since proxies, such as those of Vue and Alpine, wrap objects in properties. */
  private readonly handle: () => Handle;

  private constructor(handle: Handle) {
    this.handle = () => handle;
  }

  static async create(options: { readonly distance?: number } = {}): Promise<NearDuplicates> {
    const { distance } = checkAllOptions("NearDuplicates", options, rules) as { distance: number };
    const engine = await loadServerEngine();
    const groups = call(engine, () => new engine.classes.NearDuplicates(distance));
    return new NearDuplicates({ engine, groups });
  }

  groupOf(fingerprint: string, id: string): string {
    if (!isNonEmptyString(fingerprint)) refuse("a fingerprint must be 16 hexadecimal digits");
    if (!isNonEmptyString(id)) refuse("an id must be a string that is not empty");
    const { engine, groups } = this.handle();
    if (!groups) throw new SeenGuardError("bad-option", "these near-duplicates were freed: create others");
    const { batch } = engine.writer;
    return callWith(engine, [fingerprint, id], () => groups.groupOf(batch));
  }

  free(): void {
    const handle = this.handle();
    const { engine, groups } = handle;
    handle.groups = undefined;
    if (groups) freeIn(engine, groups);
  }
}

type Feature = string | readonly [feature: string, weight: number];

export function simhash(features: Iterable<Feature>): string {
  const checked = readGiven("bad-option", "the features", () => Array.from(checkList(features), checkFeature));
  const names = checked.map(([name]) => name);
  const weights = Float64Array.from(checked, ([, weight]) => weight);
  const engine = serverEngine();
  const { batch } = engine.writer;
  return callWith(engine, names, () => engine.classes.simhash(batch, weights));
}

/** A string is refused, though JavaScript can iterate over its characters: the features of a text are its words. */
function checkList(features: unknown): Iterable<unknown> {
  const isList = typeof features === "object" && features !== null && Symbol.iterator in features;
  if (Array.isArray(features)) return copyList<unknown>(features);
  return isList ? (features as Iterable<unknown>) : refuse("simhash takes a list of features, such as a text's words");
}

function checkFeature(feature: unknown): readonly [name: string, weight: number] {
  const [name, weight] = Array.isArray(feature) ? (feature as unknown[]) : [feature, 1];
  if (typeof name === "string" && typeof weight === "number") return [name, weight];
  return refuse("a feature must be a string, or a list of a string and its weight");
}
