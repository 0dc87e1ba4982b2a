/** Which files may import which: no circles, types included, and the package's own sources stand alone. */
/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    { name: "no-circular", severity: "error", from: {}, to: { circular: true } },
    {
      name: "package-alone",
      comment: "What is shipped knows neither the demo nor the tools, the tests or the command.",
      severity: "error",
      from: { path: "^js/" },
      to: { path: "^(benches|cli|docs|examples|scripts|tests|www)/" },
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
