/** Requests to the API. */

declare global {
  interface Window {
    /** The webview's own `fetch`. Capacitor stores it here when it replaces `fetch` by the system's. */
    CapacitorWebFetch?: typeof fetch;
  }
}

/** The API's address. A build can set another: `VITE_API=https://… npm run build`. */
const { VITE_API: origin = "https://api.stories.example", MODE } = import.meta.env;

/** With CapacitorHttp the system makes the requests, without CORS and preflights. */
export const apiFetch = window.fetch;

// `vite build --mode aside`: the system's `fetch` is for the API alone, all else of the page uses the webview's own.
if (MODE === "aside" && window.CapacitorWebFetch) window.fetch = window.CapacitorWebFetch;

export const addressOf = (path: string) => origin + path;

export const authorizationOf = (token: string) => ({ Authorization: `Bearer ${token}` });

export async function request<T>(path: string, init: RequestInit): Promise<T> {
  const response = await apiFetch(addressOf(path), init);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return (await response.json()) as T;
}
