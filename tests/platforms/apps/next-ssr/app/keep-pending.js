/** Keeps what this device has shown and the server may not know in a cookie, for the next document. Returns stop. */
export function keepPending(guard, namespace, list) {
  const write = () => {
    const value = `${encodeURIComponent(namespace)}|${guard.pendingShard(3000)}`;
    document.cookie = `seen=${value}; path=/; max-age=86400; samesite=lax`;
  };
  write();
  return guard.observe(list, { onImpression: write });
}
