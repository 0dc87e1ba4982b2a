/**
 * The device that this page represents: `?device=phone` is the one that the page shows in a frame. A phone has a storage
 * of its own, which lasts as long as the tab; other stored names contain the device.
 */
import type { SeenStorage } from "seenguard";

export type Device = "desk" | "phone";

const ON_PHONE = "@phone";
const PHONE_PREFIX = "demo-phone:";

export const device: Device = new URL(location.href).searchParams.get("device") === "phone" ? "phone" : "desk";

/** A name that is separate for each device. */
export function onDevice(name: string): string {
  return device === "desk" ? name : name + ON_PHONE;
}

export function isOnPhone(name: string): boolean {
  return name.endsWith(ON_PHONE);
}

/** A custom store over localStorage, which can be filled in every browser. */
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
