/**
 * Keeps what this device has shown and the server may not know in a cookie, for the next document. Returns stop.
 * `owner`: whose it is, the namespace as encodeURIComponent writes it.
 */
export function keepPending(guard, owner, list) {
  const write = () => {
    document.cookie = `seen=${owner}|${guard.pendingShard(3000)}; path=/; max-age=86400; samesite=lax`;
  };
  write();
  return guard.observe(list, { onImpression: write });
}
