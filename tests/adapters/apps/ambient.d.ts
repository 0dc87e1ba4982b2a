/** What the compilers of Vue and Svelte make modules of, and the example of a page of the documentation. */
declare module "*.vue" {
  import type { Component } from "vue";
  const component: Component;
  export default component;
}
declare module "*.svelte" {
  import type { Component } from "svelte";
  const component: Component<Record<string, unknown>>;
  export default component;
}
declare module "documented-example" {
  import type { FunctionComponent } from "react";
  export const Feed: FunctionComponent<{ userId: string }>;
}
