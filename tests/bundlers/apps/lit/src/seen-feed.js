/** The list of docs/frameworks.md. */
import { html, LitElement } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { SeenGuard } from "seenguard";

class SeenFeed extends LitElement {
  static properties = {
    userId: { attribute: "user-id" },
    items: { state: true },
    loading: { state: true },
    failed: { state: true },
    done: { state: true },
  };

  connectedCallback() {
    super.connectedCallback();
    this.items = [];
    this.opening = SeenGuard.open({ namespace: `home:${this.userId}` });
    this.feed = this.opening.then((guard) => {
      guard.observe(this.renderRoot); // records an item when half of it has been in view for a second
      guard.report({ url: "/api/impressions" });
      return guard.feed();
    });
    this.more();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.opening.then((guard) => guard.close());
  }

  async more() {
    this.loading = true;
    const { feed } = this;
    const { items, end, done } = await (await feed).fill(fetchPage, 10); // 10 fresh items or more
    if (feed !== this.feed) return; // disconnected and connected again meanwhile
    this.items = [...this.items, ...items];
    this.failed = end === "error";
    this.done = done;
    this.loading = false;
  }

  render() {
    return html`
      <ol>
        ${repeat(
          this.items,
          (item) => item.id,
          (item) => html`<li data-seen-id=${item.id}>${item.title}</li>`,
        )}
      </ol>
      ${this.failed ? html`<p>The feed cannot be loaded.</p>` : ""}
      ${
        this.done
          ? html`<p>That is all.</p>`
          : html`<button ?disabled=${this.loading} @click=${this.more}>More</button>`
      }
    `;
  }
}

customElements.define("seen-feed", SeenFeed);

async function fetchPage({ cursor = "", headers, signal }) {
  const response = await fetch(`/api/feed?cursor=${cursor}`, { headers, signal });
  return response.json(); // { items, snapshot, next }
}
