/** The limit of a call's time. */

/**
 * The result of `work`, if it comes within this many milliseconds and one turn of the event loop: if the loop was
 * blocked, the response may have arrived already. Else rejects with what `onLimit` returns.
 */
export function atLimit<T>(ms: number, work: Promise<T>, onLimit: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => {
      timer = setTimeout(() => reject(onLimit()));
    }, ms);
    void work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
