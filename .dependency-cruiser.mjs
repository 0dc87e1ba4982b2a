import { builtinModules } from "node:module";

/** Which files may import which: no circles, types included, and what lies below knows nothing of what lies above. */
/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    { name: "no-circular", severity: "error", from: {}, to: { circular: true } },
    {
      name: "package-alone",
      comment: "What is shipped knows neither the demo nor the tools, the tests or the command.",
      severity: "error",
      from: { path: "^js/", pathNot: "^js/cli/" },
      to: { path: "^(js/cli|docs|examples|lab|scripts|tests|www)/" },
    },
    {
      name: "engine-below",
      comment: "The engine knows what reads the app's input, and no other folder, not by way of other files either.",
      severity: "error",
      from: { path: "^js/engine/" },
      to: { path: "^js/[^/]+/", pathNot: "^js/(engine|generated|input|platform|types)/", reachable: true },
    },
    {
      name: "storage-below",
      comment: "The storage performs what the engine decides, and knows nothing of the folders above them.",
      severity: "error",
      from: { path: "^js/storage/" },
      to: { path: "^js/[^/]+/", pathNot: "^js/(engine|generated|input|platform|storage|types)/", reachable: true },
    },
    {
      name: "demo-over-package",
      comment: "The demo uses the package as its users do, by its public entries; scripts/ starts what is behind it.",
      severity: "error",
      from: { path: "^www/" },
      to: { path: "^(docs|examples|js|lab|src|tests)/" },
    },
    {
      name: "handler-anywhere",
      comment: "The demo's handler and its back end in memory run where there is no Node, in a page's worker.",
      severity: "error",
      from: { path: "^www/(server/(handler|memory)|alone/.*)\\.ts$" },
      to: { path: `^(${builtinModules.join("|")})$`, reachable: true },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    // Scripts in plain JavaScript name types as import("…") in their comments.
    detectJSDocImports: true,
    doNotFollow: { path: ["node_modules", "^dist/", "^js/generated/"] },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "default"] },
  },
};
