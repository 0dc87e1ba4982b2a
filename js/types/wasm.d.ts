/** A Wasm module as the build inlines it, hexadecimal text; or as workers at the edge import it. */
declare module "*.wasm" {
  const wasm: string | WebAssembly.Module;
  export default wasm;
}
