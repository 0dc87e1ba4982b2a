/**
 * `TextEncoder` and `TextDecoder`: the platform's, or where it has none those that an entry has brought. They are looked
 * up with the first text: to import an entry, nothing is needed.
 *
 * The build has the glue that wasm-bindgen generates use these, too.
 */
export type Encoder = Pick<globalThis.TextEncoder, "encode" | "encodeInto">;
export type Decoder = Pick<globalThis.TextDecoder, "decode">;

interface TextEncoding {
  readonly TextEncoder: new () => Encoder;
  readonly TextDecoder: new (label?: string, options?: TextDecoderOptions) => Decoder;
}

const BROUGHT = Symbol.for("seenguard.text-encoding");

const place = globalThis as unknown as Partial<TextEncoding> & { [BROUGHT]?: TextEncoding };

/** Brings some to all copies of the package: the entries for React Native and for tests do. */
export function bringTextEncoding(encoding: TextEncoding): void {
  place[BROUGHT] = encoding;
}

function find<Name extends keyof TextEncoding>(name: Name): TextEncoding[Name] {
  const found = (place[name] ?? place[BROUGHT]?.[name]) as TextEncoding[Name] | undefined;
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
