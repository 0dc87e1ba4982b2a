/** The account: signing in, the session, which all tabs share, and the account's guard. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useState } from "react";
import { Navigate } from "react-router-dom";
import { SeenGuard } from "seenguard";
import { useSeenGuard } from "seenguard/react";
import type { Account } from "../shared/story.ts";
import { request, requestFor } from "./api.ts";
import { SESSION } from "./queries.ts";

export const AccountContext = createContext<Account>(undefined as never);

/** The account that this part of the page is for. */
export const useAccount = () => useContext(AccountContext);

export const useRequest = () => requestFor(useAccount());

export const useGuard = () => useSeenGuard({ namespace: useAccount().id, open: SeenGuard.open }).guard;

/** `null`: nobody is signed in; `undefined`: the session is being requested. */
export function useSession(): Account | null | undefined {
  const queryFn = () => request<Account | null>("GET", "/api/session");
  return useQuery({ queryKey: SESSION, queryFn, staleTime: 0 }).data;
}

export function useSignIn() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (name: string) =>
      request<Account>("POST", "/api/session", {
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ name }),
      }),
    onSuccess: async (account) => {
      remember(account.name);
      // A response that is still pending has the session before this one.
      await queries.cancelQueries({ queryKey: SESSION });
      queries.setQueryData(SESSION, account);
    },
  }).mutate;
}

export function useSignOut() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => request("DELETE", "/api/session"),
    onSuccess: async () => {
      await queries.cancelQueries();
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] });
      queries.setQueryData(SESSION, null);
    },
  }).mutate;
}

const NAMES = "names";

/** The names of the people who have signed in here. */
export const knownNames = () => JSON.parse(localStorage.getItem(NAMES) ?? "[]") as string[];

function remember(name: string): void {
  localStorage.setItem(NAMES, JSON.stringify([...new Set([name, ...knownNames()])]));
}

export function SignIn() {
  const account = useSession();
  const signIn = useSignIn();
  const [name, setName] = useState("");
  if (account) return <Navigate to="/" replace />;
  return (
    <main className="sign-in">
      <h1 className="masthead">The Daily Round</h1>
      <p>News that you have not seen yet.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          signIn(name);
        }}
      >
        <label>
          Your name
          <input value={name} onChange={({ target }) => setName(target.value)} required autoComplete="username" />
        </label>
        <button className="primary">Sign in</button>
      </form>
    </main>
  );
}
