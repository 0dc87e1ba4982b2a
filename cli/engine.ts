/** The Wasm module of the command, which lies beside it: pages do not pay for it. */
import { readFile } from "node:fs/promises";
import { describe, SeenGuardError } from "../js/errors.ts";
import { checkFormat } from "../js/format.ts";
import { initSync, RawInspection } from "../js/generated/inspect/glue.js";
import type { ErrorCode, ShardFormat } from "../js/types/seenguard.js";

/** What one filter holds. */
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
  /** These three in the native format alone. */
  readonly seed?: string;
  readonly epoch?: number;
  /** Unix seconds; 0: never. */
  readonly expires?: number;
}

/** What one shard holds; several filters if it is a RedisBloom key that has grown. */
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
export type Engine = (format: ShardFormat, text: string) => Inspection;

export async function startEngine(): Promise<Engine> {
  initSync({ module: await compile() });
  return (format, text) => {
    const kind = checkFormat(format, (message) => {
      throw new SeenGuardError("bad-option", message);
    });
    try {
      const raw = new RawInspection(...kind, text);
      return { report: raw.report() as ShardReport, has: (id, nowSeconds) => raw.has(id, nowSeconds) };
    } catch (thrown) {
      const { code, message } = thrown as { code?: ErrorCode; message: string };
      throw new SeenGuardError(code ?? "trap", message, thrown);
    }
  };
}

async function compile(): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(await readFile(new URL("./inspect.wasm", import.meta.url)));
  } catch (error) {
    throw new SeenGuardError("wasm-unavailable", `the command's Wasm cannot be loaded: ${describe(error)}`, error);
  }
}
