/** Which files may import which: no circles, types included, and what lies below knows nothing of what lies above. */
/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    { name: "no-circular", severity: "error", from: {}, to: { circular: true } },
    {
      name: "package-alone",
      comment: "What is shipped knows neither the demo nor the tools, the tests or the command.",
      severity: "error",
      from: { path: "^js/" },
      to: { path: "^(benches|cli|docs|examples|fuzz|lab|scripts|tests|www)/" },
    },
    {
      name: "engine-below",
      comment: "They know nothing of each other and of the folders above them, not by way of other files either.",
      severity: "error",
      from: { path: "^js/engine/", pathNot: "^js/engine/all-formats[.]ts$" },
      to: { path: "^js/[^/]+/", pathNot: "^js/(engine|generated|types)/", reachable: true },
    },
    {
      name: "storage-below",
      severity: "error",
      from: { path: "^js/storage/" },
      to: { path: "^js/[^/]+/", pathNot: "^js/(storage|generated|types)/", reachable: true },
    },
    {
      name: "formats-hook",
      comment: "The one file of js/engine that reaches up gives the guard what reads the other formats.",
      severity: "error",
      from: { path: "^js/engine/all-formats[.]ts$" },
      to: { path: "^js/[^/]+/", pathNot: "^js/((engine|generated|types)/|guard/snapshot[.]ts$)" },
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
