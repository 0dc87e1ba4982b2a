/**
 * The pages of the site in the order of its sidebar: docs/<name>.md, but for those that lie at the project's root. A
 * page's title is its first heading. The build fails if a page of docs/ is not here.
 */

/** @type {readonly { readonly title: string, readonly pages: readonly string[] }[]} */
export const groups = [
  {
    title: "Use it",
    pages: [
      ...["start", "api", "errors", "frameworks", "clients"],
      ...["delivery", "storage", "hybrid", "platforms", "debugging"],
    ],
  },
  { title: "On a server", pages: ["server", "service", "streams", "other-languages", "near-duplicates", "scale"] },
  { title: "Measure", pages: ["performance", "effect"] },
  { title: "Understand", pages: ["glossary", "design", "security", "changelog"] },
];

/** Where the source of a page is, from the project's root. @param {string} name */
export function sourceOf(name) {
  return { security: "SECURITY.md", changelog: "CHANGELOG.md" }[name] ?? `docs/${name}.md`;
}

/** The pages of the reference have the address `/reference/<name>.html`. */
export const REFERENCE = "reference";
