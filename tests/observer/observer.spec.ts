/** When an item counts as seen: the DOM observer in a real browser. */
import { DWELL_MS, expect, gap, item, test } from "./fixtures.js";

test.describe("an item", () => {
  test("counts once it has been visible for the whole dwell, and only once", async ({ observed }) => {
    await observed.observing(item("a"));
    await observed.pass(DWELL_MS - 1);
    expect(await observed.impressions()).toEqual([]);
    await observed.pass(1);
    expect(await observed.impressions()).toEqual(["a"]);
    await observed.scrollTo(0);
    await observed.counts("a");
  });

  test("counts when the threshold of it is visible and not when less is", async ({ observed }) => {
    await observed.observing(gap(500) + item("half") + gap(1000) + item("far"));
    await observed.counts("half");
    await observed.observing(gap(504) + item("less") + gap(1000));
    await observed.counts();
  });

  for (const height of [200, 900]) {
    test(`of ${height} px with a threshold of 0 counts by any visible pixel, but not by touching the edge`, async ({
      observed,
    }) => {
      await observed.show(gap(600) + item("edge", `height:${height}px`) + gap(1000));
      await observed.observe({ threshold: 0 });
      await observed.counts();
      await observed.scrollTo(1);
      await observed.counts("edge");
    });
  }

  test("restarts after a break that is reported only when it is over", async ({ observed }) => {
    await observed.show(item("a") + gap(2000));
    await observed.holdEntries();
    await observed.observe();
    await observed.change(() => {
      window.deliver();
    });
    await observed.dwellAlmost();
    await observed.scrollTo(150);
    await observed.scrollTo(0);
    await observed.change(() => {
      window.deliver();
    });
    await observed.pass(200);
    await observed.change(() => {
      window.deliver();
    });
    expect(await observed.impressions()).toEqual([]);
    await observed.pass(200);
    await observed.change(() => {
      window.deliver();
    });
    expect(await observed.impressions()).toEqual(["a"]);
  });

  test("with a threshold of 1 does not count while a part is hidden", async ({ observed }) => {
    await observed.show(gap(410) + item("cut") + gap(1000));
    await observed.observe({ threshold: 1 });
    await observed.counts();
  });

  test("of less than a pixel does not count, whichever side it is", async ({ observed }) => {
    await observed.observing(
      item("flat", "height:0.9px") + item("thin", "width:0.9px;height:50px") + item("dot", "height:1px"),
    );
    await observed.counts("dot");
  });

  test("that gets its size later counts from then on", async ({ observed }) => {
    await observed.observing(item("lazy", "height:0"));
    await observed.counts();
    await observed.change(() => {
      window.one("[data-seen-id]").style.height = "200px";
    });
    await observed.dwellAlmost();
    expect(await observed.impressions()).toEqual([]);
    await observed.counts("lazy");
  });

  test("that is not displayed counts once it is displayed", async ({ observed }) => {
    await observed.observing(item("hidden", "height:200px;display:none"));
    await observed.counts();
    await observed.change(() => {
      window.one("[data-seen-id]").style.display = "";
    });
    await observed.counts("hidden");
  });

  test("with an empty attribute has no id yet", async ({ observed }) => {
    await observed.observing(item(""));
    await observed.counts();
    await observed.change(() => {
      window.one("[data-seen-id]").dataset.seenId = "a";
    });
    await observed.counts("a");
  });

  test("is found under any attribute name", async ({ observed }) => {
    await observed.show(`<div id="x" style="height:50px"></div><div ITEM:Id="b" style="height:50px"></div>`);
    await observed.observe({ attribute: "Item:Id" });
    await observed.change(() => {
      window.one("#x").setAttribute("item:id", "a");
    });
    await observed.dwell();
    expect((await observed.impressions()).sort()).toEqual(["a", "b"]);
  });
});

test.describe("an item larger than the screen", () => {
  for (const screens of [1.5, 3, 25, 50]) {
    test(`by ${screens} times counts by covering it`, async ({ observed }) => {
      await observed.observing(gap(600) + item("tall", `height:${String(screens * 600)}px`) + gap(600));
      await observed.scrollTo(280);
      await observed.counts();
      await observed.scrollTo(310);
      await observed.counts("tall");
    });
  }

  test("with a threshold of 1 counts when it fills the screen", async ({ observed }) => {
    await observed.show(gap(20) + item("tall", "height:1800px") + gap(600));
    await observed.observe({ threshold: 1 });
    await observed.counts();
    await observed.scrollTo(20);
    await observed.counts("tall");
  });

  test("in a column of its own counts when the column is full of it", async ({ observed }) => {
    await observed.observing(
      `<div style="width:200px;margin:auto">${gap(600) + item("column", "height:1800px") + gap(600)}</div>`,
    );
    await observed.scrollTo(280);
    await observed.counts();
    await observed.scrollTo(310);
    await observed.counts("column");
  });

  test("counts when it grows to that size in view", async ({ observed }) => {
    await observed.observing(gap(420) + item("grows", "height:400px") + gap(1000));
    await observed.dwell();
    await observed.change(() => {
      window.one("[data-seen-id]").style.height = "30000px";
    });
    await observed.counts();
    await observed.scrollTo(150);
    await observed.counts("grows");
  });

  test("counts when the window shrinks around it", async ({ observed, page }) => {
    await observed.observing(item("short", "height:580px;margin-top:-360px") + gap(2000));
    await observed.counts();
    await page.setViewportSize({ width: 800, height: 300 });
    await observed.settle();
    await observed.counts("short");
  });

  test("and any other is not measured any more once it has counted, until it is out of view", async ({ observed }) => {
    await observed.show(item("tall", "height:3000px") + item("small") + gap(2000));
    await observed.page.evaluate(() => {
      window.count = 0;
      window.IntersectionObserver = class extends IntersectionObserver {
        override observe(target: Element) {
          window.count++;
          super.observe(target);
        }
      };
    });
    await observed.observe();
    const observations = () => observed.page.evaluate(() => window.count);
    await observed.counts("tall");
    const before = await observations();
    await observed.scrollTo(2600);
    expect(await observations()).toBe(before);
    await observed.counts("tall", "small");
    expect(await observations()).toBeGreaterThan(before);
  });
});

test.describe("in a nested scroll container", () => {
  const scroller = (content: string, style = "") =>
    `<div id="s" style="width:300px;height:200px;overflow:auto;${style}">${content}</div>`;

  test("an item does not count while the container itself is out of view", async ({ observed }) => {
    await observed.observing(gap(520) + scroller(item("fits", "height:200px")) + gap(2000));
    await observed.counts();
    await observed.scrollTo(30);
    await observed.counts("fits");
  });

  test("a container larger than the window is capped to it", async ({ observed }) => {
    await observed.show(scroller(item("tall", "height:9000px"), "height:4000px"));
    await observed.observe({ threshold: 0.9 });
    await observed.counts("tall");
  });

  test("a box that its clipping ancestor does not contain is measured by the window", async ({ observed }) => {
    const menu = item("menu", "position:absolute;top:550px;left:0;width:300px;height:900px");
    await observed.observing(`<div style="height:20px;overflow:hidden">${menu}</div>` + gap(2000));
    await observed.counts();
    await observed.scrollTo(300);
    await observed.counts("menu");
  });

  test("nothing counts in a frame without any size", async ({ observed }) => {
    const content = `<!doctype html><body style='margin:0'>${item("none").replaceAll('"', "'")}`;
    await observed.show(`<iframe width="0" height="0" style="border:0" srcdoc="${content}"></iframe>`);
    const frame = await observed.frame(1);
    await observed.observe({ threshold: 0 }, "body", frame);
    await observed.dwell();
    expect(await observed.impressions(frame)).toEqual([]);
  });

  for (const sandbox of ["allow-scripts", "allow-scripts allow-same-origin"]) {
    test(`an item in a frame counts by covering the frame (${sandbox})`, async ({ observed }) => {
      const content = `<!doctype html><body style='margin:0'>${item("tall", "height:5000px").replaceAll('"', "'")}`;
      await observed.show(
        gap(450) + `<iframe sandbox="${sandbox}" width="400" height="300" srcdoc="${content}"></iframe>` + gap(900),
      );
      const frame = await observed.frame(1);
      await observed.observe({ threshold: 0.6 }, "body", frame);
      await observed.dwell();
      expect(await observed.impressions(frame)).toEqual([]);
      await observed.scrollTo(100);
      await observed.dwell();
      expect(await observed.impressions(frame)).toEqual(["tall"]);
    });
  }
});

test.describe("an element whose id changes", () => {
  const setId = (id: string | null) => {
    const element = window.one("#x");
    if (id === null) element.removeAttribute("data-seen-id");
    else element.setAttribute("data-seen-id", id);
  };
  const reused = `<div id="x" data-seen-id="a" style="height:200px"></div>`;

  test("restarts as another item", async ({ observed }) => {
    await observed.observing(reused);
    await observed.dwellAlmost();
    await observed.change(setId, "b");
    await observed.dwellAlmost();
    expect(await observed.impressions()).toEqual([]);
    await observed.counts("b");
  });

  test("is dropped when it loses the attribute, and found when it gains one", async ({ observed }) => {
    await observed.observing(reused);
    await observed.dwellAlmost();
    await observed.change(setId, null);
    await observed.counts();
    await observed.change(setId, "a");
    await observed.counts("a");
  });

  test("returning to the item that it counted last does not count it again, unless another one was between", async ({
    observed,
  }) => {
    await observed.observing(reused);
    await observed.dwell();
    await observed.change(setId, "b");
    await observed.dwellAlmost();
    await observed.change(setId, "a");
    await observed.counts("a");
    await observed.change(setId, "b");
    await observed.dwell();
    await observed.change(setId, "a");
    await observed.counts("a", "b", "a");
  });
});

test.describe("a page that changes", () => {
  const list = `<div id="list"></div><div id="other"></div>`;
  const append = (html: string) => {
    window.one("#list").insertAdjacentHTML("beforeend", html);
  };

  test("finds items deep inside added elements", async ({ observed }) => {
    await observed.observing(list);
    await observed.change(append, `<section><div>${item("deep")}</div></section>` + item("flat"));
    await observed.dwell();
    expect((await observed.impressions()).sort()).toEqual(["deep", "flat"]);
  });

  test("counts an item once though its element is removed and added again", async ({ observed }) => {
    await observed.observing(list);
    await observed.change(append, item("a"));
    await observed.dwell();
    await observed.change(() => {
      window.stored = window.one("[data-seen-id]");
      window.stored.remove();
    });
    await observed.change(() => window.one("#other").append(window.stored));
    await observed.counts("a");
  });

  test("sets no timer for items that are removed", async ({ observed }) => {
    await observed.show(list);
    await observed.change(append, item("a"));
    await observed.observeItem("a", "[data-seen-id]");
    await observed.dwell();
    await observed.holdTimers();
    await observed.change(() => window.one("[data-seen-id]").remove());
    expect(await observed.page.evaluate(() => window.timers.length)).toBe(0);
  });

  test("may move its items out of the root", async ({ observed }) => {
    await observed.show(list);
    await observed.observe({}, "#list");
    await observed.change(append, item("a"));
    await observed.dwellAlmost();
    await observed.change(() => window.one("#other").append(window.one("[data-seen-id]")));
    await observed.counts();
  });

  test("with 2,000 items needs one IntersectionObserver for them, and one for the root", async ({ observed }) => {
    const rows = Array.from({ length: 2000 }, (_, row) => item(String(row), "height:50px"));
    await observed.show(rows.join(""));
    await observed.page.evaluate(() => {
      window.count = 0;
      window.IntersectionObserver = class extends IntersectionObserver {
        constructor(...given: ConstructorParameters<typeof IntersectionObserver>) {
          super(...given);
          window.count++;
        }
      };
    });
    await observed.observe({ threshold: 1 });
    expect(await observed.page.evaluate(() => window.count)).toBe(2);
    await observed.dwell();
    expect(await observed.impressions()).toEqual(Array.from({ length: 12 }, (_, row) => String(row)));
    await observed.scrollTo(2000 * 50 - 600);
    await observed.dwell();
    expect(await observed.impressions()).toHaveLength(24);
  });
});

test.describe("display: contents", () => {
  const contents = "display:contents";

  test("between the root and the items, or on the root, changes nothing", async ({ observed }) => {
    const wrapped = `<div style="${contents};overflow:auto;position:relative">${item("small") + item("tall", "height:3000px")}</div>`;
    await observed.show(`<main style="${contents}">${wrapped}</main>`);
    await observed.observe({}, "main");
    await observed.dwell();
    expect((await observed.impressions()).sort()).toEqual(["small", "tall"]);
  });

  test("on an item is reported once, and the others count", async ({ observed }) => {
    await observed.observing(item("parts", contents, gap(50)) + item("others", contents) + item("small"));
    await observed.observeItem("one", "[data-seen-id=parts]");
    await observed.dwell();
    await observed.scrollTo(1);
    expect(await observed.impressions()).toEqual(["small"]);
    expect(await observed.messages()).toEqual([expect.stringMatching(/^misuse: .*`display: contents`/)]);
  });
});

test.describe("one element with an id of the app", () => {
  test("counts under that id", async ({ observed }) => {
    await observed.show(`<div id="x" style="height:100px"></div>`);
    await observed.observeItem("given", "#x");
    await observed.counts("given");
  });

  test("may be observed by several at once, each on its own", async ({ observed }) => {
    await observed.observing(gap(600) + item("a", "height:100px") + gap(900));
    await observed.observeItem("b", "[data-seen-id]");
    await observed.observeItem("c", "[data-seen-id]", { threshold: 0.3 });
    await observed.observeItem("d", "[data-seen-id]");
    await observed.page.evaluate(() => window.stops.at(-1)?.());
    await observed.scrollTo(40);
    await observed.counts("c");
    await observed.scrollTo(60);
    await observed.dwell();
    expect((await observed.impressions()).sort()).toEqual(["a", "b", "c"]);
  });

  for (const height of [100, 3000]) {
    test(`of ${height} px restarts when it leaves the document for a while`, async ({ observed }) => {
      await observed.show(`<div id="x" style="height:${height}px"></div>`);
      await observed.observeItem("given", "#x");
      await observed.dwellAlmost();
      await observed.change(() => {
        window.stored = window.one("#x");
        window.stored.remove();
      });
      await observed.dwell();
      await observed.change(() => document.body.append(window.stored));
      await observed.dwellAlmost();
      expect(await observed.impressions()).toEqual([]);
      await observed.counts("given");
    });
  }
});

test.describe("invisible items do not count, and restart when they become visible", () => {
  const wrapped = (attributes: string) => `<section ${attributes}>${item("a")}</section>`;
  const reveal = () => {
    window.one("section").removeAttribute("style");
    window.one("section").removeAttribute("inert");
  };
  for (const [how, html] of [
    ["by its visibility", wrapped('style="visibility:hidden"')],
    ["by its opacity", wrapped('style="opacity:0"')],
    ["in what is inert", wrapped("inert")],
  ] as const) {
    test(how, async ({ observed }) => {
      await observed.observing(html);
      await observed.dwell();
      await observed.counts();
      await observed.change(reveal);
      await observed.counts("a");
    });
  }

  test("in a shadow root whose host is inert", async ({ observed }) => {
    await observed.show(`<section inert><div id="host"></div></section>`);
    await observed.change((html) => {
      window.one("#host").attachShadow({ mode: "open" }).innerHTML = html;
    }, item("a"));
    await observed.observe({}, "#host");
    await observed.counts();
    await observed.change(reveal);
    await observed.counts("a");
  });

  test("behind an open modal dialog that does not contain it; items in the dialog count", async ({ observed }) => {
    const dialog = (id: string) => `<dialog id="${id}" style="padding:0;width:90%">${item(`in-${id}`)}</dialog>`;
    await observed.observing(item("behind") + dialog("first") + dialog("second"));
    await observed.change(() => {
      for (const id of ["#first", "#second"]) (window.one(id) as HTMLDialogElement).showModal();
    });
    await observed.dwell();
    await observed.counts("in-second");
    await observed.change(() => {
      (window.one("#second") as HTMLDialogElement).close();
    });
    await observed.counts("in-second", "in-first");
    await observed.change(() => {
      (window.one("#first") as HTMLDialogElement).close();
    });
    await observed.counts("in-second", "in-first", "behind");
  });

  test("behind a modal dialog in a shadow root", async ({ observed }) => {
    await observed.show(`${item("behind")}<div id="host">${item("slotted")}</div>`);
    await observed.observe();
    await observed.change(() => {
      const root = window.one("#host").attachShadow({ mode: "open" });
      root.innerHTML = `<dialog style="padding:0;width:90%"><slot></slot></dialog>`;
      root.querySelector("dialog")?.showModal();
    });
    await observed.dwell();
    await observed.dwell();
    expect(await observed.impressions()).toEqual(["slotted"]);
    await observed.change(() => {
      window.one("#host").shadowRoot?.querySelector("dialog")?.close();
    });
    await observed.dwell();
    expect(await observed.impressions()).toEqual(["slotted", "behind"]);
  });

  test("with a dwell of 0 behind a modal dialog is measured 10 times a second at most", async ({ observed }) => {
    await observed.show(item("behind") + `<dialog>modal</dialog>`);
    await observed.page.evaluate(() => {
      (window.one("dialog") as HTMLDialogElement).showModal();
      window.count = 0;
      window.IntersectionObserver = class extends IntersectionObserver {
        override observe(target: Element) {
          if (target.matches("[data-seen-id]")) window.count++;
          super.observe(target);
        }
      };
    });
    await observed.observe({ dwellMs: 0 });
    for (let frames = 0; frames < 50; frames++) await observed.pass(10);
    expect(await observed.impressions()).toEqual([]);
    // One at the beginning, and one for the dwell.
    expect(await observed.page.evaluate(() => window.count)).toBeLessThanOrEqual(2 + 5);
    await observed.change(() => (window.one("dialog") as HTMLDialogElement).close());
    await observed.pass(200);
    expect(await observed.impressions()).toEqual(["behind"]);
  });

  test("behind a modal dialog whose surface is a shadow host", async ({ observed }) => {
    await observed.observing(
      `${item("behind")}<dialog style="margin:0 auto;padding:0;width:90%"><div id="host">text</div></dialog>`,
    );
    await observed.change(() => {
      const host = window.one("#host");
      host.style.height = "300px";
      host.attachShadow({ mode: "open" }).innerHTML = "<slot></slot>";
      (window.one("dialog") as HTMLDialogElement).showModal();
    });
    await observed.dwell();
    await observed.counts();
    await observed.change(() => (window.one("dialog") as HTMLDialogElement).close());
    await observed.counts("behind");
  });

  test("is found by a few hit tests where the item is a shadow host with text in its slot", async ({ observed }) => {
    await observed.show(item("card", "height:20px", "text"));
    await observed.change(() => {
      window.one("[data-seen-id]").attachShadow({ mode: "open" }).innerHTML = "<slot></slot>";
      window.count = 0;
      for (const { prototype } of [Document, ShadowRoot]) {
        const find = Reflect.get(prototype, "elementFromPoint");
        prototype.elementFromPoint = function (x, y) {
          window.count++;
          return find.call(this, x, y);
        };
      }
    });
    await observed.observe();
    await observed.counts("card");
    const hitTests = await observed.page.evaluate(() => window.count);
    expect(hitTests).toBeGreaterThan(0);
    expect(hitTests).toBeLessThan(10);
  });

  test("but items that are only covered count", async ({ observed }) => {
    const over = "position:fixed;inset:0;background:white";
    await observed.observing(
      item("a") + `<a href="#" style="${over}"></a><dialog open style="${over}">not modal</dialog>`,
    );
    await observed.counts("a");
  });
});

test.describe("an item that was recorded", () => {
  const unsee = () => {
    window.guard.unsee("a");
  };
  const remount = () => {
    const element = window.one("[data-seen-id=a]");
    element.replaceWith(element.cloneNode(true));
  };

  test("and is unseen is recorded again when it has left the view, returned and been visible for a dwell", async ({
    observed,
  }) => {
    await observed.observing(item("a") + gap(3000));
    await observed.dwell();
    await observed.change(unsee);
    await observed.dwell();
    await observed.observe();
    await observed.counts("a");
    await observed.scrollTo(1000);
    await observed.scrollTo(0);
    await observed.dwellAlmost();
    expect(await observed.impressions()).toEqual(["a"]);
    await observed.counts("a", "a");
  });

  test("is not recorded when it returns without being unseen", async ({ observed }) => {
    await observed.observing(item("a") + gap(3000));
    await observed.dwell();
    await observed.scrollTo(1000);
    await observed.scrollTo(0);
    await observed.counts("a");
  });

  test("is not recorded by a second observer of the same element, with and without an id", async ({ observed }) => {
    await observed.observing(item("a"));
    await observed.observe();
    await observed.observeItem("a", "[data-seen-id]");
    await observed.dwell();
    await observed.change(() => {
      for (const stop of window.stops) stop();
    });
    await observed.observe();
    await observed.counts("a");
  });

  test("is not recorded by a remount, unless it was out of view or is unseen", async ({ observed }) => {
    await observed.observing(item("a") + gap(3000));
    await observed.dwell();
    await observed.change(remount);
    await observed.counts("a");
    await observed.scrollTo(1000);
    await observed.change(remount);
    await observed.scrollTo(0);
    await observed.counts("a", "a");
    await observed.change(unsee);
    await observed.change(remount);
    await observed.counts("a", "a", "a");
  });

  test("as local is recorded by an observer without `local`", async ({ observed }) => {
    await observed.show(item("a"));
    await observed.observe({ local: true });
    await observed.dwell();
    expect(await observed.page.evaluate(() => window.guard.pending())).toEqual([]);
    await observed.observe();
    await observed.dwell();
    expect(await observed.page.evaluate(() => window.guard.pending())).toEqual(["a"]);
  });
});

test.describe("a root that was in view and leaves the document", () => {
  const reported = [expect.stringMatching(/^misuse: .*has left the document/)];

  test("is reported once after 10 s, an empty list, too", async ({ observed }) => {
    await observed.show(`<main>${item("a")}</main><ul></ul>`);
    await observed.observe({}, "main");
    await observed.observe({}, "ul");
    await observed.change(() => {
      window.stored = window.one("ul");
      window.stored.remove();
    });
    await observed.pass(9_500);
    expect(await observed.messages()).toEqual([]);
    await observed.pass(600);
    expect(await observed.messages()).toEqual(reported);
    await observed.change(() => {
      window.one("main").remove();
    });
    await observed.pass(10_100);
    expect(await observed.messages()).toEqual(reported);
  });

  test("is not reported if it is stopped, moved, or not in the document yet", async ({ observed }) => {
    await observed.show(`<main>${item("a")}</main><ul></ul>`);
    await observed.observe({}, "main");
    await observed.observe({}, "ul");
    await observed.change(() => {
      window.guard.observe(document.createElement("p"));
      window.one("ul").remove();
      window.stops[1]?.();
      window.stored = window.one("main");
      window.stored.remove();
    });
    await observed.pass(8_000);
    await observed.change(() => document.body.append(window.stored));
    await observed.pass(10_500);
    expect(await observed.impressions()).toEqual(["a"]);
    expect(await observed.messages()).toEqual([]);
  });

  test("is not reported for a single item, whose element frameworks cache, and which counts when it is shown again", async ({
    observed,
  }) => {
    await observed.show(item("kept"));
    await observed.observeItem("kept", "[data-seen-id]");
    await observed.change(() => {
      window.stored = window.one("[data-seen-id]");
      window.stored.remove();
    });
    await observed.pass(10_500);
    await observed.change(() => document.body.append(window.stored));
    await observed.counts("kept");
    expect(await observed.messages()).toEqual([]);
  });
});

test.describe("elements below a root", () => {
  test("are reported once, if for 5 s none of them has had an id", async ({ observed }) => {
    await observed.show("<main><p>One</p></main>");
    await observed.observe({ attribute: "data-id" }, "main");
    await observed.observe({ attribute: "data-id" }, "main");
    await observed.pass(4_500);
    expect(await observed.messages()).toEqual([]);
    await observed.pass(600);
    expect(await observed.messages()).toEqual([expect.stringMatching(/^misuse: .*no element with `data-id` for 5 s/)]);
  });

  test("are not reported if one gets an id, if there are none yet, or after stop", async ({ observed }) => {
    await observed.show("<main><p>One</p></main><ul></ul><section><p>One</p></section>");
    for (const root of ["main", "ul", "section"]) await observed.observe({}, root);
    await observed.change(() => {
      window.one("p").dataset.seenId = "one";
      window.stops[2]?.();
    });
    await observed.change(() => window.one("p").removeAttribute("data-seen-id"));
    await observed.pass(5_500);
    expect(await observed.messages()).toEqual([]);
  });
});

test.describe("stop", () => {
  test("ends everything, and may be called again", async ({ observed }) => {
    await observed.observing(item("a") + item("tall", "height:2000px"));
    await observed.observeItem("tracked", "[data-seen-id]");
    await observed.dwellAlmost();
    await observed.change(() => {
      for (const stop of [...window.stops, ...window.stops]) stop();
      document.body.insertAdjacentHTML("afterbegin", `<div data-seen-id="later" style="height:100px"></div>`);
    });
    await observed.counts();
  });

  test("removes its listeners", async ({ observed }) => {
    await observed.show(item("a"));
    const before = await observed.listeners();
    await observed.observe();
    expect(await observed.listeners()).toEqual(expect.arrayContaining(["pagehide", "visibilitychange"]));
    await observed.change(() => {
      window.stops[0]?.();
    });
    expect(await observed.listeners()).toEqual(before);
  });

  test("called by the first impression prevents the others", async ({ observed }) => {
    await observed.show(item("a", "height:50px") + item("b", "height:50px"));
    await observed.page.evaluate(async () => {
      const onImpression = (id: string) => {
        window.impressions.push(id);
        stop();
      };
      const stop = window.guard.observe(document.body, { dwellMs: 400, onImpression });
      await window.settled();
    });
    await observed.dwell();
    expect(await observed.impressions()).toHaveLength(1);
  });
});

test.describe("the page", () => {
  const turnTo = (state: DocumentVisibilityState) => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
  };
  const goOrCome = (state: DocumentVisibilityState) => {
    dispatchEvent(new PageTransitionEvent(state === "hidden" ? "pagehide" : "pageshow", { persisted: true }));
  };

  for (const [how, turn] of [
    ["by visibilitychange", turnTo],
    ["by pagehide alone", goOrCome],
  ] as const) {
    test(`hidden in the middle of a dwell breaks it, ${how}`, async ({ observed }) => {
      await observed.show(item("small", "height:50px") + item("tall", "height:2000px"));
      await observed.observe({ threshold: 0.1 });
      await observed.dwellAlmost();
      await observed.change(turn, "hidden" as const);
      await observed.dwell();
      await observed.change(() => document.body.append(document.createElement("p")));
      expect(await observed.impressions()).toEqual([]);
      await observed.change(turn, "visible" as const);
      await observed.dwellAlmost();
      expect(await observed.impressions()).toEqual([]);
      await observed.dwell();
      expect((await observed.impressions()).sort()).toEqual(["small", "tall"]);
    });
  }

  test("put into the back/forward cache in the middle of a dwell breaks it", async ({ cached }) => {
    await cached.open("/feed", item("small", "height:100px") + item("tall", "height:3000px"));
    await cached.observe();
    await cached.dwellAlmost();
    await cached.leaveAndReturn();
    await cached.dwellAlmost();
    expect(await cached.impressions()).toEqual([]);
    await cached.dwell();
    expect((await cached.impressions()).sort()).toEqual(["small", "tall"]);
  });

  /** In one task, before the next frame: scrolls, advances the time, and runs the timers. */
  const scrollAndWake = () => {
    scrollTo(0, 5000);
    const now = performance.now() + 1000;
    performance.now = () => now;
    for (const timer of window.timers.splice(0)) timer();
  };

  for (const height of [200, 3000]) {
    test(`busy until after the dwell does not count ${height} px that left in the meantime`, async ({ observed }) => {
      await observed.show(item("left", `height:${height}px`) + gap(9000));
      await observed.holdTimers();
      await observed.observe({ dwellMs: 10 });
      await observed.change(scrollAndWake);
      expect(await observed.impressions()).toEqual([]);
      await observed.scrollTo(0);
      expect(await observed.impressions()).toEqual([]);
    });
  }

  test("busy until after the dwell does not use earlier observations", async ({ observed }) => {
    await observed.show(item("left") + gap(9000));
    await observed.holdTimers();
    await observed.holdEntries();
    await observed.observe({ dwellMs: 10 });
    await observed.change(() => {
      window.deliver();
    });
    // Its new size brings an entry that shows it, but the page is notified only after it left.
    await observed.change(() => {
      window.one("[data-seen-id]").style.height = "210px";
    });
    await observed.change(scrollAndWake);
    await observed.change(() => {
      window.deliver();
    });
    expect(await observed.impressions()).toEqual([]);
  });
});

test("an impression handler that throws is reported, and the others continue", async ({ observed }) => {
  await observed.show(item("a", "height:50px") + item("b", "height:50px"));
  await observed.page.evaluate(async () => {
    const onImpression = (id: string) => {
      throw new Error(`cannot take ${id}`);
    };
    window.guard.observe(document.body, { dwellMs: 400, onImpression });
    await window.settled();
  });
  await observed.dwell();
  expect(await observed.page.evaluate(() => window.guard.pending().sort())).toEqual(["a", "b"]);
  const uncaught = await observed.page.evaluate(() => window.uncaught);
  expect(uncaught.sort()).toEqual(["Uncaught Error: cannot take a", "Uncaught Error: cannot take b"]);
});
