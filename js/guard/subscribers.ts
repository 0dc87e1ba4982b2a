/** The subscribed listeners of one handle: they are called in a microtask, once a task. */
import { callBack } from "../errors.js";

export class Subscribers {
  private readonly listeners = new Set<() => void>();
  private isDue = false;

  /** Returns unsubscribe. */
  add(listener: () => void): () => void {
    // A function that subscribed twice is called twice.
    const call = () => callBack(listener);
    this.listeners.add(call);
    return () => void this.listeners.delete(call);
  }

  notify(): void {
    if (this.isDue) return;
    this.isDue = true;
    queueMicrotask(() => {
      this.isDue = false;
      for (const call of this.listeners) call();
    });
  }
}
