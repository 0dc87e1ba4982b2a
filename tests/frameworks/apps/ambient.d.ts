/** What the compilers of Vue and Svelte make modules of, and examples of the documentation. */
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
declare module "documented-pill" {
  import type { FunctionComponent } from "react";
  import type { SeenGuard } from "seenguard";
  interface Item {
    id: string;
  }
  export const Timeline: FunctionComponent<{ guard: SeenGuard | null | undefined; loaded: Item[]; arrived: Item[] }>;
}
declare module "documented-order" {
  import type { FunctionComponent } from "react";
  import type { SeenGuard } from "seenguard";
  export const SortedFeed: FunctionComponent<{ guard: SeenGuard | null | undefined }>;
}
