/** For a Hermes without classes, as that of hermes-engine-cli is. */
module.exports = { presets: [["@react-native/babel-preset", { unstable_transformProfile: "default" }]] };
