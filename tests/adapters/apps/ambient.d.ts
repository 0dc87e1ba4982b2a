/** What the compilers of Vue and Svelte make modules of. */
declare module "*.vue" {
  import type { Component } from "vue";
  const component: Component;
  export default component;
}
declare module "*.svelte" {
  import type { Component } from "svelte";
  const component: Component<{ initial: import("./shared.ts").Initial | undefined }>;
  export default component;
}
