import { useSeenRef } from "seenguard/react";
import type { Guard } from "../shared.ts";

export function Entry({ guard, id }: { guard: Guard; id: string }) {
  return <li ref={useSeenRef(guard, id)}>{id}</li>;
}
