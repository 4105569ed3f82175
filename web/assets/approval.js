// What a person does with one approval: read on, allow, deny, open a form.

import { looksOnly } from "./api.js";
import { asksForAll } from "./ask_same.js";
import { decide, whole } from "./decide.js";
import { act, composes, decided, focusedByPage, opens, shifted, steady } from "./guard.js";
import { changed, drafts, inbox } from "./inbox.js";
import { sensitive } from "./kept.js";
import { isSeen, nextUnread, readsToEnd, scroller } from "./seen.js";
import { detail, openHandle } from "./shown.js";
import { say, unsay } from "./toast.js";

export const bytes = one => one.request.input_bytes ?? new TextEncoder().encode(one.request.input?.text ?? "").length;

export const canDecide = one => inbox.connection !== "offline" && !one.resolution && !one.sending && !looksOnly();
// isOver says that a form takes nothing more: its fields stay, so that nobody types into the page instead.
export const isOver = one => !!(one.resolution || one.sending);

// unfold shows all of a prompt's texts.
export async function unfold(one) {
  act(one.handle);
  try {
    const late = one.request.input_truncated;
    await whole(one);
    if (late) shifted(one.handle);
    one.unfolded = true;
  } catch (error) { one.error = error.message; }
  changed();
}

// readOn goes to the first part of a prompt that was not read yet.
export async function readOn(one) {
  one.level = one.shut = undefined;
  await unfold(one);
  requestAnimationFrame(() => {
    const box = scroller(), asked = box?.querySelector(".asked");
    if (!asked || detail()?.dataset.handle !== one.handle) return;
    const { top, height } = box.getBoundingClientRect(), next = nextUnread(one, asked);
    const to = next ? next.part.getBoundingClientRect().top + next.from - top : asked.getBoundingClientRect().bottom - top - height / 2;
    box.scrollBy({ top: to - 8, behavior: "instant" });
  });
}

const tooSoon = "Not allowed yet. Read it, then press again.";

// allow allows the prompt that is open and was read to its end, by a press that was aimed at it.
export function allow(one, event, more = {}, others = []) {
  if (!canDecide(one) || one.barred !== "" || openHandle() !== one.handle) return;
  if (!readsToEnd(one)) { void readOn(one); return; }
  if (!steady(one.handle, event)) return;
  if (!isSeen(one)) { say(tooSoon); return; } // a short one has its button at once
  unsay(tooSoon);
  if (Object.keys(more).length === 0 && asksForAll(one, "allow")) return;
  decided();
  void decide([one], { behavior: "allow", ...more }, others);
}

// denies opens the form that takes a reason, or the dialog where other sessions wait for the same call.
export function denies(one, writes) {
  if (asksForAll(one, "deny")) return;
  one.writes = writes;
  form(one, "deny");
}

// deny denies the prompt that is open.
export function deny(one, event, more = {}) {
  if (!canDecide(one) || openHandle() !== one.handle || !steady(one.handle, event)) return;
  decided();
  void decide([one], { behavior: "deny", ...more });
}

// A draft is what somebody has typed about a prompt and not sent yet. It survives a reload, and after that a decision
// of somebody else.
export function draftOf(one, name, initial) {
  const kept = one.drafts?.[name] ?? drafts.get(`${one.handle}:${name}`);
  if (kept !== null) (one.drafts ??= {})[name] = kept;
  return kept ?? initial;
}
export function keepDraft(one, name, value) {
  if (isOver(one)) return;
  (one.drafts ??= {})[name] = value;
  if (!sensitive(one)) drafts.set(`${one.handle}:${name}`, value);
  changed();
}

// The schema false refuses every edit.
export const mayEdit = ({ request }) => request.input_schema?.node.value !== false;

export function form(one, name) {
  opens(one.handle);
  one.form = one.form === name ? "" : name;
  changed();
}

// back closes a form; the focus goes back to where keys act. A key that comes with the Escape was meant for the text: "a" would
// allow the input as it was.
export function back(one) {
  form(one, "");
  detail()?.focus({ preventScroll: true });
  focusedByPage();
}
export const closes = one => event => {
  if (composes(event) || event.key !== "Escape" || one.resolution) return;
  event.stopPropagation();
  back(one);
};
