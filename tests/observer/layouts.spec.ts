/**
 * The layouts of real clients, with real scrolling: exactly the items that a sampler finds visible are recorded.
 *
 * The sampler measures all items at every frame by `getBoundingClientRect`, clipped by their scroll containers, without
 * IntersectionObserver. An item must be recorded if it was visible enough for the dwell and a tolerance, and must not be
 * if it never was for the dwell less the tolerance; in between, either is right.
 */
import type { Frame, Page } from "@playwright/test";
import { expect, openGuard, test } from "../support/chromium.js";

declare global {
  interface Window {
    /** What must be recorded, and what may be. */
    sampled: { must: Set<string>; may: Set<string> };
    afterFrames: (count: number) => Promise<void>;
    /** Scrolls so far in each frame. */
    glide: (scroller: Element, x: number, y: number, frames: number) => Promise<void>;
  }
}

const DWELL_MS = 300;
/** On a busy machine entries, timers and samples are this far from each other. */
const TOLERANCE_MS = 200;

/** Begins to sample the items below `selector` in a document, and to observe it. */
async function start(target: Page | Frame, selector: string, isShadow = false): Promise<void> {
  await target.evaluate(
    ([selector, isShadow, dwellMs, toleranceMs]) => {
      const host = document.querySelector(selector);
      const root = isShadow ? host?.shadowRoot : host;
      if (!root) throw new Error(`no ${selector} in this page`);
      const sampled = (window.sampled = { must: new Set<string>(), may: new Set<string>() });
      const since = new Map<string, number>();
      /** The visible part of an element, and the largest that could be. */
      const shareOf = (element: Element) => {
        const box = element.getBoundingClientRect();
        let { left, top, right, bottom } = box;
        const clip = (by: { left: number; top: number; right: number; bottom: number }) => {
          [left, top] = [Math.max(left, by.left), Math.max(top, by.top)];
          [right, bottom] = [Math.min(right, by.right), Math.min(bottom, by.bottom)];
        };
        const parentOf = (node: Element) => node.parentElement ?? (node.getRootNode() as Partial<ShadowRoot>).host;
        for (let parent = parentOf(element); parent && parent !== document.body; parent = parentOf(parent)) {
          if (getComputedStyle(parent).overflowY !== "visible") clip(parent.getBoundingClientRect());
        }
        clip({ left: 0, top: 0, right: innerWidth, bottom: innerHeight });
        const visible = Math.max(0, right - left) * Math.max(0, bottom - top);
        return visible / (Math.min(box.width, innerWidth) * Math.min(box.height, innerHeight));
      };
      const sample = (now: number) => {
        const inView = new Set<string>();
        for (const element of root.querySelectorAll<HTMLElement>("[data-seen-id]")) {
          const { seenId = "" } = element.dataset;
          if (shareOf(element) >= 0.5) inView.add(seenId);
        }
        for (const id of since.keys()) if (!inView.has(id)) since.delete(id);
        for (const id of inView) {
          const begin = since.get(id) ?? now;
          since.set(id, begin);
          if (now - begin >= dwellMs + toleranceMs) sampled.must.add(id);
          if (now - begin >= dwellMs - toleranceMs) sampled.may.add(id);
        }
        requestAnimationFrame(sample);
      };
      requestAnimationFrame(sample);
      window.afterFrames = async (count) => {
        for (let frame = 0; frame < count; frame++) await new Promise(requestAnimationFrame);
      };
      window.glide = async (scroller, x, y, frames) => {
        for (let frame = 0; frame < frames; frame++) {
          scroller.scrollBy({ left: x, top: y, behavior: "instant" });
          await new Promise(requestAnimationFrame);
        }
      };
      window.guard.observe(root, { dwellMs });
    },
    [selector, isShadow, DWELL_MS, TOLERANCE_MS] as const,
  );
}

/** Waits until the sampler is sure of this number of items, as it will be of those that stay in view, and compares. */
async function expectSampled(target: Page | Frame, atLeast: number): Promise<void> {
  await expect.poll(() => target.evaluate(() => window.sampled.must.size)).toBeGreaterThanOrEqual(atLeast);
  const [recorded, must, may] = await target.evaluate(() => [
    window.guard.pending(),
    [...window.sampled.must],
    [...window.sampled.may],
  ]);
  expect(must.filter((id) => !recorded.includes(id))).toEqual([]);
  expect(recorded.filter((id) => !may.includes(id))).toEqual([]);
}

/** Waits until the sampler is sure of an item. */
async function untilSampled(target: Page | Frame, id: string): Promise<void> {
  await expect.poll(() => target.evaluate((id) => window.sampled.must.has(id), id)).toBe(true);
}

/** Rows of various heights with an id and a text. */
const rows = (prefix: string, count: number, height: (row: number) => string) =>
  Array.from(
    { length: count },
    (_, row) => `<article data-seen-id="${prefix}${row}" style="height:${height(row)}">${prefix} ${row}</article>`,
  ).join("");

async function show(target: Page | Frame, html: string): Promise<void> {
  await target.evaluate((html) => {
    document.body.insertAdjacentHTML("beforeend", html);
    window.one = (selector) => {
      const element = document.querySelector<HTMLElement>(selector);
      if (!element) throw new Error(`no ${selector} in this page`);
      return element;
    };
  }, html);
}

test.use({ viewport: { width: 800, height: 600 } });

test("a list of a page that is read with pauses, with items of up to 25 screens", async ({ reader }) => {
  const page = await reader.openGuardedPage({ storage: "none" });
  const heights = ["180px", "320px", "90px", "2500vh", "240px", "150vh", "60px"];
  await show(page, `<main>${rows("item-", 40, (row) => heights[row % heights.length] ?? "")}</main>`);
  await start(page, "main");
  await untilSampled(page, "item-0");
  await page.evaluate(() => window.glide(document.documentElement, 0, 20, 25));
  await untilSampled(page, "item-3");
  for (const id of ["item-4", "item-5", "item-7"]) {
    await page.evaluate(
      (id) => document.querySelector(`[data-seen-id=${id}]`)?.scrollIntoView({ block: "center" }),
      id,
    );
    await untilSampled(page, id);
  }
  // A fling: no item on the way stays in view for long enough.
  await page.evaluate(() => window.glide(document.documentElement, 0, 900, 40));
  await expectSampled(page, 5);
});

test("a thread of short replies in a scroller in the page", async ({ reader }) => {
  const page = await reader.openGuardedPage({ storage: "none" });
  const thread = `<div id="thread" style="height:350px;overflow-y:auto">${rows("reply-", 60, (row) => `${40 + (row % 5) * 30}px`)}</div>`;
  await show(page, `<div style="height:400px"></div>${thread}<div style="height:2000px"></div>`);
  await start(page, "#thread");
  await page.evaluate(() => window.scrollTo(0, 200));
  await untilSampled(page, "reply-1");
  await page.evaluate(() => window.glide(window.one("#thread"), 0, 15, 40));
  await untilSampled(page, "reply-8");
  // The scroller leaves the view: its items are not visible then.
  await page.evaluate(async () => {
    window.scrollTo(0, 1500);
    await window.glide(window.one("#thread"), 0, 300, 5);
  });
  await expectSampled(page, 2);
});

test("a virtual list, whose rows are made, reused and removed as it scrolls", async ({ reader }) => {
  const page = await reader.openGuardedPage({ storage: "none" });
  await show(page, `<div id="list" style="height:600px;overflow-y:auto"><div style="position:relative"></div></div>`);
  await page.evaluate(() => {
    const list = window.one("#list");
    const content = window.one("#list > div");
    const [height, count, overscan] = [150, 500, 2];
    content.style.height = `${height * count}px`;
    const pool: HTMLElement[] = [];
    const render = () => {
      const first = Math.max(0, Math.floor(list.scrollTop / height) - overscan);
      const last = Math.min(count, Math.ceil((list.scrollTop + 600) / height) + overscan);
      // Rows keep their element while they are rendered; one that is free is reused for another item.
      const free = pool.filter((row) => Number(row.dataset.seenId) < first || Number(row.dataset.seenId) >= last);
      const shown = new Set(pool.filter((row) => !free.includes(row)).map((row) => row.dataset.seenId));
      for (let index = first; index < last; index++) {
        if (shown.has(String(index))) continue;
        const row = free.pop() ?? pool[pool.push(document.createElement("div")) - 1];
        if (!row) continue;
        row.style.cssText = `position:absolute;top:0;width:100%;height:${height}px;transform:translateY(${index * height}px)`;
        row.dataset.seenId = String(index);
        content.append(row);
      }
      for (const row of free) {
        pool.splice(pool.indexOf(row), 1);
        row.remove();
      }
    };
    list.addEventListener("scroll", render);
    render();
  });
  await start(page, "#list");
  const list = (y: number, frames: number) =>
    page.evaluate(([y, frames]) => window.glide(window.one("#list"), 0, y, frames), [y, frames] as const);
  await untilSampled(page, "0");
  await list(30, 25);
  await untilSampled(page, "6");
  await list(700, 30);
  await list(10, 20);
  await page.evaluate(() => window.afterFrames(60));
  await expectSampled(page, 6);
});

test("a swiper: slides that snap, and slides that a transform moves", async ({ reader }) => {
  const page = await reader.openGuardedPage({ storage: "none" });
  const slides = (prefix: string, style: string) =>
    Array.from(
      { length: 8 },
      (_, slide) => `<div data-seen-id="${prefix}${slide}" style="flex:none;width:500px;height:250px;${style}"></div>`,
    ).join("");
  await show(
    page,
    `<main>
      <div id="snap" style="display:flex;width:500px;overflow-x:auto;scroll-snap-type:x mandatory">${slides("snap-", "scroll-snap-align:start")}</div>
      <div style="width:500px;overflow:hidden"><div id="track" style="display:flex;transition:transform 0.25s">${slides("moved-", "")}</div></div>
    </main>`,
  );
  await start(page, "main");
  const turn = (slide: number) =>
    page.evaluate((slide) => {
      document.querySelector("#snap")?.scrollTo({ left: slide * 500, behavior: "smooth" });
      window.one("#track").style.transform = `translateX(${-500 * slide}px)`;
    }, slide);
  for (const slide of [0, 1, 2, 6]) {
    await turn(slide);
    await untilSampled(page, `snap-${slide}`);
    await untilSampled(page, `moved-${slide}`);
  }
  await expectSampled(page, 8);
});

test("a list that pages by itself, with a sentinel", async ({ reader }) => {
  const page = await reader.openGuardedPage({ storage: "none" });
  await show(page, `<main><section></section><div id="sentinel" style="height:1px"></div></main>`);
  await page.evaluate(() => {
    const [list, sentinel] = [document.querySelector("section"), document.querySelector("#sentinel")];
    if (!list || !sentinel) return;
    let next = 0;
    const feed = window.guard.feed();
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      const page = Array.from({ length: 8 }, () => `post-${String(next++)}`);
      for (const id of feed.admit(page)) {
        list.insertAdjacentHTML("beforeend", `<article data-seen-id="${id}" style="height:170px">${id}</article>`);
      }
      observer.unobserve(sentinel);
      observer.observe(sentinel);
    });
    observer.observe(sentinel);
  });
  await start(page, "main");
  await untilSampled(page, "post-2");
  await page.evaluate(() => window.glide(document.documentElement, 0, 25, 60));
  await page.evaluate(() => window.afterFrames(60));
  await page.evaluate(() => window.glide(document.documentElement, 0, 400, 10));
  await page.evaluate(() => window.afterFrames(60));
  await expectSampled(page, 4);
});

test("a feed in a shadow root that is passed", async ({ reader }) => {
  const page = await reader.openGuardedPage({ storage: "none" });
  await show(page, `<div id="host"></div>`);
  await page.evaluate(
    (html) => {
      const host = document.querySelector("#host");
      if (host) host.attachShadow({ mode: "open" }).innerHTML = html;
    },
    rows("shadow-", 30, (row) => `${100 + (row % 3) * 80}px`),
  );
  await start(page, "#host", true);
  await untilSampled(page, "shadow-0");
  await page.evaluate(() => window.glide(document.documentElement, 0, 30, 50));
  await page.evaluate(() => window.afterFrames(60));
  await expectSampled(page, 4);
});

test("a feed in a frame, which observes itself", async ({ reader }) => {
  const page = await reader.openPage();
  await show(page, `<iframe src="/framed" style="width:400px;height:500px;border:0"></iframe>`);
  const frame = await (await page.waitForSelector("iframe")).contentFrame();
  if (!frame) throw new Error("no frame in this page");
  await frame.waitForURL(/framed/);
  await openGuard(frame, { storage: "none" });
  await show(frame, `<main>${rows("framed-", 30, (row) => `${120 + (row % 4) * 240}px`)}</main>`);
  await start(frame, "main");
  await untilSampled(frame, "framed-0");
  await frame.evaluate(() => window.glide(document.documentElement, 0, 30, 50));
  await frame.evaluate(() => window.afterFrames(60));
  await expectSampled(frame, 2);
});
