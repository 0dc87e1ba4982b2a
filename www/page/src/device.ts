/**
 * Which of a person's devices this page is: `?device=phone` is the one that the page shows in a frame. A phone has a
 * storage of its own, as long as the tab; what is stored elsewhere has the device in its name, too.
 */
import type { SeenStorage } from "seenguard";

export type Device = "desk" | "phone";

const ON_PHONE = "@phone";
const PHONE_PREFIX = "demo-phone:";

export const device: Device = new URL(location.href).searchParams.get("device") === "phone" ? "phone" : "desk";

/** The same name for the same device alone. */
export function onDevice(name: string): string {
  return device === "desk" ? name : name + ON_PHONE;
}

export function isOnPhone(name: string): boolean {
  return name.endsWith(ON_PHONE);
}

/** An object with four methods over localStorage, which every browser lets fill up. */
export const smallStorage: SeenStorage = {
  get: (key) => localStorage.getItem(key),
  set: (key, value) => localStorage.setItem(key, value),
  remove: (key) => localStorage.removeItem(key),
  keys: () => Object.keys(localStorage),
};

export const phoneStorage: SeenStorage = {
  get: (key) => sessionStorage.getItem(PHONE_PREFIX + key),
  set: (key, value) => sessionStorage.setItem(PHONE_PREFIX + key, value),
  remove: (key) => sessionStorage.removeItem(PHONE_PREFIX + key),
  keys: () =>
    Object.keys(sessionStorage).flatMap((key) =>
      key.startsWith(PHONE_PREFIX) ? [key.slice(PHONE_PREFIX.length)] : [],
    ),
};
