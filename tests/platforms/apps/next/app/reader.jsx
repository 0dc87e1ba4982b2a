"use client";
/** A client component: guards the feed in the browser. */
import { useEffect } from "react";
import { SeenGuard } from "seenguard";
import { guardFeed } from "../../feed.js";

export function Reader() {
  useEffect(() => {
    guardFeed({ SeenGuard }, () => import("seenguard/formats"));
  }, []);
  return <ol id="feed" />;
}
