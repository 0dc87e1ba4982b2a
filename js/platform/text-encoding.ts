/**
 * `TextEncoder` and `TextDecoder`: the platform's, or where it has none those that an entry provides. They are looked up
 * with the first string, so that importing an entry needs none.
 *
 * The build makes the glue code of wasm-bindgen use these, too.
 */
export type Encoder = Pick<globalThis.TextEncoder, "encode" | "encodeInto">;
export type Decoder = Pick<globalThis.TextDecoder, "decode">;

interface TextEncoding {
  readonly TextEncoder: new () => Encoder;
  readonly TextDecoder: new (label?: string, options?: TextDecoderOptions) => Decoder;
}

const PROVIDED = Symbol.for("seenguard.text-encoding");

const globals = globalThis as unknown as Partial<TextEncoding> & { [PROVIDED]?: TextEncoding };

/** Provides an implementation to all copies of the package, as the entries for React Native and for tests do. */
export function provideTextEncoding(encoding: TextEncoding): void {
  globals[PROVIDED] = encoding;
}

function find<Name extends keyof TextEncoding>(name: Name): TextEncoding[Name] {
  const found = (globals[name] ?? globals[PROVIDED]?.[name]) as TextEncoding[Name] | undefined;
  if (!found) throw new Error(`${name} is not defined: an app's tests import seenguard/testing`);
  return found;
}

/** Throws where there is none. */
export const createEncoder = (): Encoder => new (find("TextEncoder"))();

export class TextEncoder implements Encoder {
  private found: Encoder | undefined;

  encode(text?: string): Uint8Array<ArrayBuffer> {
    return (this.found ??= createEncoder()).encode(text);
  }

  encodeInto(text: string, bytes: Uint8Array): { read: number; written: number } {
    return (this.found ??= createEncoder()).encodeInto(text, bytes);
  }
}

export class TextDecoder implements Decoder {
  private found: Decoder | undefined;
  private readonly create: () => Decoder;

  constructor(label?: string, options?: TextDecoderOptions) {
    this.create = () => new (find("TextDecoder"))(label, options);
  }

  /** The glue decodes nothing when it is imported. */
  decode(bytes?: BufferSource): string {
    return bytes ? (this.found ??= this.create()).decode(bytes) : "";
  }
}
