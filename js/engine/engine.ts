/**
 * A running engine, as Wasm or as JavaScript: the generated classes, and the handling of failed calls.
 *
 * A trap leaves the engine's memory in an unknown state, so it is not called again: once in a document a new engine
 * replaces it.
 */
import { failure, SeenGuardError, type ErrorListener } from "../errors.js";
import type { glue, TextBatch } from "../generated/client/seenguard.js";
import { TextBatchWriter, type EngineMemory } from "./batch.js";

/** A Wasm module, or its translation by wasm2js. */
export type EngineKind = "wasm" | "js";

/** The classes that every build of the engine has. */
export interface EngineClasses {
  readonly TextBatch: new () => TextBatch;
}

/** The classes of builds for pages. */
export type GuardClasses = typeof glue;

/** `Classes`: the classes of the entry's build. */
export class Engine<Classes extends EngineClasses = GuardClasses> {
  readonly kind: EngineKind;
  /** The generated classes. */
  readonly classes: Classes;
  readonly writer: TextBatchWriter<InstanceType<Classes["TextBatch"]>>;
  /** Called when the engine traps. */
  readonly onTrap = new Set<ErrorListener>();
  hasTrapped = false;

  constructor(kind: EngineKind, classes: Classes, memory: EngineMemory) {
    this.kind = kind;
    this.classes = classes;
    this.writer = new TextBatchWriter(new classes.TextBatch() as InstanceType<Classes["TextBatch"]>, memory);
  }

  /**
   * Calls into the engine. Returns `undefined` if it traps, or has trapped before. Throws a `SeenGuardError` for
   * input that the engine refuses.
   */
  call<T>(run: () => T): T | undefined {
    if (this.hasTrapped) return undefined;
    try {
      return run();
    } catch (cause) {
      // A refusal is a `SeenGuardError`; any other exception is a trap.
      if (cause instanceof SeenGuardError) throw cause;
      this.hasTrapped = true;
      const message = "the engine trapped (please report this bug): everything passes until a new one has loaded";
      const error = failure("engine", message, cause);
      for (const listener of [...this.onTrap]) listener(error);
      return undefined;
    }
  }
}
