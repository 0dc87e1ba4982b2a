const { dirname, resolve } = require("node:path");

const packages = ["metro-runtime", "@babel/runtime"].map((name) => dirname(require.resolve(`${name}/package.json`)));

/** The packages lie further up, as in a workspace: Metro finds what it watches alone. */
module.exports = {
  watchFolders: [resolve(__dirname, ".."), ...packages],
  resolver: {
    // As `@react-native/metro-config` has it.
    unstable_conditionNames: ["require", "react-native"],
    nodeModulesPaths: ["../node_modules", "../../node_modules"].map((path) => resolve(__dirname, path)),
  },
};
