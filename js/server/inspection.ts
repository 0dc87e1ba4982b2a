/** The inspection of shards, for the package's command. */
import { refuse } from "../errors.js";
import { checkFormat } from "../input/format.js";
import type { ShardFormat } from "../types/server.js";
import { call, loadServerEngine } from "./engine.js";

/** The content of one filter. */
export interface FilterReport {
  readonly bits: number;
  readonly hashes: number;
  /** Absent in formats that do not count. */
  readonly count?: number;
  readonly setBits: number;
  readonly fill: number;
  readonly estimatedItems: number;
  readonly falsePositiveRate: number;
  readonly encoding: "raw" | "rice";
  /** The native format alone has the next three. */
  readonly seed?: string;
  readonly epoch?: number;
  /** Unix seconds; 0: never. */
  readonly expires?: number;
}

/** The content of one shard; several filters if it is a RedisBloom key that has grown. */
export interface ShardReport {
  /** Before base64. */
  readonly bytes: number;
  readonly bits: number;
  readonly estimatedItems: number;
  readonly falsePositiveRate: number;
  /** n · log2(1/ε). */
  readonly informationLimitBits: number;
  readonly filters: readonly FilterReport[];
}

export interface Inspection {
  readonly report: ShardReport;
  has(id: string, nowSeconds: number): boolean;
}

/** Reads one shard; throws a `SeenGuardError`. */
export type Inspector = (format: ShardFormat, text: string) => Inspection;

export async function loadInspector(): Promise<Inspector> {
  const engine = await loadServerEngine();
  return (format, text) => {
    const kind = checkFormat(format, refuse);
    const inspection = call(engine, () => new engine.classes.Inspection(...kind, text));
    return {
      report: call(engine, () => inspection.report() as ShardReport),
      has: (id, nowSeconds) => call(engine, () => inspection.has(id, nowSeconds)),
    };
  };
}
