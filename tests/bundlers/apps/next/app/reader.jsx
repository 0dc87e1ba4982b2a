"use client";
/** A client component: guards the feed in the browser. */
import { useEffect } from "react";
import { SeenGuard } from "seenguard";
import { showFeed } from "../../feed.js";

export function Reader() {
  useEffect(() => {
    const fallback = () => import("seenguard/engine-js");
    const formatsFallback = () => import("seenguard/formats/engine-js");
    showFeed({ SeenGuard, fallback, formatsFallback }, () => import("seenguard/formats"));
  }, []);
  return <ol id="feed" />;
}
