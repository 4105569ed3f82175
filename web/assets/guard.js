// When a press counts. A decision is about the prompt that the person aimed at: what has just moved, changed
// or got the focus by itself takes no decision yet. What is pressed then is dropped.

const afterMove = 600; // ms after something moved or changed under the pointer by itself
const afterDecision = 300; // a double click never reaches the next prompt
const afterScroll = 200;
const afterFocus = 200; // after a key that moved the focus
const ownAct = 150; // how long a change counts as the effect of the person's own act
const afterTyping = 1000; // without a key, after a field was lost while somebody typed

export const clock = () => performance.now();

const moved = new Map(); // by handle: {until, painting}, when its prompt may be aimed at again
const acted = new Map(); // by handle: when the person last opened or closed something in it
let everywhere = 0, decidedAt = -Infinity, scrolledAt = -Infinity, focusedAt = -Infinity, pageFocusUntil = -Infinity;

// painted calls back when what was just changed can have been seen.
function painted(then) {
  let called = false;
  const once = () => { if (!called) { called = true; then(); } };
  if (globalThis.requestAnimationFrame) requestAnimationFrame(() => requestAnimationFrame(once));
  setTimeout(once, 250);
}

// shifted says that the page moved or changed a prompt. The longest of several holds counts.
export function shifted(handle, forMs = afterMove) {
  const hold = moved.get(handle) ?? { until: 0, painting: 0 };
  moved.set(handle, hold);
  hold.painting++;
  painted(() => { hold.painting--; hold.until = Math.max(hold.until, clock() + forMs); });
}

// inPlace reports whether a prompt has been where it is for long enough.
function inPlace(handle, now) {
  const hold = moved.get(handle);
  return now >= everywhere && now >= scrolledAt + afterScroll && (!hold || hold.painting === 0 && now >= hold.until);
}

// shiftedAll says so of everything, for example when something that lay over the page is gone.
export const shiftedAll = (forMs = afterMove) => { everywhere = Math.max(everywhere, clock() + forMs); };

// act says that the person opened or closed something in a prompt: its change surprises nobody.
export const act = handle => { acted.set(handle, clock()); };
// opens says so of something with buttons: the second half of a double click does not reach them.
export const opens = handle => { act(handle); shifted(handle, afterDecision); };
export const resized = (handle, forMs) => { if (!ownSince(handle)) shifted(handle, forMs); };
export const ownSince = handle => clock() - (acted.get(handle) ?? -Infinity) <= ownAct;

// returned says that the tab is looked at again.
export const returned = () => { shiftedAll(); focusedByPage(afterMove); };

export const decided = () => { decidedAt = clock(); };
export const scrolled = () => { scrolledAt = clock(); };
export const focusedByKey = () => { focusedAt = clock(); };
export const focusedByPage = (forMs = afterDecision) => { pageFocusUntil = Math.max(pageFocusUntil, clock() + forMs); };
export const forget = handle => { moved.delete(handle); acted.delete(handle); };

// isKey tells a press by the keyboard from one by assistive technology, which comes without a key.
const lastKey = { key: "", at: -Infinity };
const isKey = (event, now) => event?.type === "keydown" || now - lastKey.at < 50 && (lastKey.key === "Enter" || lastKey.key === " ") && (event?.type === "submit" || event?.detail === 0);
// noteKey is told of each key before its element: a form that Escape closes keeps the key from the page.
export function noteKey(event) {
  Object.assign(lastKey, { key: event.key, at: clock() });
  if (typing.field && event.target === typing.field) typing.last = composes(event) ? "" : event.key;
}
// focusedPrompt is told when another prompt gets the focus. A pointer that met a prompt which had just moved
// aimed at another one, so keys wait as presses do.
export function focusedPrompt(handle) {
  const now = clock();
  if (now - lastKey.at < 50) focusedByKey();
  else if (!inPlace(handle, now)) focusedByPage(afterMove);
}

// steady reports whether a press on a prompt counts. A click without a pointer, by Enter or by assistive
// technology, is aimed at an element and not at a place.
export function steady(handle, event) {
  const now = clock();
  if (now < decidedAt + afterDecision || now < pageFocusUntil) return false;
  if (isKey(event, now)) return !event.repeat && now >= focusedAt + afterFocus;
  if (!event || event.type !== "click" || event.detail === 0) return true;
  return inPlace(handle, now);
}

// composes reports whether a key belongs to an input method: Enter takes what it offers, arrows choose, Escape drops it.
// Safari says so only by the code.
export const composes = event => event.isComposing || event.keyCode === 229;

// typing follows text fields: letters that are typed on after a field was lost are not keys of the page.
const typing = { field: null, last: "", until: -Infinity };
const leaves = new Set(["Tab", "Escape", "Enter", "pointer"]);
export const isField = element => !!element?.matches?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");

function lost() {
  if (!typing.field) return;
  if (!leaves.has(typing.last)) typing.until = clock() + afterTyping;
  typing.field = null;
}

export function noteFocus(element) {
  if (element === typing.field) return;
  lost();
  if (isField(element)) Object.assign(typing, { field: element, last: "" });
}
export const notePointer = () => { typing.last = "pointer"; };

// isTyping reports whether a field has the focus, or had it a moment ago: what is typed on was meant for that one.
export const isTyping = () => !!typing.field || clock() < typing.until;

// dropsKey is asked about each key first: it reports whether the key is still part of what is typed into a
// field that is gone.
export function dropsKey(event, active) {
  if (typing.field && active !== typing.field) lost();
  if (typing.field) return false;
  const now = clock();
  if (now >= typing.until) return false;
  if (event.key.length === 1) typing.until = now + afterTyping;
  return event.key.length === 1;
}
