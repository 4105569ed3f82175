// What was read. A prompt may be allowed when every part of it was in view, in this tab while it was shown, and its end for
// half a second. A record is about one digest: an input that changes is read again. So is one whose beginning alone was there.

import { clock } from "./guard.js";
import { isShort } from "./kinds.js";

export const atEnd = 500;
const detail = () => document.getElementById("detail");

// cover adds a range to a sorted list of ranges that do not touch.
export function cover(ranges, from, to) {
  const apart = [];
  for (const [a, b] of ranges) {
    if (b < from - 1 || a > to + 1) apart.push([a, b]);
    else { from = Math.min(from, a); to = Math.max(to, b); }
  }
  return [...apart, [from, to]].sort((x, y) => x[0] - y[0]);
}

export const covers = (ranges, height) => ranges.some(([from, to]) => from <= 2 && to >= height - 2);

const records = new WeakMap(); // by prompt

// A text that was read is read in every session that shows the same one. Every member of the request is part of it, but for
// the ids and times, the input, which the digest covers, what a person need not have read, and a short folder: it stands
// at the head of the prompt, and at each call of a dialog that allows several.
const notSaid = new Set(["id", "handle", "tool_call_id", "input", "input_truncated", "input_bytes", "input_members", "input_digest", "created_at_ms",
  "expires_at_ms", "escalation", "traceparent", "metadata", "scope", "pattern_keys", "sensitive_paths", "exclude_requester"]);
const mostTexts = 2000;
const texts = new Set(); // of calls that were read, the oldest first
export const textOf = ({ kind, digest, request }) => kind === "approval" && digest
  && JSON.stringify([digest, Object.entries(request).filter(([name, value]) => value && !notSaid.has(name) && !(name === "directory" && isShort(value))).sort()]);
function keepText(one) {
  const text = textOf(one);
  if (!text) return;
  texts.add(text);
  if (texts.size > mostTexts) texts.delete(texts.values().next().value);
}
// recordNow returns the record of a prompt as it is now, if there is one. A question has no digest.
const recordNow = one => { const record = records.get(one); return record?.digest === one.digest ? record : undefined; };
const wasRead = one => recordNow(one)?.seen || texts.has(textOf(one));

function recordOf(one, width) {
  let record = records.get(one);
  const cut = !!one.request.input_truncated;
  if (!record || record.digest !== one.digest || (record.width !== width || record.cut !== cut) && !record.seen) {
    record = { digest: one.digest, width, cut, parts: new Map(), endSince: Infinity, seen: false, inView: false };
    records.set(one, record);
  }
  return record;
}

// scroller is the box in which a prompt is read.
export const scroller = () => document.querySelector("#detail .scroll-detail");

// afterPaint calls back once the current layout was on the screen. A hidden tab paints nothing.
export const afterPaint = then => { if (document.hidden) setTimeout(then); else requestAnimationFrame(() => setTimeout(then)); };

// look notes what of a prompt is in view now. A layout that was not painted yet was not read: it only says whether the end is
// in view, so that a short prompt has its button at once.
export function look(one, asked, painted) {
  const width = asked.clientWidth, box = asked.closest(".scroll-detail");
  if (!width || !box) return;
  const record = recordOf(one, width);
  if (record.seen || texts.has(textOf(one))) return;
  const { top, bottom } = box.getBoundingClientRect();
  const shown = !document.querySelector("dialog[open]");
  // Nobody reads a hidden tab. The half second begins again when it is shown.
  if (document.hidden) { painted = false; record.endSince = Infinity; }
  let all = true, last = -Infinity;
  asked.querySelectorAll("[data-part]").forEach((part, i) => {
    const box = part.getBoundingClientRect();
    const from = Math.max(0, top - box.top), to = Math.min(box.height, bottom - box.top);
    let ranges = record.parts.get(i) ?? [];
    if (shown && to > from && part.dataset.part !== "shut") ranges = cover(ranges, from, to);
    if (painted) record.parts.set(i, ranges);
    if (part.dataset.part !== "whole" || !covers(ranges, box.height)) all = false;
    last = Math.max(last, box.bottom);
  });
  const ends = all && shown && last <= bottom + 2 && last > top;
  if (clock() - record.endSince >= atEnd) { record.seen = true; keepText(one); } // until now, at least
  if (!ends) record.endSince = Infinity;
  else if (painted && record.endSince === Infinity) record.endSince = clock();
  record.inView = record.seen || ends;
}

// leave says that a prompt is not in the detail any more. Until now its end was in view, or look has said otherwise, unless
// the tab is hidden: look may not have learnt of that yet.
export function leave(one) {
  const record = records.get(one);
  if (!record || record.seen) return;
  if (!document.hidden && clock() - record.endSince >= atEnd) { record.seen = record.inView = true; keepText(one); }
  else Object.assign(record, { endSince: Infinity, inView: false });
}

// isSeen reports whether a prompt was read to its end.
export function isSeen(one) {
  const asked = detail()?.dataset.handle === one.handle && detail().querySelector(".asked");
  if (asked) look(one, asked, false);
  return wasRead(one);
}

// readsToEnd reports whether all of the prompt in the detail is in view, or was: its button says "Allow" then.
export const readsToEnd = one => recordNow(one)?.inView || wasRead(one);

// nextUnread returns the first part that was not in view yet, with how far down it is unread.
export function nextUnread(one, asked) {
  const record = records.get(one);
  for (const [i, part] of [...asked.querySelectorAll("[data-part]")].entries()) {
    const ranges = record?.parts.get(i) ?? [], height = part.getBoundingClientRect().height;
    if (covers(ranges, height)) continue;
    return { part, from: ranges[0]?.[0] <= 2 ? ranges[0][1] : 0 };
  }
  return null;
}
