/** Items that observers of a namespace have recorded in this document: each view of an item is recorded once. */
export class ObservedItems {
  /** The id that each element showed when it was recorded last. */
  private readonly ids = new WeakMap<Element, string>();
  /** Ids that have not left the view since they were recorded, even if their elements were recreated. */
  private readonly inView = new Set<string>();

  /** Whether to record an element after its dwell time. `isSeen`: its item is stopped, and not unseen since. */
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
