/** The same with the Wasm module as a file of its own, which the bundler places and names. */
import * as seenguard from "seenguard/slim";
import wasm from "seenguard/seenguard.wasm?url";
import chapters from "../chapters.json";
import { show } from "../show.js";
import { tell } from "../story.js";

show(await tell(seenguard, chapters, { wasm: new URL(wasm, location.href) }));
