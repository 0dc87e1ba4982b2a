/** In the document of jsdom or happy-dom, as Vitest is told. */
import * as seenguard from "seenguard";
import * as server from "seenguard/server";
import { guardFeed } from "./feed.cjs";

test("a feed is guarded in Vitest", () => guardFeed(seenguard, server));
