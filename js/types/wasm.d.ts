/** A Wasm module as the build inlines it: hexadecimal text. */
declare module "*.wasm" {
  const hex: string;
  export default hex;
}
