/** A style sheet, as the build inlines it. */
declare module "*.css" {
  const text: string;
  export default text;
}
