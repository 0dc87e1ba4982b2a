/** The hooks where no browser is needed: whose guard a rendering gets, and what it shows. */
import { act, Component, StrictMode, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { SeenGuardError, type FeedPage, type Identified, type PageRequest, type SeenGuard } from "seenguard";
import { SeenGuard as FormatsGuard } from "seenguard/formats";
import {
  useSeenFeed,
  useSeenGuard,
  useSeenPages,
  useSeenRef,
  type SeenFeed,
  type SeenFeedOptions,
  type SeenPages,
  type SeenPagesOptions,
} from "seenguard/react";
import { openTestGuard } from "seenguard/testing";
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";

beforeAll(() => vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true));

const unmounts: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const unmount of unmounts.splice(0)) await unmount();
});

/** Waits until React has done what this leads to. */
const inAct = (run: () => void) =>
  act(async () => {
    run();
    await Promise.resolve();
  });

/** Renders under StrictMode until the test is over. */
async function render(node: ReactNode) {
  const root = createRoot(document.createElement("div"), { onCaughtError: () => undefined });
  const show = (next: ReactNode) => inAct(() => root.render(<StrictMode>{next}</StrictMode>));
  const unmount = () => inAct(() => root.unmount());
  unmounts.push(unmount);
  await show(node);
  return { show, unmount };
}

/** Renders what a hook returns. */
async function renderHook<P, T>(use: (props: P) => T, props: P) {
  const results: T[] = [];
  function Host({ props }: { props: P }) {
    results.push(use(props));
    return null;
  }
  const { show, unmount } = await render(<Host props={props} />);
  const latest = () => results.at(-1) as T;
  return { results, latest, unmount, show: (next: P) => show(<Host props={next} />) };
}

let namespaces = 0;
const uniqueNamespace = () => `home:reader-${String(++namespaces)}`;

async function testGuard(namespace = uniqueNamespace()) {
  const guard = await openTestGuard({ namespace });
  onTestFinished(() => guard.close());
  return guard;
}

const settle = () => act(() => new Promise((resolve) => setTimeout(resolve, 50)));
/** An engine that starts first takes a busy machine longer. */
const opened = async (latest: () => SeenGuard | undefined) => {
  for (let tries = 0; tries < 60 && !latest(); tries++) await settle();
};
const isOpen = (guard: SeenGuard | undefined) => guard?.apply({ shards: [] }).applied;

describe("useSeenGuard", () => {
  test("gives all components that ask for a namespace the same guard, until the last one has gone", async () => {
    const namespace = uniqueNamespace();
    const use = () => useSeenGuard({ namespace, storage: "none" });
    const [first, second] = [await renderHook(use, undefined), await renderHook(use, undefined)];
    await opened(() => first.latest() && second.latest());
    expect(first.results[0]).toBeUndefined();
    expect(isOpen(first.latest())).toBe(true);
    expect(second.latest()).toBe(first.latest());
    await first.unmount();
    await settle();
    expect(isOpen(second.latest())).toBe(true);
    await second.unmount();
    await settle();
    expect(isOpen(second.latest())).toBe(false);
  });

  test("opens nothing anew for options that are written anew, and calls the latest callbacks", async () => {
    const codes: string[] = [];
    const namespace = uniqueNamespace();
    const { results, show, latest } = await renderHook<string, SeenGuard | undefined>(
      (name) => useSeenGuard({ namespace, storage: "none", onError: ({ code }) => codes.push(`${name} ${code}`) }),
      "first",
    );
    await opened(latest);
    await show("second");
    expect(new Set(results)).toEqual(new Set([undefined, latest()]));
    latest()?.apply({ shards: ["no shard"] });
    expect(codes).toEqual(["second bad-snapshot"]);
  });

  test("gives no rendering another namespace's guard, though both are open", async () => {
    const guards = { ada: await testGuard("home:ada"), grace: await testGuard("home:grace") };
    guards.ada.record("ada");
    guards.grace.record("grace");
    const known = (user: string) => {
      const guard = useSeenGuard({ namespace: `home:${user}` });
      return guard && [user, ["ada", "grace"].filter((each) => guard.explain(each).seen)];
    };
    const { results, show } = await renderHook<string, ReturnType<typeof known>>(known, "ada");
    const order = ["grace", "ada", "grace", "grace", "ada"];
    for (const user of order) {
      await show(user);
      await settle();
    }
    const open = results.filter((result) => result !== undefined);
    expect(new Set(open.map(([user]) => user))).toEqual(new Set(["ada", "grace"]));
    for (const [user, knows] of open) expect(knows).toEqual([user]);
  });

  test("throws wrong options in the rendering, and opens when they are right", async () => {
    let caught: unknown;
    class Boundary extends Component<{ children: ReactNode }> {
      override state = { failed: false };
      static getDerivedStateFromError = () => ({ failed: true });
      override componentDidCatch(error: unknown) {
        caught = error;
      }
      override render = () => (this.state.failed ? null : this.props.children);
    }
    const namespace = uniqueNamespace();
    let guard: SeenGuard | undefined;
    function Host({ windowDays }: { windowDays: number }) {
      guard = useSeenGuard({ namespace, storage: "none", windowDays });
      return null;
    }
    const hostWith = (windowDays: number) => (
      <Boundary key={windowDays}>
        <Host windowDays={windowDays} />
      </Boundary>
    );
    const { show } = await render(hostWith(-1));
    await settle();
    expect(caught).toBeInstanceOf(SeenGuardError);
    expect(caught).toMatchObject({ code: "bad-option" });
    await show(hostWith(7));
    await opened(() => guard);
    expect(isOpen(guard)).toBe(true);
  });
});

test("useSeenGuard passes the fallback on", async () => {
  const fallback = vi.fn(() => import("seenguard/engine-js"));
  const open = vi.fn(FormatsGuard.open);
  const options = { namespace: uniqueNamespace(), storage: "none", fallback, open } as const;
  const { latest } = await renderHook(() => useSeenGuard(options), undefined);
  await opened(latest);
  await open.mock.calls[0]?.[0].fallback?.();
  expect(fallback).toHaveBeenCalledTimes(1);
});

test("useSeenGuard opens the guard by the function that it is given", async () => {
  const namespace = uniqueNamespace();
  const open = vi.fn(FormatsGuard.open);
  const { latest } = await renderHook(() => useSeenGuard({ namespace, storage: "none", open }), undefined);
  await opened(latest);
  expect(open).toHaveBeenCalledTimes(1);
  expect(open.mock.calls[0]?.[0]).not.toHaveProperty("open");
  expect(latest()).toBeInstanceOf(FormatsGuard);
});

describe("useSeenFeed", () => {
  interface Props {
    guard: SeenGuard | undefined;
    items: readonly string[];
    options?: SeenFeedOptions;
  }
  const use = ({ guard, items, options }: Props) => useSeenFeed(guard, items, options);

  test("shows nothing before there is a guard, then what is fresh", async () => {
    const guard = await testGuard();
    guard.record("a");
    const { latest, show, results } = await renderHook<Props, SeenFeed<string>>(use, {
      guard: undefined,
      items: ["a", "b"],
    });
    expect(latest().items).toEqual([]);
    await show({ guard, items: ["a", "b"] });
    expect(latest().items).toEqual(["b"]);
    expect(results.flatMap(({ items }) => items)).not.toContain("a");
  });

  test("keeps what it shows, as the same array for the same items", async () => {
    const guard = await testGuard();
    const { latest, show } = await renderHook<Props, SeenFeed<string>>(use, { guard, items: ["a", "b"] });
    const before = latest().items;
    guard.record("a");
    await show({ guard, items: ["a", "b"], options: {} });
    expect(latest().items).toBe(before);
    await show({ guard, items: ["a", "b", "c"] });
    expect(latest().items).toEqual(["a", "b", "c"]);
  });

  test("forgets its verdicts with reset, which stays the same function", async () => {
    const guard = await testGuard();
    const { latest, show } = await renderHook<Props, SeenFeed<string>>(use, { guard, items: ["a", "b"] });
    const { reset } = latest();
    guard.record("a");
    await show({ guard, items: ["a", "b"] });
    expect(latest().reset).toBe(reset);
    await inAct(() => reset());
    expect(latest().items).toEqual(["b"]);
  });

  test("shows with the next rendering what was taken back", async () => {
    const guard = await testGuard();
    guard.record("a");
    const { latest, show } = await renderHook<Props, SeenFeed<string>>(use, { guard, items: ["a", "b"] });
    guard.unsee("a");
    await show({ guard, items: ["a", "b"] });
    expect(latest().items).toEqual(["a", "b"]);
  });

  test("puts what was seen last if it is told to", async () => {
    const guard = await testGuard();
    guard.record("a");
    const { latest } = await renderHook<Props, SeenFeed<string>>(use, {
      guard,
      items: ["a", "b"],
      options: { seen: "last" },
    });
    expect(latest().items).toEqual(["b", "a"]);
  });

  test("with a key, decides the same after its component was gone", async () => {
    const guard = await testGuard();
    const props = { guard, items: ["a", "b"], options: { key: "home" } };
    const first = await renderHook<Props, SeenFeed<string>>(use, props);
    guard.record("a");
    await first.unmount();
    expect((await renderHook<Props, SeenFeed<string>>(use, props)).latest().items).toEqual(["a", "b"]);
    expect((await renderHook<Props, SeenFeed<string>>(use, { guard, items: ["a", "b"] })).latest().items).toEqual([
      "b",
    ]);
  });

  test("takes an id function, which may be written anew", async () => {
    const guard = await testGuard();
    const posts = [{ key: "a" }, { key: "b" }];
    guard.record("a");
    const { latest } = await renderHook(() => useSeenFeed(guard, posts, { id: ({ key }) => key }), undefined);
    expect(latest().items).toEqual([posts[1]]);
  });

  describe("with ssr", () => {
    test.each(["drop", "last"] as const)(
      "keeps the first rendering's items, and filters later ones (%s)",
      async (seen) => {
        const guard = await testGuard();
        guard.record(["a", "c"]);
        const options: SeenFeedOptions = { ssr: true, seen };
        const { latest, show, results } = await renderHook<Props, SeenFeed<string>>(use, {
          guard: undefined,
          items: ["a", "b"],
          options,
        });
        await show({ guard, items: ["a", "b"], options });
        expect(results.map(({ items }) => items)).toEqual(results.map(() => ["a", "b"]));
        await show({ guard, items: ["a", "b", "c", "a", "d"], options });
        expect(latest().items).toEqual(seen === "drop" ? ["a", "b", "d"] : ["a", "b", "d", "c"]);
        await inAct(() => latest().reset());
        expect(latest().items).toEqual(seen === "drop" ? ["b", "d"] : ["b", "d", "a", "c"]);
      },
    );

    test("keeps nothing for another guard, or between the two", async () => {
      const [guard, other] = [await testGuard(), await testGuard()];
      other.record("a");
      const props = { items: ["a", "b"], options: { ssr: true } };
      const { latest, show } = await renderHook<Props, SeenFeed<string>>(use, { guard, ...props });
      await show({ guard: undefined, ...props });
      expect(latest().items).toEqual([]);
      await show({ guard: other, ...props });
      expect(latest().items).toEqual(["b"]);
    });

    test("leaves out what has an id of an item that stays", async () => {
      const guard = await testGuard();
      const [post, repost, unnamed] = [{ ids: ["a"] }, { ids: ["b", "a"] }, { ids: [] }];
      const useIds = (items: { ids: string[] }[]) => useSeenFeed(guard, items, { ssr: true, id: ({ ids }) => ids });
      const { latest, show } = await renderHook(useIds, [post, unnamed]);
      await show([post, unnamed, repost]);
      expect(latest().items).toEqual([post, unnamed]);
    });

    test("tells items apart that have no id yet", async () => {
      const guard = await testGuard();
      const [draft, other] = [{ id: null }, { id: null }];
      const useDrafts = (items: { id: null }[]) => useSeenFeed(guard, items as unknown as Identified[], { ssr: true });
      const { latest, show } = await renderHook(useDrafts, [draft]);
      await show([draft, other]);
      expect(latest().items).toEqual([draft, other]);
    });
  });
});

describe("useSeenPages", () => {
  interface Props {
    guard: SeenGuard | undefined;
    options?: Partial<SeenPagesOptions>;
  }

  /** A source of pages, two items each, that answers when the test says so. */
  function source(pages = 3) {
    const asked: PageRequest[] = [];
    const waiting: ((answer: "page" | "error") => void)[] = [];
    const fetchPage = (request: PageRequest) =>
      new Promise<FeedPage<string>>((resolve, reject) => {
        asked.push(request);
        const { page } = request;
        const items = [`item-${String(2 * page)}`, `item-${String(2 * page + 1)}`];
        const answer = { items, next: page + 1 < pages ? String(page + 1) : null };
        waiting.push((how) => (how === "page" ? resolve(answer) : reject(new Error("no network"))));
      });
    const answer = (how: "page" | "error" = "page") => inAct(() => waiting.shift()?.(how));
    const use = ({ guard, options }: Props) => useSeenPages(guard, fetchPage, { want: 2, ...options });
    return { asked, answer, use, pagesAsked: () => asked.map(({ page }) => page) };
  }
  const items = (...numbers: number[]) => numbers.map((number) => `item-${String(number)}`);
  const start = (props: Props, { use } = source()) => renderHook<Props, SeenPages<string>>(use, props);

  test("loads as soon as there is a guard, once under StrictMode, and more on request, to the end", async () => {
    const guard = await testGuard();
    const pages = source();
    const { latest, show } = await start({ guard: undefined }, pages);
    expect(latest()).toMatchObject({ items: [], loading: true, error: undefined, end: false });
    expect(pages.asked).toEqual([]);
    await show({ guard });
    expect(pages.pagesAsked()).toEqual([0]);
    await answerAll(pages, 1);
    expect(latest()).toMatchObject({ items: items(0, 1), loading: false, error: undefined, end: false });
    const before = latest().items;
    await inAct(() => {
      void latest().loadMore();
      void latest().loadMore();
    });
    expect(latest()).toMatchObject({ loading: true });
    expect(latest().items).toBe(before);
    await answerAll(pages, 1);
    expect(latest()).toMatchObject({ items: items(0, 1, 2, 3), loading: false, end: false });
    await inAct(() => void latest().loadMore());
    await answerAll(pages, 1);
    expect(latest()).toMatchObject({ items: items(0, 1, 2, 3, 4, 5), loading: false, end: true });
    await inAct(() => void latest().loadMore());
    expect(pages.pagesAsked()).toEqual([0, 1, 2]);
  });

  const answerAll = async ({ answer }: ReturnType<typeof source>, count: number) => {
    for (let index = 0; index < count; index++) await answer();
    await settle();
  };

  test("shows what came before an error beside it, and tries again", async () => {
    const guard = await testGuard();
    const pages = source();
    const { latest } = await start({ guard, options: { want: 4 } }, pages);
    await pages.answer();
    await settle();
    await pages.answer("error");
    await settle();
    expect(latest()).toMatchObject({ items: items(0, 1), loading: false, end: false });
    expect(latest().error).toBeInstanceOf(Error);
    const ended = vi.fn();
    await inAct(() => void latest().loadMore().then(ended));
    expect(latest()).toMatchObject({ loading: true, error: undefined });
    expect(ended).not.toHaveBeenCalled();
    await answerAll(pages, 2);
    expect(ended).toHaveBeenCalledTimes(1);
    expect(latest()).toMatchObject({ items: items(0, 1, 2, 3, 4, 5), error: undefined, end: true });
    expect(pages.pagesAsked()).toEqual([0, 1, 1, 2]);
  });

  test("with reset shows the old list until the new one is there, and takes nothing of the old run", async () => {
    const guard = await testGuard();
    const pages = source();
    const { latest } = await start({ guard }, pages);
    await answerAll(pages, 1);
    guard.record(items(0));
    await inAct(() => void latest().loadMore());
    const stale = pages.asked.at(-1);
    await inAct(() => void latest().reset());
    expect(stale?.signal.aborted).toBe(true);
    expect(latest()).toMatchObject({ items: items(0, 1), loading: true, end: false });
    await answerAll(pages, 1);
    expect(latest()).toMatchObject({ items: items(0, 1), loading: true });
    await answerAll(pages, 2);
    expect(latest()).toMatchObject({ items: items(1, 2, 3), loading: false });
    expect(pages.pagesAsked()).toEqual([0, 1, 0, 1]);
  });

  test("shows the old list beside an error after reset, too, and loads the new one then", async () => {
    const guard = await testGuard();
    const pages = source();
    const { latest } = await start({ guard }, pages);
    await answerAll(pages, 1);
    guard.record(items(0));
    await inAct(() => void latest().reset());
    await pages.answer("error");
    await settle();
    expect(latest()).toMatchObject({ items: items(0, 1), loading: false, error: new Error("no network") });
    await inAct(() => void latest().loadMore());
    await answerAll(pages, 2);
    expect(latest()).toMatchObject({ items: items(1, 2, 3), error: undefined });
  });

  test("aborts when its component has gone", async () => {
    const guard = await testGuard();
    const pages = source();
    const { unmount } = await start({ guard }, pages);
    await unmount();
    await settle();
    expect(pages.asked.map(({ signal }) => signal.aborted)).toEqual([true]);
  });

  test("begins anew for another guard, and takes nothing that was fetched for the one before", async () => {
    const [guard, other] = [await testGuard(), await testGuard()];
    other.record(items(0));
    const pages = source();
    const { latest, show, results } = await start({ guard }, pages);
    await show({ guard: other });
    await settle();
    expect(pages.asked.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    await answerAll(pages, 3);
    expect(latest().items).toEqual(items(1, 2, 3));
    expect(results.flatMap((result) => result.items)).not.toContain("item-0");
  });

  test("with a key shows the same list when the component is back, without fetching it", async () => {
    const guard = await testGuard();
    const pages = source();
    const props = { guard, options: { key: "home" } };
    const first = await start(props, pages);
    await answerAll(pages, 1);
    guard.record(items(0, 1));
    await first.unmount();
    await settle();
    const { latest, results } = await start(props, pages);
    await settle();
    expect(results[0]).toMatchObject({ items: items(0, 1), loading: false });
    expect(pages.pagesAsked()).toEqual([0]);
    await inAct(() => void latest().loadMore());
    await answerAll(pages, 1);
    expect(latest().items).toEqual(items(0, 1, 2, 3));
    expect(pages.pagesAsked()).toEqual([0, 1]);
    await inAct(() => void latest().reset());
    await answerAll(pages, 2);
    expect(latest().items).toEqual(items(2, 3));
  });

  test("puts what was seen last if it is told to, and takes an id function", async () => {
    const guard = await testGuard();
    guard.record(items(1, 2));
    const pages = source();
    const { latest } = await start({ guard, options: { seen: "last", want: 9 } }, pages);
    await answerAll(pages, 3);
    expect(latest()).toMatchObject({ items: items(0, 3, 4, 5, 1, 2), end: true });
    const posts = [{ key: 1 }, { key: 2 }];
    guard.record(1);
    const fetchPosts = () => Promise.resolve({ items: posts, next: null });
    const keyed = await renderHook(() => useSeenPages(guard, fetchPosts, { want: 1, id: ({ key }) => key }), undefined);
    await settle();
    expect(keyed.latest().items).toEqual([posts[1]]);
  });

  test("tells of wrong options", async () => {
    const guard = await testGuard();
    const { latest } = await start({ guard, options: { want: NaN } });
    await settle();
    expect(latest()).toMatchObject({ items: [], loading: false, error: { code: "bad-option" } });
  });
});

test("useSeenRef gives the same ref for the same ids, and another one for others", async () => {
  const guard = await testGuard();
  const { results, latest, show } = await renderHook(
    (ids: string[]) => useSeenRef(guard, ids, { threshold: 0.6, onImpression: () => undefined }),
    ["a", "b"],
  );
  await show(["a", "b"]);
  expect(new Set(results).size).toBeLessThanOrEqual(2); // StrictMode makes each first one twice
  const before = latest();
  await show(["a", "b"]);
  expect(latest()).toBe(before);
  await show(["a", "c"]);
  expect(latest()).not.toBe(before);
});

describe("a ref that is written in the markup, so that each rendering detaches and attaches it,", () => {
  interface Props {
    id: string;
    dwellMs?: number;
    isThere?: boolean;
  }
  async function renderItem(props: Props) {
    const guard = await testGuard();
    const stop = vi.fn();
    const track = vi.spyOn(guard, "track").mockImplementation(() => stop);
    function Item({ id, isThere = true, ...options }: Props) {
      const ref = useSeenRef(guard, id, options);
      return isThere && <p ref={(element) => ref(element)} />;
    }
    const { show } = await render(<Item {...props} />);
    return { track, stop, show: (next: Props) => show(<Item {...next} />) };
  }

  test("goes on with the same item", async () => {
    const { track, stop, show } = await renderItem({ id: "a" });
    for (let index = 0; index < 5; index++) await show({ id: "a" });
    await settle();
    expect(track).toHaveBeenCalledTimes(1);
    expect(stop).not.toHaveBeenCalled();
  });

  test("begins anew with another one, and ends with its element", async () => {
    const { track, stop, show } = await renderItem({ id: "a" });
    await show({ id: "b" });
    await show({ id: "b", dwellMs: 500 });
    await settle();
    expect(track.mock.calls.map(([, id]) => id)).toEqual(["a", "b", "b"]);
    expect(stop).toHaveBeenCalledTimes(2);
    await show({ id: "b", isThere: false });
    await settle();
    expect(track).toHaveBeenCalledTimes(3);
    expect(stop).toHaveBeenCalledTimes(3);
  });
});
