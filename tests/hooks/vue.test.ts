/** The composables without a browser: their arguments, and when they follow changes. */
import { SeenGuard, SeenGuardError, type PageRequest, type Report, type ReportOptions } from "seenguard";
import { SeenGuard as FormatsGuard } from "seenguard/formats";
import { openTestGuard } from "seenguard/testing";
import { useReport, useSeenFeed, useSeenGuard, useSeenPages, vSeen, vSeenRoot, type SeenElement } from "seenguard/vue";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createApp, createSSRApp, effectScope, h, reactive, ref, shallowRef, withDirectives } from "vue";
import { renderToString } from "vue/server-renderer";

async function testGuard(namespace?: string) {
  const guard = await openTestGuard(namespace === undefined ? {} : { namespace });
  onTestFinished(() => guard.close());
  return guard;
}

const { open } = SeenGuard;
type Guard = SeenGuard | null | undefined;

const settle = () => new Promise((resolve) => setTimeout(resolve, 50));
const isOpen = (guard: Guard) => guard?.apply({ shards: [] }).applied;

describe("useSeenGuard", () => {
  test("follows the namespace of a getter at once, and stays open", async () => {
    (await testGuard("home:ada")).record("ada");
    (await testGuard("home:grace")).record("grace");
    const user = ref("ada");
    const scope = effectScope();
    const guard = scope.run(() => useSeenGuard(() => ({ namespace: user.value && `home:${user.value}`, open })).guard);
    expect(guard?.value).toBeUndefined();
    for (const name of ["ada", "grace", "ada"]) {
      user.value = name;
      expect([undefined, true]).toContain(guard?.value?.explain(name).seen);
      await settle();
      expect(["ada", "grace"].filter((each) => guard?.value?.explain(each).seen)).toEqual([name]);
    }
    user.value = "";
    expect(guard?.value).toBeNull();
    user.value = "ada";
    expect(isOpen(guard?.value)).toBe(true);
    const last = guard?.value;
    scope.stop();
    await settle();
    expect(isOpen(last)).toBe(true);
  });

  test("is null without options, also in server rendering", async () => {
    const shown: [Guard, string][] = [];
    const component = (options: Parameters<typeof useSeenGuard>[0]) => ({
      setup: () => {
        const { guard, status } = useSeenGuard(options);
        return () => void shown.push([guard.value, status.value]);
      },
    });
    for (const options of [null, undefined, { namespace: "", open }, { namespace: "home:server", open }])
      await renderToString(createSSRApp(component(options)));
    const [signedOut, opening] = [
      [null, "signed-out"],
      [undefined, "opening"],
    ];
    expect(shown).toEqual([signedOut, signedOut, signedOut, opening]);
  });

  test("opens again what the app has closed while a component is mounted", async () => {
    const options = { namespace: "home:closed-by-the-app", open, storage: "none" } as const;
    const scope = effectScope();
    const held = scope.run(() => useSeenGuard(options));
    await vi.waitFor(() => expect(held?.status.value).toBe("ready"));
    const first = held?.guard.value;
    await first?.close();
    await vi.waitFor(() => expect(held?.status.value).toBe("ready"));
    expect(held?.guard.value).not.toBe(first);
    expect(isOpen(held?.guard.value)).toBe(true);
    scope.stop();
  });

  test("throws wrong options in the component that reads it", async () => {
    const errors: unknown[] = [];
    const app = createApp({
      setup: () => {
        const { guard } = useSeenGuard({ namespace: "home:wrong", windowDays: -1, open });
        return () => (guard.value ? "open" : "");
      },
    });
    app.config.errorHandler = (error) => errors.push(error);
    app.mount(document.createElement("div"));
    await settle();
    expect(errors[0]).toBeInstanceOf(SeenGuardError);
    app.unmount();
  });
});

describe("useReport", () => {
  /** Runs until the scope ends. */
  async function start(options: () => ReportOptions | null) {
    const guard = await testGuard();
    const scope = effectScope();
    scope.run(() => useReport(() => guard, options));
    const pass = () => {
      guard.advance(10_000);
      return settle();
    };
    return { guard, scope, pass };
  }

  test("reports while its options are given, with the latest ones, until its scope ends", async () => {
    const sent: string[] = [];
    const sendAs =
      (name: string) =>
      ({ impressions }: Report) =>
        Promise.resolve(sent.push(...impressions.map(({ id }) => `${name} ${id}`)));
    const [consent, name] = [ref(false), ref("first")];
    const { guard, scope, pass } = await start(() => (consent.value ? { send: sendAs(name.value) } : null));
    guard.record("a");
    await pass();
    expect(sent).toEqual([]);
    consent.value = true;
    await pass();
    guard.record("b");
    name.value = "second";
    await pass();
    consent.value = false;
    guard.record("c");
    await pass();
    expect(sent).toEqual(["first a", "second b"]);
    consent.value = true;
    await pass();
    scope.stop();
    guard.record("d");
    await pass();
    expect(sent).toEqual(["first a", "second b", "second c"]);
  });

  test("begins again only for another url", async () => {
    const [url, token] = [ref("/old"), ref("old")];
    const sent: string[] = [];
    const post = (address: unknown, init?: RequestInit) => {
      sent.push(`${String(address)} ${String(new Headers(init?.headers).get("token"))}`);
      return Promise.resolve(new Response(null, { status: 204 }));
    };
    const options = () => ({ url: url.value, headers: { token: token.value }, fetch: post });
    const { guard, scope, pass } = await start(options);
    const report = vi.spyOn(guard, "report");
    guard.record("a");
    token.value = "new";
    await pass();
    url.value = "/new";
    guard.record("b");
    await pass();
    scope.stop();
    expect(sent).toEqual(["/old new", "/new new"]);
    expect(report.mock.calls.map(([each]) => each.url)).toContain("/new");
  });
});

describe("useSeenFeed", () => {
  test("accepts refs, getters and values", async () => {
    const guard = await testGuard();
    guard.record("a");
    const list = ["a", "b"];
    for (const items of [list, ref(list), shallowRef(list), () => list, reactive(list)])
      for (const source of [guard, ref(guard), shallowRef(guard), () => guard])
        expect(useSeenFeed<string>(source as SeenGuard, items).items.value).toEqual(["b"]);
  });

  test("follows its list and its guard, and shows the same items until reset", async () => {
    const guard = await testGuard();
    const [source, list] = [shallowRef<SeenGuard>(), ref(["a", "b"])];
    const { items, reset } = useSeenFeed(source, list, () => ({ key: "home" }));
    expect(items.value).toEqual([]);
    source.value = guard;
    expect(items.value).toEqual(["a", "b"]);
    const before = items.value;
    guard.record(["a", "c"]);
    list.value = ["a", "b"];
    expect(items.value).toBe(before);
    list.value.push("c", "d");
    expect(items.value).toEqual(["a", "b", "d"]);
    reset();
    expect(items.value).toEqual(["b", "d"]);
  });

  test("shows ids that its guard makes unseen, and everything without a guard", async () => {
    const guard = await testGuard();
    guard.record("a");
    const source = shallowRef<Guard>(guard);
    const { items } = useSeenFeed(source, ["a", "b", "b"]);
    expect(items.value).toEqual(["b"]);
    guard.unsee("a");
    await settle();
    expect(items.value).toEqual(["a", "b"]);
    source.value = null;
    guard.record("a");
    expect(items.value).toEqual(["a", "b"]);
  });

  test("accepts reactive items, and returns the same ones", async () => {
    const guard = await testGuard();
    guard.record(1);
    const list = reactive([{ id: 1 }, { id: 2 }]);
    const { items } = useSeenFeed(guard, list);
    expect(items.value[0]).toBe(list[1]);
  });
});

test("useSeenGuard opens the guard with its option `open`", async () => {
  const scope = effectScope();
  const options = { namespace: "home:formats", storage: "none", open: FormatsGuard.open } as const;
  const guard = scope.run(() => useSeenGuard(options).guard);
  await vi.waitFor(() => expect(guard?.value).toBeInstanceOf(FormatsGuard), 10_000);
  scope.stop();
});

test("useSeenPages follows its guard and its options, fetches once, and aborts with its scope", async () => {
  const [guard, other] = [await testGuard(), await testGuard()];
  other.record("page-0");
  const [source, options] = [shallowRef<SeenGuard>(), ref({ want: 1 })];
  const requests: PageRequest[] = [];
  const fetchPage = (request: PageRequest) => {
    requests.push(request);
    const { page } = request;
    if (page > 3) return new Promise<never>(() => undefined);
    return Promise.resolve({ items: [`page-${String(page)}`], next: "more" });
  };
  const scope = effectScope();
  const pages = scope.run(() => useSeenPages<string>(source, fetchPage, options));
  if (!pages) throw new Error("the scope is not active");
  const state = () => [pages.items.value, pages.loading.value, pages.error.value, pages.done.value];
  expect(state()).toEqual([[], true, undefined, false]);
  await pages.loadMore();
  expect(state()).toEqual([[], true, undefined, false]);
  source.value = guard;
  await pages.loadMore();
  expect(state()).toEqual([["page-0"], false, undefined, false]);
  options.value = { want: 2 };
  await pages.loadMore();
  expect(pages.items.value).toEqual(["page-0", "page-1", "page-2"]);
  source.value = other;
  expect(state()).toEqual([[], true, undefined, false]);
  await vi.waitFor(() => expect(pages.items.value).toEqual(["page-1", "page-2"]));
  other.record("page-1");
  await pages.reset();
  expect(pages.items.value).toEqual(["page-2", "page-3"]);
  void pages.loadMore();
  expect(pages.loading.value).toBe(true);
  await settle();
  scope.stop();
  await settle();
  expect(requests.map(({ signal }) => signal.aborted)).toEqual([
    ...Array<boolean>(requests.length - 1).fill(false),
    true,
  ]);
});

test("vSeen restarts for what changes, and continues for equal values", async () => {
  const [guard, other] = [await testGuard(), await testGuard()];
  const stops = vi.fn();
  const tracks = [guard, other].map((each) => vi.spyOn(each, "observeItem").mockImplementation(() => stops));
  const begun = () => tracks.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  const first = { guard, id: ["a", "b"], threshold: 0.5, dwellMs: 500, onImpression: () => undefined };
  const shown = shallowRef<SeenElement>(first);
  const app = createApp({ render: () => withDirectives(h("p"), [[vSeen, shown.value]]) });
  app.mount(document.createElement("div"));
  expect(begun()).toBe(1);
  for (const change of [{ guard: other }, { id: ["a"] }, { threshold: 0.6 }, { dwellMs: 100 }]) {
    const before = begun();
    shown.value = { ...shown.value, ...change };
    await settle();
    expect(begun()).toBe(before + 1);
    shown.value = { ...shown.value, id: [...[shown.value.id].flat()], onImpression: () => undefined };
    await settle();
    expect(begun()).toBe(before + 1);
  }
  app.unmount();
  await settle();
  expect(stops).toHaveBeenCalledTimes(begun());
});

test("vSeenRoot observes below its element until that is unmounted", async () => {
  const guard = await testGuard();
  const stop = vi.fn();
  const observe = vi.spyOn(guard, "observe").mockImplementation(() => stop);
  const app = createApp({ render: () => withDirectives(h("ol"), [[vSeenRoot, { guard, attribute: "data-id" }]]) });
  app.mount(document.createElement("div"));
  expect(observe.mock.calls).toMatchObject([[{ tagName: "OL" }, { attribute: "data-id" }]]);
  app.unmount();
  await settle();
  expect(stop).toHaveBeenCalledTimes(1);
});
