/**
 * The app's own state, as in a client that has Redux: outside of components, with accounts, a session that ends outside
 * of components, and a pager that does not use Seenguard.
 */
export interface Post {
  readonly id: string;
}
export interface State {
  readonly accounts: readonly string[];
  /** Who is signed in. */
  readonly account: string | null;
  readonly posts: readonly Post[];
  readonly page: number;
}
type Action =
  | { type: "signed-in"; account: string }
  | { type: "signed-out" }
  | { type: "loaded"; posts: readonly Post[] }
  | { type: "refreshed" };

const NO_POSTS = { posts: [], page: 0 };

function reduce(state: State, action: Action): State {
  if (action.type === "signed-in") {
    const accounts = [...new Set([...state.accounts, action.account])];
    return { ...NO_POSTS, accounts, account: action.account };
  }
  if (action.type === "signed-out") {
    const accounts = state.accounts.filter((account) => account !== state.account);
    return { ...NO_POSTS, accounts, account: null };
  }
  if (action.type === "refreshed") return { ...state, ...NO_POSTS };
  return { ...state, posts: [...state.posts, ...action.posts], page: state.page + 1 };
}

let state: State = { ...NO_POSTS, accounts: [], account: null };
const listeners = new Set<() => void>();

export const store = {
  getState: () => state,
  subscribe: (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
  dispatch: (action: Action) => {
    state = reduce(state, action);
    for (const listener of [...listeners]) listener();
  },
};

/** The session's end, by a menu, a push message or a request that answers 401. */
export async function endSession(beforeEnd: (account: string) => Promise<void>): Promise<void> {
  const { account } = state;
  if (account === null) return;
  await beforeEnd(account);
  store.dispatch({ type: "signed-out" });
}

export async function loadMore(headers: Record<string, string>): Promise<void> {
  const { account, page } = state;
  const response = await fetch(`/api/feed?page=${String(page)}`, { headers });
  const { items } = (await response.json()) as { items: Post[] };
  if (state.account === account && state.page === page) store.dispatch({ type: "loaded", posts: items });
}
