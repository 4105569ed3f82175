// What the lists of the service say of a request besides its deadline: that no worker would pick up the decision,
// who got a message, and who is told next.

import { get } from "./api.js";
import { changed, inbox, open, subscribe } from "./inbox.js";

const every = 60000; // milliseconds
const mostPages = 5; // of each list; rows beyond them have no note

let readAt = -Infinity;

async function read() {
  const notes = new Map();
  for (const list of ["approvals", "questions"])
    for (let n = 0, cursor = ""; n < mostPages; n++) {
      const page = await get(`/v1/${list}?page=true&limit=100&fields=summary${cursor && "&cursor=" + encodeURIComponent(cursor)}`);
      for (const item of page.items) notes.set(item.request.handle, item.explain?.text ?? "");
      if (!page.pagination.has_more) break;
      cursor = page.pagination.next_cursor;
    }
  for (const one of open()) one.note = notes.get(one.handle) ?? "";
  changed();
}

// readIfDue reads the notes once a minute while the list is in view, and not before the list is there. A read that failed
// is repeated at its time.
function readIfDue() {
  if (document.hidden || inbox.connection !== "live" || !inbox.complete || open().length === 0 || performance.now() < readAt + every) return;
  readAt = performance.now();
  read().catch(() => {});
}

// followNotes keeps the notes of the open requests.
export function followNotes() {
  const timer = setInterval(readIfDue, 5000), ends = subscribe(readIfDue);
  document.addEventListener("visibilitychange", readIfDue);
  readIfDue();
  return () => { clearInterval(timer); ends(); document.removeEventListener("visibilitychange", readIfDue); };
}

// noteOf returns the note of a row: the most frequent one of its open calls.
export function noteOf(calls) {
  const notes = Map.groupBy(calls.filter(one => one.note && !one.resolution), one => one.note);
  return [...notes].sort(([, a], [, b]) => b.length - a.length)[0]?.[0] ?? "";
}
