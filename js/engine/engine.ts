/**
 * The engine as it runs, as Wasm or as JavaScript: the generated classes, and what happens when a call into them fails.
 *
 * A trap leaves the engine's memory in an unknown state, so nothing calls into it again: once in a document a fresh one
 * takes its place.
 */
import { failure, SeenGuardError, type ErrorListener } from "../errors.js";
import type { glue } from "../generated/client/seenguard.js";
import { TextBatchWriter, type EngineMemory } from "./batch.js";

/** What runs: a Wasm module, or what wasm2js made of it. */
export type EngineKind = "wasm" | "js";

/** The classes that every build of the engine has. */
export interface EngineClasses {
  readonly TextBatch: GuardClasses["TextBatch"];
}

/** Those of the builds for pages. */
export type GuardClasses = typeof glue;

/** `Classes`: those of the entry's build. */
export class Engine<Classes extends EngineClasses = GuardClasses> {
  readonly kind: EngineKind;
  /** The generated classes. */
  readonly classes: Classes;
  readonly writer: TextBatchWriter;
  /** Told when the engine traps. */
  readonly onTrap = new Set<ErrorListener>();
  hasTrapped = false;
  /** Objects that must never be collected: the glue would free them in memory that is not to be trusted. */
  readonly abandoned: object[] = [];

  constructor(kind: EngineKind, classes: Classes, memory: EngineMemory) {
    this.kind = kind;
    this.classes = classes;
    this.writer = new TextBatchWriter(new classes.TextBatch(), memory);
  }

  /**
   * Calls into the engine. Returns `undefined` if it traps, or has trapped before. Throws a `SeenGuardError` for what
   * the engine refuses.
   */
  call<T>(run: () => T): T | undefined {
    if (this.hasTrapped) return undefined;
    try {
      return run();
    } catch (cause) {
      // What it refuses, and tells by a text; everything else that comes out of it is a trap.
      if (cause instanceof SeenGuardError) throw cause;
      if (typeof cause === "string") throw new SeenGuardError("bad-option", cause);
      this.hasTrapped = true;
      const error = failure(
        "engine",
        "the engine trapped: everything passes until a fresh one knows what is stored",
        cause,
      );
      for (const listener of [...this.onTrap]) listener(error);
      return undefined;
    }
  }
}
