/** The hooks without a browser: the guard of each rendering, and the items that it shows. */
import { act, Component, StrictMode, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { SeenGuard, SeenGuardError, type FeedPage, type PageRequest, type ReportOptions } from "seenguard";
import { SeenGuard as FormatsGuard } from "seenguard/formats";
import {
  useReport,
  useSeenFeed,
  useSeenGuard,
  useSeenPages,
  useSeenRef,
  useSeenRoot,
  type SeenFeed,
  type SeenFeedOptions,
  type SeenPages,
  type SeenPagesOptions,
  type UseSeenGuardOptions,
} from "seenguard/react";
import { openTestGuard } from "seenguard/testing";
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";

beforeAll(() => vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true));

const unmounts: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const unmount of unmounts.splice(0)) await unmount();
});

/** Runs a function, and waits until React has handled its effects. */
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

const { open } = SeenGuard;
type Guard = SeenGuard | null | undefined;
const useGuard = (options: Parameters<typeof useSeenGuard>[0]): Guard => useSeenGuard(options).guard;

/** Renders a hook that throws, in an error boundary. */
async function renderFailing(use: () => void) {
  let caught: unknown;
  class Boundary extends Component<{ children: ReactNode }> {
    override state = { failed: false };
    static getDerivedStateFromError = () => ({ failed: true });
    override componentDidCatch(error: unknown) {
      caught = error;
    }
    override render = () => (this.state.failed ? null : this.props.children);
  }
  function Host({ use: useHook }: { use: () => void }) {
    useHook();
    return null;
  }
  let shown = 0;
  const nodeOf = (next: () => void) => (
    <Boundary key={++shown}>
      <Host use={next} />
    </Boundary>
  );
  const { show } = await render(nodeOf(use));
  await settle();
  return {
    error: () => caught,
    show: async (next: () => void) => {
      await show(nodeOf(next));
      await settle();
    },
  };
}

let namespaces = 0;
const uniqueNamespace = () => `home:reader-${String(++namespaces)}`;

async function testGuard(namespace = uniqueNamespace()) {
  const guard = await openTestGuard({ namespace });
  onTestFinished(() => guard.close());
  return guard;
}

const settle = () => act(() => new Promise((resolve) => setTimeout(resolve, 50)));
/** The first engine of a process starts slowly on a busy machine. */
const opened = async (latest: () => Guard) => {
  for (let tries = 0; tries < 60 && !latest(); tries++) await settle();
};
const isOpen = (guard: Guard) => guard?.apply({ shards: [] }).applied;

describe("useSeenGuard", () => {
  test("gives all components that open a namespace the same guard, which stays open", async () => {
    const namespace = uniqueNamespace();
    const use = () => useGuard({ namespace, open, storage: "none" });
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
    expect((await renderHook(use, undefined)).results[0]).toBe(first.latest());
  });

  test("keeps four guards open, and more only if they are held", async () => {
    const mount = async () => {
      const namespace = uniqueNamespace();
      const hook = await renderHook(() => useGuard({ namespace, open, storage: "none" }), undefined);
      await opened(hook.latest);
      return hook;
    };
    const held: Awaited<ReturnType<typeof mount>>[] = [];
    for (let index = 0; index < 5; index++) held.push(await mount());
    const areOpen = () => held.map(({ latest }) => isOpen(latest()));
    expect(areOpen()).toEqual([true, true, true, true, true]);
    for (const index of [1, 0, 2]) {
      await held[index]?.unmount();
      await settle();
    }
    expect(areOpen()).toEqual([true, false, true, true, true]);
    await mount();
    expect(areOpen()).toEqual([false, false, true, true, true]);
  });

  test("is null without a user, also before it is mounted", async () => {
    const unused = vi.fn(open);
    type Options = Parameters<typeof useSeenGuard>[0];
    const { results, show, latest } = await renderHook<Options, Guard>(useGuard, undefined);
    await show(null);
    await show({ namespace: "", open: unused });
    expect(new Set(results)).toEqual(new Set([null]));
    expect(unused).not.toHaveBeenCalled();
    await show({ namespace: uniqueNamespace(), open, storage: "none" });
    await opened(latest);
    expect(isOpen(latest())).toBe(true);
    expect(new Set(results)).toEqual(new Set([null, undefined, latest()]));
    await show(undefined);
    expect(latest()).toBeNull();
  });

  describe("where the guard cannot be opened,", () => {
    const failing = (namespace: string, openGiven: typeof open, onError: (error: SeenGuardError) => void) => () =>
      useGuard({ namespace, open: openGiven, storage: "none", onError });

    test("is null, reports an error, and tries again at the next mount", async () => {
      const [namespace, onError] = [uniqueNamespace(), vi.fn()];
      const openOnce = vi.fn(open).mockRejectedValueOnce(new TypeError("Failed to fetch"));
      const first = await renderHook(failing(namespace, openOnce, onError), undefined);
      await settle();
      expect(first.latest()).toBeNull();
      expect(onError).toHaveBeenCalledTimes(1);
      expect(onError.mock.calls[0]?.[0]).toMatchObject({ code: "engine", message: /Failed to fetch/ });
      const second = await renderHook(failing(namespace, openOnce, onError), undefined);
      await opened(second.latest);
      expect(isOpen(second.latest())).toBe(true);
      expect(first.latest()).toBe(second.latest());
      expect(openOnce).toHaveBeenCalledTimes(2);
    });

    test("is null after 15 s without a guard, and then a guard that is opened late", async () => {
      const guard = await testGuard();
      vi.useFakeTimers();
      onTestFinished(() => void vi.useRealTimers());
      let answer: (guard: SeenGuard) => void = () => undefined;
      const hanging = () => new Promise<SeenGuard>((resolve) => (answer = resolve));
      const onError = vi.fn();
      const { latest } = await renderHook(failing(uniqueNamespace(), hanging, onError), undefined);
      await inAct(() => vi.advanceTimersByTime(14_999));
      expect(latest()).toBeUndefined();
      await inAct(() => vi.advanceTimersByTime(1));
      expect(latest()).toBeNull();
      expect(onError.mock.calls).toMatchObject([[{ code: "engine" }]]);
      await inAct(() => answer(guard));
      expect(latest()).toBe(guard);
    });
  });

  describe("opens again what the app has closed,", () => {
    const set = async () => {
      const options = { namespace: uniqueNamespace(), open: vi.fn(open), storage: "none" } as const;
      const hook = await renderHook(() => useGuard(options), undefined);
      await opened(hook.latest);
      return { options, hook, guard: hook.latest() };
    };

    test("while a component is mounted, whose lists use the new guard", async () => {
      const { hook, guard, options } = await set();
      const items = ["a", "b"];
      const list = await renderHook(() => useSeenFeed(useGuard(options), items, { key: "home" }).items, undefined);
      guard?.record("a");
      await act(async () => guard?.close());
      await opened(hook.latest);
      expect(hook.latest()).not.toBe(guard);
      expect(isOpen(hook.latest())).toBe(true);
      expect(options.open).toHaveBeenCalledTimes(2);
      await inAct(() => void hook.latest()?.record("b"));
      await list.show(undefined);
      expect(list.latest()).toEqual(items); // what is on the screen stays
      expect(hook.latest()?.filter(items)).toEqual([]);
    });

    test("by a sign-out while it opened", async () => {
      const namespace = uniqueNamespace();
      let goOn: () => void = () => undefined;
      const paused = new Promise<void>((resolve) => (goOn = resolve));
      const slowly: typeof open = async (options) => {
        const guard = await open(options);
        await paused;
        return guard;
      };
      const opening = vi.fn(open).mockImplementationOnce(slowly);
      const { latest } = await renderHook(() => useGuard({ namespace, open: opening, storage: "none" }), undefined);
      await settle();
      await SeenGuard.signOut(namespace);
      await inAct(goOn);
      await opened(latest);
      expect(isOpen(latest())).toBe(true);
      expect(opening).toHaveBeenCalledTimes(2);
    });

    test("but not endlessly if `open` returns the same guard", async () => {
      const [namespace, onError] = [uniqueNamespace(), vi.fn()];
      const guard = await testGuard(namespace);
      await guard.close();
      const same = vi.fn(() => Promise.resolve<SeenGuard>(guard));
      const { latest } = await renderHook(() => useSeenGuard({ namespace, open: same, onError }), undefined);
      await settle();
      expect(latest()).toEqual({ guard: null, status: "failed" });
      expect(onError.mock.calls).toMatchObject([[{ code: "engine", message: /closed guard/ }]]);
      expect(same).toHaveBeenCalledTimes(2);
    });

    test("at the next mount, where none was mounted", async () => {
      const { hook, guard, options } = await set();
      await hook.unmount();
      await settle();
      await act(async () => guard?.close());
      expect(options.open).toHaveBeenCalledTimes(1);
      const { results, latest } = await renderHook(() => useGuard(options), undefined);
      await opened(latest);
      expect(results).not.toContain(guard);
      expect(isOpen(latest())).toBe(true);
    });
  });

  test("returns its status", async () => {
    const namespace = uniqueNamespace();
    const failing = () => Promise.reject(new Error("no network"));
    type Options = Parameters<typeof useSeenGuard>[0];
    const { results, show, latest } = await renderHook<Options, ReturnType<typeof useSeenGuard>>(useSeenGuard, null);
    await show({ namespace, open, storage: "none" });
    await opened(() => latest().guard);
    await show({ namespace: uniqueNamespace(), open: failing, storage: "none", onError: () => undefined });
    await settle();
    const states = results.map(({ status, guard }) => [status, guard && "open"] as const);
    expect(states.filter((state, index) => state[0] !== states[index - 1]?.[0])).toEqual([
      ["signed-out", null],
      ["opening", undefined],
      ["ready", "open"],
      ["opening", undefined],
      ["failed", null],
    ]);
  });

  test("opens nothing for new objects with equal options, and calls the latest callbacks", async () => {
    const codes: string[] = [];
    const namespace = uniqueNamespace();
    const { results, show, latest } = await renderHook<string, Guard>(
      (name) => useGuard({ namespace, open, storage: "none", onError: ({ code }) => codes.push(`${name} ${code}`) }),
      "first",
    );
    await opened(latest);
    await show("second");
    expect(new Set(results)).toEqual(new Set([undefined, latest()]));
    latest()?.apply({ shards: ["no shard"] });
    expect(codes).toEqual(["second bad-snapshot"]);
  });

  test("returns in no rendering another namespace's guard, though both are open", async () => {
    const guards = { ada: await testGuard("home:ada"), grace: await testGuard("home:grace") };
    guards.ada.record("ada");
    guards.grace.record("grace");
    const known = (user: string) => {
      const guard = useGuard({ namespace: `home:${user}`, open: SeenGuard.open });
      return guard ? [user, ["ada", "grace"].filter((each) => guard.explain(each).seen)] : undefined;
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

  test("throws wrong options in the rendering, and opens when they are corrected", async () => {
    const namespace = uniqueNamespace();
    let guard: Guard;
    const use = (options: Partial<UseSeenGuardOptions>) => () => {
      guard = useGuard({ namespace, open, storage: "none", ...options });
    };
    const { error, show } = await renderFailing(use({ windowDays: -1 }));
    expect(error()).toBeInstanceOf(SeenGuardError);
    expect(error()).toMatchObject({ code: "bad-option" });
    await show(use({ open: undefined as unknown as typeof open }));
    expect(error()).toMatchObject({ code: "bad-option", message: /`open` is missing/ });
    await show(use({ windowDays: 7 }));
    await opened(() => guard);
    expect(isOpen(guard)).toBe(true);
  });
});

test("useSeenGuard passes the fallback on", async () => {
  const fallback = vi.fn(() => import("seenguard/engine-js"));
  const open = vi.fn(FormatsGuard.open);
  const options = { namespace: uniqueNamespace(), storage: "none", fallback, open } as const;
  const { latest } = await renderHook(() => useGuard(options), undefined);
  await opened(latest);
  await open.mock.calls[0]?.[0].fallback?.();
  expect(fallback).toHaveBeenCalledTimes(1);
});

test("useSeenGuard opens the guard with its option `open`", async () => {
  const namespace = uniqueNamespace();
  const open = vi.fn(FormatsGuard.open);
  const { latest } = await renderHook(() => useGuard({ namespace, storage: "none", open }), undefined);
  await opened(latest);
  expect(open).toHaveBeenCalledTimes(1);
  expect(open.mock.calls[0]?.[0]).not.toHaveProperty("open");
  expect(latest()).toBeInstanceOf(FormatsGuard);
});

describe("useSeenFeed", () => {
  interface Props {
    guard: Guard;
    items: readonly string[];
    options?: SeenFeedOptions;
  }
  const use = ({ guard, items, options }: Props) => useSeenFeed(guard, items, options);

  test("shows nothing before there is a guard, then the fresh items", async () => {
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

  test("i4: shows the same items, as the same array, after they were seen", async () => {
    const guard = await testGuard();
    const { latest, show } = await renderHook<Props, SeenFeed<string>>(use, { guard, items: ["a", "b"] });
    const before = latest().items;
    guard.record("a");
    await show({ guard, items: ["a", "b"], options: {} });
    expect(latest().items).toBe(before);
    await show({ guard, items: ["a", "b", "c"] });
    expect(latest().items).toEqual(["a", "b", "c"]);
  });

  test("drops its verdicts with reset, which stays the same function", async () => {
    const guard = await testGuard();
    const { latest, show } = await renderHook<Props, SeenFeed<string>>(use, { guard, items: ["a", "b"] });
    const { reset } = latest();
    guard.record("a");
    await show({ guard, items: ["a", "b"] });
    expect(latest().reset).toBe(reset);
    await inAct(() => reset());
    expect(latest().items).toEqual(["b"]);
  });

  describe("renders again", () => {
    const start = async (namespace?: string) => {
      const guard = await testGuard(namespace);
      guard.record(["a", "c"]);
      const { latest } = await renderHook<Props, SeenFeed<string>>(use, { guard, items: ["a", "b", "c"] });
      expect(latest().items).toEqual(["b"]);
      return { guard, items: () => latest().items };
    };

    test("after unsee", async () => {
      const { guard, items } = await start();
      await inAct(() => void guard.unsee("a"));
      expect(items()).toEqual(["a", "b"]);
    });

    test("after a clear", async () => {
      const namespace = uniqueNamespace();
      const { items } = await start(namespace);
      await act(() => SeenGuard.clear(namespace));
      expect(items()).toEqual(["a", "b", "c"]);
    });

    test("after the server's unseen, and after its deletion of the history", async () => {
      const { guard, items } = await start();
      await inAct(() => void guard.apply({ shards: [], unseen: [{ id: "c", at: Date.now() + 60_000 }] }));
      expect(items()).toEqual(["b", "c"]);
      guard.advance(5_000);
      await inAct(() => void guard.apply({ shards: [], forgetBefore: Math.floor(Date.now() / 1000) + 2 }));
      expect(items()).toEqual(["a", "b", "c"]);
    });
  });

  test("shows everything once without a guard", async () => {
    const { latest } = await renderHook<Props, SeenFeed<string>>(use, { guard: null, items: ["a", "b", "a"] });
    expect(latest().items).toEqual(["a", "b"]);
  });

  test("with a key, has the same verdicts after its component was remounted", async () => {
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

  test("accepts an id function, which may be a new one in each rendering", async () => {
    const guard = await testGuard();
    const posts = [{ key: "a" }, { key: "b" }];
    guard.record("a");
    const { latest } = await renderHook(() => useSeenFeed(guard, posts, { id: ({ key }) => key }), undefined);
    expect(latest().items).toEqual([posts[1]]);
  });

  describe("with ssr", () => {
    test("shows the first rendering's items, and filters later ones", async () => {
      const guard = await testGuard();
      guard.record(["a", "c"]);
      const options: SeenFeedOptions = { ssr: true };
      const { latest, show, results } = await renderHook<Props, SeenFeed<string>>(use, {
        guard: undefined,
        items: ["a", "b"],
        options,
      });
      await show({ guard, items: ["a", "b"], options });
      expect(results.map(({ items }) => items)).toEqual(results.map(() => ["a", "b"]));
      await show({ guard, items: ["a", "b", "c", "a", "d"], options });
      expect(latest().items).toEqual(["a", "b", "d"]);
      await inAct(() => latest().reset());
      expect(latest().items).toEqual(["b", "d"]);
    });

    test("leaves out items that have an id of an item that stays", async () => {
      const guard = await testGuard();
      const [post, repost, unnamed] = [{ ids: ["a"] }, { ids: ["b", "a"] }, { ids: [] }];
      const useIds = (items: { ids: string[] }[]) => useSeenFeed(guard, items, { ssr: true, id: ({ ids }) => ids });
      const { latest, show } = await renderHook(useIds, [post, unnamed]);
      for (const items of [
        [post, unnamed, repost],
        [repost, post, unnamed],
      ]) {
        await show(items);
        expect(latest().items).toEqual([post, unnamed]);
      }
    });
  });
});

describe("useSeenPages", () => {
  interface Props {
    guard: Guard;
    options?: Partial<SeenPagesOptions>;
  }

  /** A source of pages with two items each, which the test resolves. */
  function source(pages = 3) {
    const requests: PageRequest[] = [];
    const waiting: ((answer: "page" | "error") => void)[] = [];
    const fetchPage = (request: PageRequest) =>
      new Promise<FeedPage<string>>((resolve, reject) => {
        requests.push(request);
        const { page } = request;
        const items = [`item-${String(2 * page)}`, `item-${String(2 * page + 1)}`];
        const answer = { items, next: page + 1 < pages ? String(page + 1) : null };
        waiting.push((how) => (how === "page" ? resolve(answer) : reject(new Error("no network"))));
      });
    const answer = (how: "page" | "error" = "page") => inAct(() => waiting.shift()?.(how));
    const use = ({ guard, options }: Props) => useSeenPages(guard, fetchPage, { want: 2, ...options });
    return { requests, answer, use, pagesRequested: () => requests.map(({ page }) => page) };
  }
  const items = (...numbers: number[]) => numbers.map((number) => `item-${String(number)}`);
  const start = (props: Props, { use } = source()) => renderHook<Props, SeenPages<string>>(use, props);

  test("loads as soon as there is a guard, once under StrictMode, and more on request, to the end", async () => {
    const guard = await testGuard();
    const pages = source();
    const { latest, show } = await start({ guard: undefined }, pages);
    expect(latest()).toMatchObject({ items: [], loading: true, error: undefined, done: false });
    expect(pages.requests).toEqual([]);
    await show({ guard });
    expect(pages.pagesRequested()).toEqual([0]);
    await answerAll(pages, 1);
    expect(latest()).toMatchObject({ items: items(0, 1), loading: false, error: undefined, done: false });
    const before = latest().items;
    await inAct(() => {
      void latest().loadMore();
      void latest().loadMore();
    });
    expect(latest()).toMatchObject({ loading: true });
    expect(latest().items).toBe(before);
    await answerAll(pages, 1);
    expect(latest()).toMatchObject({ items: items(0, 1, 2, 3), loading: false, done: false });
    await inAct(() => void latest().loadMore());
    await answerAll(pages, 1);
    expect(latest()).toMatchObject({ items: items(0, 1, 2, 3, 4, 5), loading: false, done: true });
    await inAct(() => void latest().loadMore());
    expect(pages.pagesRequested()).toEqual([0, 1, 2]);
  });

  const answerAll = async ({ answer }: ReturnType<typeof source>, count: number) => {
    for (let index = 0; index < count; index++) await answer();
    await settle();
  };

  test("shows the items from before an error, and tries again", async () => {
    const guard = await testGuard();
    const pages = source();
    const { latest } = await start({ guard, options: { want: 4 } }, pages);
    await pages.answer();
    await settle();
    await pages.answer("error");
    await settle();
    expect(latest()).toMatchObject({ items: items(0, 1), loading: false, done: false });
    expect(latest().error).toBeInstanceOf(Error);
    const ended = vi.fn();
    await inAct(() => void latest().loadMore().then(ended));
    expect(latest()).toMatchObject({ loading: true, error: undefined });
    expect(ended).not.toHaveBeenCalled();
    await answerAll(pages, 2);
    expect(ended).toHaveBeenCalledTimes(1);
    expect(latest()).toMatchObject({ items: items(0, 1, 2, 3, 4, 5), error: undefined, done: true });
    expect(pages.pagesRequested()).toEqual([0, 1, 1, 2]);
  });

  test("shows an AbortError of the app like any other error, and not the one of a closing guard", async () => {
    const guard = await testGuard();
    const waiting: ((error: Error) => void)[] = [];
    const fetchPage = () => new Promise<never>((_, reject) => waiting.push(reject));
    const { latest } = await renderHook(() => useSeenPages(guard, fetchPage, { want: 2 }), undefined);
    await settle();
    const error = new DOMException("the app's own timeout", "AbortError");
    await inAct(() => waiting.shift()?.(error));
    await settle();
    expect(latest()).toMatchObject({ loading: false, error });
    await inAct(() => void latest().loadMore());
    expect(latest()).toMatchObject({ loading: true, error: undefined });
    await act(async () => guard.close());
    await settle();
    expect(latest()).toMatchObject({ loading: false, error: undefined });
  });

  test("with reset shows the old list until the new one is loaded, and ignores the old run", async () => {
    const guard = await testGuard();
    const pages = source();
    const { latest } = await start({ guard }, pages);
    await answerAll(pages, 1);
    guard.record(items(0));
    await inAct(() => void latest().loadMore());
    const stale = pages.requests.at(-1);
    await inAct(() => void latest().reset());
    expect(stale?.signal.aborted).toBe(true);
    expect(latest()).toMatchObject({ items: items(0, 1), loading: true, done: false });
    await answerAll(pages, 1);
    expect(latest()).toMatchObject({ items: items(0, 1), loading: true });
    await answerAll(pages, 2);
    expect(latest()).toMatchObject({ items: items(1, 2, 3), loading: false });
    expect(pages.pagesRequested()).toEqual([0, 1, 0, 1]);
  });

  test("aborts when its component was unmounted", async () => {
    const guard = await testGuard();
    const pages = source();
    const { unmount } = await start({ guard }, pages);
    await unmount();
    await settle();
    expect(pages.requests.map(({ signal }) => signal.aborted)).toEqual([true]);
  });

  test("restarts for another guard, and ignores what was fetched for the former one", async () => {
    const [guard, other] = [await testGuard(), await testGuard()];
    other.record(items(0));
    const pages = source();
    const { latest, show, results } = await start({ guard }, pages);
    await show({ guard: other });
    await settle();
    expect(pages.requests.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    await answerAll(pages, 3);
    expect(latest().items).toEqual(items(1, 2, 3));
    expect(results.flatMap((result) => result.items)).not.toContain("item-0");
  });

  test("with a key shows the same list when the component is mounted again, without fetching it", async () => {
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
    expect(pages.pagesRequested()).toEqual([0]);
    await inAct(() => void latest().loadMore());
    await answerAll(pages, 1);
    expect(latest().items).toEqual(items(0, 1, 2, 3));
    expect(pages.pagesRequested()).toEqual([0, 1]);
    await inAct(() => void latest().reset());
    await answerAll(pages, 2);
    expect(latest().items).toEqual(items(2, 3));
  });

  describe("before the guard is open", () => {
    test("a loop over loadMore freezes nothing, and ends with the source", async () => {
      const pages = source();
      const { latest, show } = await start({ guard: undefined }, pages);
      const looped = vi.fn();
      const loop = async () => {
        while (!latest().done) await latest().loadMore();
      };
      void loop().then(looped);
      await settle();
      expect([pages.requests, looped.mock.calls]).toEqual([[], []]);
      await show({ guard: await testGuard() });
      for (let index = 0; index < 3; index++) await answerAll(pages, 1);
      expect(looped).toHaveBeenCalledTimes(1);
      expect(latest().items).toEqual(items(0, 1, 2, 3, 4, 5));
      expect(pages.pagesRequested()).toEqual([0, 1, 2]);
    });

    test("loadMore and reset resolve, and change nothing", async () => {
      const { latest } = await start({ guard: undefined });
      await act(() => latest().loadMore());
      await act(() => latest().reset());
      expect(latest()).toMatchObject({ items: [], loading: true, error: undefined, done: false });
    });
  });

  test("reports wrong options", async () => {
    const guard = await testGuard();
    const { latest } = await start({ guard, options: { want: NaN } });
    await settle();
    expect(latest()).toMatchObject({ items: [], loading: false, error: { code: "bad-option" } });
  });
});

describe("useReport", () => {
  interface Props {
    options: ReportOptions | null;
    guard?: Guard;
  }
  const use = ({ options, guard }: Props) => {
    useReport(guard, options);
  };

  /** A server that records who reported which ids. */
  function collector() {
    const sent: string[] = [];
    const to = (name: string) => (_url: unknown, init?: RequestInit) => {
      const { impressions } = JSON.parse(init?.body as string) as { impressions: { id: string }[] };
      sent.push(...impressions.map(({ id }) => `${name} ${id}`));
      return Promise.resolve(new Response(null, { status: 204 }));
    };
    return { sent, to };
  }
  /** Longer than an interval, and the requests that it begins. */
  const pass = async (guard: Awaited<ReturnType<typeof testGuard>>) => {
    guard.advance(10_000);
    await settle();
  };

  test("ends with null options, also a request that is not sent yet, and begins with later options", async () => {
    const guard = await testGuard();
    const { sent, to } = collector();
    type Headers = Record<string, string>;
    let answer: (headers: Headers) => void = () => undefined;
    const headers = () => new Promise<Headers>((resolve) => (answer = resolve));
    const { show } = await renderHook<Props, unknown>(use, { guard, options: null });
    guard.record("before");
    await pass(guard);
    expect(sent).toEqual([]);
    await show({ guard, options: { url: "/seen", fetch: to("consent") } });
    await pass(guard);
    expect(sent).toEqual(["consent before"]);
    await show({ guard, options: { url: "/seen", fetch: to("late"), headers } });
    guard.record("during");
    await pass(guard);
    await show({ guard, options: null });
    answer({});
    guard.record("after");
    await pass(guard);
    expect(sent).toEqual(["consent before"]);
  });

  test("begins when `send` is added, and ends when the component is unmounted", async () => {
    const guard = await testGuard();
    const sent: string[] = [];
    const send = ({ impressions }: { impressions: { id: string }[] }) =>
      Promise.resolve(sent.push(...impressions.map(({ id }) => id)));
    const { show, unmount } = await renderHook<Props, unknown>(use, { guard, options: null });
    guard.record("a");
    await show({ guard, options: { send } });
    await pass(guard);
    expect(sent).toEqual(["a"]);
    await unmount();
    guard.record("b");
    await pass(guard);
    expect(sent).toEqual(["a"]);
  });

  test("begins again with another url, without waiting for the former one", async () => {
    const guard = await testGuard();
    const { sent, to } = collector();
    const never = () => new Promise<never>(() => undefined);
    const { show } = await renderHook<Props, unknown>(use, { guard, options: { url: "/old", fetch: never } });
    guard.record("a");
    await pass(guard);
    await show({ guard, options: { url: "/new", fetch: to("new") } });
    guard.record("b");
    await pass(guard);
    expect(sent).toContain("new b");
  });

  test("with inline options continues, with the options of the latest rendering", async () => {
    const guard = await testGuard();
    const { sent, to } = collector();
    const running = vi.spyOn(guard, "report");
    const { show } = await renderHook<Props, unknown>(use, { guard, options: { url: "/seen", fetch: to("first") } });
    guard.record("a");
    for (const name of ["second", "third"]) {
      guard.advance(400);
      await show({ guard, options: { url: "/seen", fetch: to(name), headers: { name } } });
    }
    // It is due a second after the recording: a report that began with each rendering would be due later.
    guard.advance(300);
    await settle();
    expect(sent).toEqual(["third a"]);
    expect(running.mock.lastCall?.[0].headers).toEqual({ name: "third" });
  });

  test("delivers if it is rendered while `headers` is awaited, with the token of the latest rendering", async () => {
    const guard = await testGuard();
    const sent: string[] = [];
    const fetch: ReportOptions["fetch"] = (_, init) => {
      sent.push(String(new Headers(init?.headers).get("token")));
      return Promise.resolve(new Response(null, { status: 204 }));
    };
    const awaited: (() => void)[] = [];
    const optionsOf = (token: string): ReportOptions => ({
      url: "/seen",
      fetch: (...given) => fetch(...given),
      headers: () => new Promise((resolve) => awaited.push(() => resolve({ token }))),
    });
    const { show } = await renderHook<Props, unknown>(use, { guard, options: optionsOf("first") });
    guard.record("a");
    for (const token of ["second", "third"]) {
      await pass(guard);
      await show({ guard, options: optionsOf(token) });
    }
    await inAct(() => awaited.shift()?.());
    await settle();
    expect(sent).toEqual(["first"]);
    guard.record("b");
    await pass(guard);
    await inAct(() => awaited.shift()?.());
    await settle();
    expect(sent).toEqual(["first", "third"]);
  });

  test("sends no report of a closing guard with the options of the next person", async () => {
    const [guard, other] = [await testGuard(), await testGuard()];
    const { sent, to } = collector();
    let answer: () => void = () => undefined;
    const headers = () => new Promise<Record<string, string>>((resolve) => (answer = () => resolve({})));
    const { show } = await renderHook<Props, unknown>(use, {
      guard,
      options: { url: "/seen", fetch: to("ada"), headers },
    });
    guard.record("a");
    let closing: Promise<void> | undefined;
    await inAct(() => void (closing = guard.close()));
    await show({ guard: other, options: { url: "/seen", fetch: to("grace"), headers } });
    await inAct(answer);
    await act(async () => closing);
    expect(sent).toEqual(["ada a"]);
  });

  test("lets a guard that the app closes deliver, and continues with the next one", async () => {
    const { sent, to } = collector();
    const options = { namespace: uniqueNamespace(), open, storage: "none" } as const;
    const { latest } = await renderHook(() => {
      const guard = useGuard(options);
      useReport(guard, { url: "/seen", fetch: to("it") });
      return guard;
    }, undefined);
    await opened(latest);
    const guard = latest();
    guard?.record("a");
    await act(async () => guard?.close());
    expect(sent).toEqual(["it a"]);
    await opened(latest);
    latest()?.record("b");
    await act(async () => latest()?.close());
    expect(sent).toEqual(["it a", "it b"]);
  });

  test("begins as soon as there is a guard, and throws wrong options", async () => {
    const guard = await testGuard();
    const { sent, to } = collector();
    const options: ReportOptions = { url: "/seen", fetch: to("it") };
    const { show } = await renderHook<Props, unknown>(use, { options });
    guard.record("a");
    await show({ guard, options });
    await pass(guard);
    expect(sent).toEqual(["it a"]);
    const { error } = await renderFailing(() => useReport(guard, { url: "/seen", intervalMs: -1 }));
    expect(error()).toMatchObject({ code: "bad-option" });
  });
});

test("useSeenRef returns the same ref for the same ids, and another one for others", async () => {
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
    const track = vi.spyOn(guard, "observeItem").mockImplementation(() => stop);
    function Item({ id, isThere = true, ...options }: Props) {
      const ref = useSeenRef(guard, id, options);
      return isThere && <p ref={(element) => ref(element)} />;
    }
    const { show } = await render(<Item {...props} />);
    return { track, stop, show: (next: Props) => show(<Item {...next} />) };
  }

  test("continues with the same item", async () => {
    const { track, stop, show } = await renderItem({ id: "a" });
    for (let index = 0; index < 5; index++) await show({ id: "a" });
    await settle();
    expect(track).toHaveBeenCalledTimes(1);
    expect(stop).not.toHaveBeenCalled();
  });

  test("restarts with another one, and ends with its element", async () => {
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

test("useSeenRoot observes below its element while that is mounted, with the latest callbacks", async () => {
  const guard = await testGuard();
  const stop = vi.fn();
  const observe = vi.spyOn(guard, "observe").mockImplementation(() => stop);
  const impressions: string[] = [];
  interface Props {
    name: string;
    dwellMs?: number;
    isThere?: boolean;
  }
  function List({ name, dwellMs = 1_000, isThere = true }: Props) {
    const ref = useSeenRoot(guard, { dwellMs, onImpression: (id) => impressions.push(`${name} ${id}`) });
    return isThere && <ol ref={ref} />;
  }
  const { show } = await render(<List name="first" />);
  await show(<List name="second" />);
  await settle();
  expect(observe).toHaveBeenCalledTimes(1);
  const [root, options] = observe.mock.calls[0] ?? [];
  expect((root as Element).tagName).toBe("OL");
  options?.onImpression?.("a", root as Element);
  expect(impressions).toEqual(["second a"]);
  await show(<List name="second" dwellMs={500} />);
  await settle();
  expect([observe.mock.calls.length, stop.mock.calls.length]).toEqual([2, 1]);
  await show(<List name="second" isThere={false} />);
  await settle();
  expect([observe.mock.calls.length, stop.mock.calls.length]).toEqual([2, 2]);
});
