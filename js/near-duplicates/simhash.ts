/** `simhash`: a fingerprint of an item's features. */
import { readGiven, refuse } from "../errors.js";
import { copyList } from "../input/ids.js";
import { callWith, serverEngine } from "../server/engine.js";

type Feature = string | readonly [feature: string, weight: number];

export function simhash(features: Iterable<Feature>): string {
  const checked = readGiven("bad-option", "the features", () => Array.from(checkList(features), checkFeature));
  const ids = checked.map(([text]) => text);
  const weights = Float64Array.from(checked, ([, weight]) => weight);
  const engine = serverEngine();
  const { batch } = engine.writer;
  return callWith(engine, ids, () => engine.classes.simhash(batch, weights));
}

/** A text is refused, though JavaScript can iterate over its characters: the features of a text are its words. */
function checkList(features: unknown): Iterable<unknown> {
  const isList = typeof features === "object" && features !== null && Symbol.iterator in features;
  if (Array.isArray(features)) return copyList<unknown>(features);
  return isList ? (features as Iterable<unknown>) : refuse("simhash takes a list of features, such as a text's words");
}

function checkFeature(feature: unknown): readonly [text: string, weight: number] {
  const [text, weight] = Array.isArray(feature) ? (feature as unknown[]) : [feature, 1];
  if (typeof text === "string" && typeof weight === "number") return [text, weight];
  return refuse("a feature must be a text, or a list of a text and its weight");
}
