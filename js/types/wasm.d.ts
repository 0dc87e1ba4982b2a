/** A Wasm module as the build inlines it: hexadecimal text. */
declare module "*.wasm" {
  const wasm: string;
  export default wasm;
}
