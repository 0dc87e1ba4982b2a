/** Accounts and their sessions, which are stored in Redis under a cookie's value. Signing in needs only a name. */
import { randomUUID } from "node:crypto";
import type { Request, RequestHandler, Response } from "express";
import type { Account } from "../shared/story.ts";
import { redis } from "./redis.ts";

const COOKIE = "session";
const LIFETIME_SECONDS = 30 * 86_400;

export async function currentAccount(request: Request): Promise<Account | null> {
  const stored = await redis.get(keyOf(request));
  return stored === null ? null : (JSON.parse(stored) as Account);
}

export async function signIn(name: string, response: Response): Promise<Account> {
  const account = { id: name.trim().toLowerCase().replaceAll(/\W+/g, "-"), name: name.trim() };
  const session = randomUUID();
  await redis.set(`session:${session}`, JSON.stringify(account), "EX", LIFETIME_SECONDS);
  response.cookie(COOKIE, session, { httpOnly: true, sameSite: "lax", maxAge: LIFETIME_SECONDS * 1000 });
  return account;
}

export async function signOut(request: Request, response: Response): Promise<void> {
  await redis.del(keyOf(request));
  response.clearCookie(COOKIE);
}

/** Refuses requests without a session, and those of a tab that still shows another account. */
export const signedIn: RequestHandler = async (request, response, next) => {
  const account = await currentAccount(request);
  const shown = request.get("Account");
  if (!account) response.sendStatus(401);
  else if (shown !== undefined && shown !== account.id) response.sendStatus(409);
  else {
    response.locals.account = account;
    next();
  }
};

/** The account of a request that `signedIn` has accepted. */
export const accountOf = (response: Response) => (response.locals.account as Account).id;

function keyOf({ headers }: Request): string {
  const [, session = ""] = new RegExp(`(?:^|; )${COOKIE}=([^;]+)`).exec(headers.cookie ?? "") ?? [];
  return `session:${session}`;
}
