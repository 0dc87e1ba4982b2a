/** The same with the Wasm module as a file of its own, which the bundler places and names. With ?guava it is the module that knows other formats. */
import * as seenguard from "seenguard/slim";
import formatsWasm from "seenguard/formats.wasm?url";
import wasm from "seenguard/seenguard.wasm?url";
import chapters from "../chapters.json";
import guavaChapters from "../guava-chapters.json";
import { show } from "../show.js";
import { tell } from "../story.js";

const [told, file] = location.search === "?guava" ? [guavaChapters, formatsWasm] : [chapters, wasm];
show(await tell(seenguard, told, { wasm: new URL(file, location.href) }));
