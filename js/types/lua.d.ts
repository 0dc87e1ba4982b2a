/** A script for Redis, as the build inlines it. */
declare module "*.lua" {
  const text: string;
  export default text;
}
