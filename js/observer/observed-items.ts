/** What the observers of a namespace have recorded in this document, so that they record no sight of an item twice. */
export class ObservedItems {
  /** What each element showed when it was recorded last. */
  private readonly ids = new WeakMap<Element, string>();
  /** What has not been out of view since it was recorded. Elements that are made anew change nothing. */
  private readonly inView = new Set<string>();

  /** Whether an element that was looked at is to be recorded. `isSeen`: its item is stopped, and not unseen since. */
  add(id: string, element: Element, isSeen: boolean): boolean {
    const isSame = this.ids.get(element) === id;
    const isInView = this.inView.has(id);
    if (isSame ? isInView || isSeen : isInView && isSeen) return false;
    this.ids.set(element, id);
    this.inView.add(id);
    return true;
  }

  leave(id: string): void {
    this.inView.delete(id);
  }
}
