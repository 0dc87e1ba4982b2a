/** The hooks where no browser is needed: whose guard a rendering gets, and what it shows. */
import { act, Component, StrictMode, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { SeenGuardError, type Identified, type SeenGuard } from "seenguard";
import { SeenGuard as FormatsGuard } from "seenguard/formats";
import { useSeenFeed, useSeenGuard, useSeenRef, type SeenFeed, type SeenFeedOptions } from "seenguard/react";
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
const isOpen = (guard: SeenGuard | undefined) => guard?.apply({ shards: [] }).applied;

describe("useSeenGuard", () => {
  test("gives all components that ask for a namespace the same guard, until the last one has gone", async () => {
    const namespace = uniqueNamespace();
    const use = () => useSeenGuard({ namespace, storage: "none" });
    const [first, second] = [await renderHook(use, undefined), await renderHook(use, undefined)];
    await settle();
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
    await settle();
    await show("second");
    expect(new Set(results)).toEqual(new Set([undefined, latest()]));
    latest()?.apply({ shards: ["no shard"] });
    expect(codes).toEqual(["second bad-base64"]);
  });

  test("gives no rendering another namespace's guard, though both are open", async () => {
    const guards = { ada: await testGuard("home:ada"), grace: await testGuard("home:grace") };
    guards.ada.record("ada");
    guards.grace.record("grace");
    const known = (user: string) => {
      const guard = useSeenGuard({ namespace: `home:${user}` });
      return guard && [user, ["ada", "grace"].filter((each) => guard.has(each))];
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
    await settle();
    expect(isOpen(guard)).toBe(true);
  });
});

test("useSeenGuard opens the guard by the function that it is given", async () => {
  const namespace = uniqueNamespace();
  const open = vi.fn(FormatsGuard.open);
  const { latest } = await renderHook(() => useSeenGuard({ namespace, storage: "none", open }), undefined);
  await settle();
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

test("useSeenRef gives the same ref for the same ids, and another one for others", async () => {
  const guard = await testGuard();
  const { results, latest, show } = await renderHook(
    (ids: string[]) => useSeenRef(guard, ids, { ratio: 0.6, onImpression: () => undefined }),
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
