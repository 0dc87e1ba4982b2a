/** The frame of every page of a reader. */
import { Link, Navigate, NavLink, Outlet, ScrollRestoration } from "react-router-dom";
import { useReport } from "seenguard/react";
import { AccountContext, knownNames, useAccount, useGuard, useSession, useSignIn, useSignOut } from "./account.tsx";

export function Layout() {
  const account = useSession();
  if (account === null) return <Navigate to="/sign-in" replace />;
  return (
    account && (
      <AccountContext key={account.id} value={account}>
        <Reader />
      </AccountContext>
    )
  );
}

function Reader() {
  const guard = useGuard();
  useReport(guard, { url: "/api/seen" });
  // A list is there from its first rendering on, so that its scroll position can be restored.
  if (guard === undefined) return null;
  return (
    <>
      <header>
        <Link to="/" className="masthead">
          The Daily Round
        </Link>
        <nav aria-label="Pages">
          <NavLink to="/">Stories</NavLink>
          <NavLink to="/topics/Lighthouses">Lighthouses</NavLink>
          <NavLink to="/history">History</NavLink>
        </nav>
        {/* Delivers pending impressions while the session is still this reader's. */}
        <AccountMenu beforeLeaving={async () => guard?.deliver()} />
      </header>
      <main>
        <Outlet />
      </main>
      <ScrollRestoration />
    </>
  );
}

function AccountMenu({ beforeLeaving }: { beforeLeaving: () => Promise<unknown> }) {
  const { name } = useAccount();
  const signIn = useSignIn();
  const signOut = useSignOut();
  const leave = (then: () => void) => void beforeLeaving().then(then);
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
