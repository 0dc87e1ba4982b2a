/** The bundler gives the list of addresses as one text. */
declare module "*/wiki-urls-10000" {
  const text: string;
  export default text;
}
