/** A page of a bundled app: tells the story and shows the feed. */
import * as seenguard from "seenguard";
import chapters from "../chapters.json";
import { show } from "../show.js";
import { tell } from "../story.js";

show(await tell(seenguard, chapters));
