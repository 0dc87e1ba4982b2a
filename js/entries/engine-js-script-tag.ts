/** The JavaScript engine for a script tag of its own, before or after that of `seenguard.iife.js`. */
import { shareEngine } from "../engine/script-tag.js";
import { createEngine } from "./formats/engine-js.js";

shareEngine({ createEngine });
