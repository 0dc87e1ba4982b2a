/** Signing in by a name. */
import { useState } from "react";
import { Navigate } from "react-router-dom";
import { useSession, useSignIn } from "./account.tsx";

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
