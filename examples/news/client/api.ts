/** Requests to the server. */
import type { Account } from "../shared/story.ts";

export class HttpError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the server responded with status ${status}`);
    this.status = status;
  }
}

export type Request = <T = void>(method: string, path: string, init?: RequestInit) => Promise<T>;

export const request: Request = async <T>(method: string, path: string, init: RequestInit = {}) => {
  const response = await fetch(path, { ...init, method });
  if (!response.ok) throw new HttpError(response.status);
  return (response.status === 204 ? undefined : await response.json()) as T;
};

/** Makes requests that the server refuses once the session, which tabs share, is another account's. */
export const requestFor =
  ({ id }: Account): Request =>
  (method, path, init = {}) =>
    request(method, path, { ...init, headers: { ...init.headers, Account: id } });

export const isOfOtherSession = (error: unknown) => error instanceof HttpError && [401, 409].includes(error.status);
