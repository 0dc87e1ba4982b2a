/**
 * Keeps what this device has shown and the server may not know in a cookie, for the next document. Returns stop.
 * `owner`: whose it is, the namespace as encodeURIComponent writes it.
 */
export function keepPending(guard, owner, list) {
  const write = () => {
    // Without the device's name: it counts for its request alone.
    const [, counter, forgotten, list = ""] = guard.headers()["Seen-Pending"].split(".");
    const pending = `.${counter}.${forgotten}.${list.slice(0, 3000)}`;
    document.cookie = `seen=${owner}|${pending}; path=/; max-age=86400; samesite=lax`;
  };
  write();
  return guard.observe(list, { onImpression: write });
}
