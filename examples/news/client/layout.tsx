/** What is around every page of a reader. */
import { Link, Navigate, NavLink, Outlet, ScrollRestoration } from "react-router-dom";
import type { Account } from "../shared/story.ts";
import { AccountContext, knownNames, useAccount, useSession, useSignIn, useSignOut } from "./account.tsx";
import { GuardContext, useGuard, useGuardOf } from "./seen.ts";

export function Layout() {
  const account = useSession();
  if (account === null) return <Navigate to="/sign-in" replace />;
  return account && <Reader key={account.id} account={account} />;
}

function Reader({ account }: { account: Account }) {
  const guard = useGuardOf(account.id);
  // Lists are there from the first rendering on, so that the scroll position can be restored.
  if (!guard) return null;
  return (
    <AccountContext value={account}>
      <GuardContext value={guard}>
        <header>
          <Link to="/" className="masthead">
            The Daily Round
          </Link>
          <nav aria-label="Pages">
            <NavLink to="/">Stories</NavLink>
            <NavLink to="/topics/Lighthouses">Lighthouses</NavLink>
            <NavLink to="/history">History</NavLink>
          </nav>
          <AccountMenu />
        </header>
        <main>
          <Outlet />
        </main>
        <ScrollRestoration />
      </GuardContext>
    </AccountContext>
  );
}

function AccountMenu() {
  const { name } = useAccount();
  const guard = useGuard();
  const signIn = useSignIn();
  const signOut = useSignOut();
  // What was seen until now is reported while the session is still this reader's.
  const leave = (then: () => void) => void guard.deliver().then(then);
  const others = knownNames().filter((other) => other !== name);
  return (
    <details className="account">
      <summary>{name}</summary>
      <ul>
        {others.map((other) => (
          <li key={other}>
            <button onClick={() => leave(() => signIn(other))}>Read as {other}</button>
          </li>
        ))}
        <li>
          <button onClick={() => leave(signOut)}>Sign out</button>
        </li>
      </ul>
    </details>
  );
}
