/** Whether this is the build for development, which checks what the app passes. */
declare const __DEV__: boolean;

/** A style sheet, as the build inlines it. */
declare module "*.css" {
  const text: string;
  export default text;
}

/** A Wasm module as the build inlines it: an encoded string, or in CommonJS its bytes. */
declare module "*.wasm" {
  const wasm: string | Uint8Array<ArrayBuffer>;
  export default wasm;
}
