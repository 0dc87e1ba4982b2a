/** The items, which `vite.config.ts` puts into the worker's script: grouping them takes seconds. */
declare module "virtual:catalogue" {
  const catalogue: readonly import("../server/catalogue.ts").Item[];
  export default catalogue;
}
