/** A page whose server keeps the filters of another library. */
import * as seenguard from "seenguard/formats";
import chapters from "../guava-chapters.json";
import { show } from "../show.js";
import { tell } from "../story.js";

show(await tell(seenguard, chapters));
