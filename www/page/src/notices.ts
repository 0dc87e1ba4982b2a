/** Error messages at the top of the page: one notice for each subject, until it is cleared. */
import { one } from "./column.ts";

export function notify(subject: string, text: string): void {
  const known = noticeOf(subject);
  if (known?.textContent === text) return;
  const notice = known ?? one(document, "#notices").appendChild(document.createElement("p"));
  notice.setAttribute("data-subject", subject);
  notice.textContent = text;
}

export function clearNotice(subject: string): void {
  noticeOf(subject)?.remove();
}

/** Reports a failed request to the server; the next response clears the notice. */
export function notifyServerTrouble(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  notify("server", `${reason}. What you have seen stays on this device; the page keeps trying.`);
}

function noticeOf(subject: string): Element | undefined {
  return [...one(document, "#notices").children].find((notice) => notice.getAttribute("data-subject") === subject);
}
