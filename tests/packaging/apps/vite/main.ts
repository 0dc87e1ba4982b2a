/** A page of a bundled app: tells the story and shows the feed. With ?guava its server has filters that this entry does not know. */
import * as seenguard from "seenguard";
import chapters from "../chapters.json";
import guavaChapters from "../guava-chapters.json";
import { show } from "../show.js";
import { tell } from "../story.js";

window.makeShards = async (ids) => {
  const chain = await seenguard.ShardChain.create();
  chain.record(ids);
  return { held: [...ids, "another"].map((id) => chain.has(id)), isChain: chain instanceof seenguard.ShardChain };
};
show(await tell(seenguard, location.search === "?guava" ? guavaChapters : chapters));
