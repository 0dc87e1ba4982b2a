"use client";
/** A client component: guards the feed in the browser. */
import { useEffect } from "react";
import { SeenGuard } from "seenguard";
import { showFeed } from "../../feed.js";

export function Reader() {
  useEffect(() => {
    showFeed({ SeenGuard }, () => import("seenguard/formats"));
  }, []);
  return <ol id="feed" />;
}
