/** `NearDuplicates`: groups of items whose fingerprints are nearly the same. */
import { refuse, SeenGuardError } from "../errors.js";
import type { NearDuplicates as Groups } from "../generated/server/seenguard.js";
import { checkAllOptions, isText, wholeNumber, type Rules } from "../input/options.js";
import type * as Api from "../types/near-duplicates.js";
import { call, callWith, freeIn, loadServerEngine, type ServerEngine } from "../server/engine.js";

const rules = { distance: wholeNumber(0, 3, 3) } satisfies Rules;

/** The state of a `NearDuplicates`. */
interface Handle {
  readonly engine: ServerEngine;
  /** `undefined` once it was freed. */
  groups: Groups | undefined;
}

export class NearDuplicates implements Api.NearDuplicates {
  /** A function: proxies, such as those of Vue and Alpine, wrap the objects that they find in others. */
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
    if (!isText(fingerprint)) refuse("a fingerprint must be 16 hexadecimal digits");
    if (!isText(id)) refuse("an id must be a text that is not empty");
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
