/** A feed of two accounts: routes, Suspense, TanStack Query, a virtual list. */
import { QueryClient, QueryClientProvider, useInfiniteQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Activity, lazy, StrictMode, Suspense, useRef, useState } from "react";
import { Link, Route, Routes } from "react-router-dom";
import type { ReportOptions } from "seenguard";
import { useSeenFeed, useSeenGuard, useSeenRef, type SeenFeedOptions } from "seenguard/react";
import { fetchPage, namespaceOf, noteRender, observing, open, users } from "../shared.ts";
import type { Guard, Initial, Item, User } from "../shared.ts";

const Article = lazy(() => import("./article.tsx"));

export function App({ initial }: { initial?: Initial | undefined }) {
  const [client] = useState(() => new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } }));
  const [user, setUser] = useState<User>(initial?.user ?? "ada");
  return (
    <StrictMode>
      <QueryClientProvider client={client}>
        <h1>{user}</h1>
        {users.map((each) => (
          <button key={each} onClick={() => setUser(each)}>
            {each}
          </button>
        ))}
        <Suspense fallback={<p>Loading</p>}>
          <Routes>
            <Route
              path="/"
              element={<Home user={user} initial={initial} list={{ key: "home", ssr: initial?.ssr === true }} />}
            />
            <Route path="/kept" element={<Kept user={user} />} />
            <Route path="/article" element={<Article />} />
            <Route path="/virtual" element={<Virtual user={user} />} />
          </Routes>
        </Suspense>
      </QueryClientProvider>
    </StrictMode>
  );
}

interface HomeProps {
  user: User;
  initial?: Initial | undefined;
  list?: SeenFeedOptions;
  report?: ReportOptions;
}

function Home({ user, initial, list, report }: HomeProps) {
  const guard = useSeenGuard({ namespace: namespaceOf(user), open, ...(report && { report }) });
  noteRender(user, guard);
  const { data, fetchNextPage, refetch } = useInfiniteQuery({
    queryKey: ["feed", user],
    queryFn: ({ pageParam }) => fetchPage(user, pageParam),
    initialPageParam: 0,
    getNextPageParam: (_page, _pages, page) => page + 1,
    ...(initial?.user === user && { initialData: { pages: [[...initial.items]], pageParams: [0] } }),
  });
  const { items, reset } = useSeenFeed(guard, data?.pages.flat() ?? [], list);
  return (
    <>
      <Link to="/article">Article</Link>
      <Link to="/virtual">Virtual</Link>
      <button onClick={() => (reset(), void refetch())}>Refresh</button>
      <ol>
        {items.map((item) => (
          <Entry key={item.id} guard={guard} item={item} />
        ))}
      </ol>
      <button onClick={() => void fetchNextPage()}>More</button>
    </>
  );
}

function Entry({ guard, item }: { guard: Guard; item: Item }) {
  return <li ref={useSeenRef(guard, item.id, { ...observing })}>{item.title}</li>;
}

/** A list without a key, which is hidden and shown again. */
function Kept({ user }: { user: User }) {
  const [mode, setMode] = useState<"visible" | "hidden">("visible");
  return (
    <>
      <button onClick={() => setMode(mode === "visible" ? "hidden" : "visible")}>Hide or show</button>
      <Activity mode={mode}>
        <Home user={user} report={{ url: "/api/feed/seen" }} />
      </Activity>
    </>
  );
}

const many = Array.from({ length: 1000 }, (_, index) => ({ id: `row-${String(index)}` }));

/** Rows are reused: an element shows one item after another. */
function Virtual({ user }: { user: User }) {
  const guard = useSeenGuard({ namespace: namespaceOf(user), open });
  const { items } = useSeenFeed(guard, many);
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 50,
  });
  noteRender(user, guard);
  return (
    <div ref={scroller} id="scroller" style={{ height: 200, overflow: "auto" }}>
      <ol style={{ height: rows.getTotalSize(), position: "relative", margin: 0 }}>
        {rows.getVirtualItems().map(({ index, start }, place) => (
          <Row key={place} guard={guard} id={items[index]?.id ?? ""} top={start} />
        ))}
      </ol>
    </div>
  );
}

function Row({ guard, id, top }: { guard: Guard; id: string; top: number }) {
  return (
    <li ref={useSeenRef(guard, id, { ...observing })} style={{ position: "absolute", top, height: 50 }}>
      {id}
    </li>
  );
}
