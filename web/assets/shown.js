// Which prompts the list shows, in which order, and which of them is open in the detail.

import { settings } from "./api.js";
import { focusedByPage } from "./guard.js";
import { grouped, groupings } from "./groups.js";
import { changed, inbox } from "./inbox.js";
import { onRoute, query, setQuery } from "./route.js";
import { isNarrow } from "./screen.js";

export function groupedBy() {
  const asked = query().get("group") ?? settings.get("group");
  return groupings.some(([name]) => name === asked) ? asked : "agent";
}

export const fits = (one, params = query()) => {
  const words = (params.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const agent = params.get("agent"), kind = params.get("kind");
  return (!agent || one.agent === agent) && (!kind || one.kind === kind) && words.every(word => one.text.includes(word));
};

// groups returns the prompts that fit the filters, by group.
export const groups = () => grouped(inbox.order.map(handle => inbox.prompts.get(handle)).filter(one => one && fits(one)), groupedBy());
// visible returns them as they stand in the list.
export const visible = () => groups().flatMap(group => group.list);

// nextOpen returns the next undecided prompt after one, else the first, else none.
export function nextOpen(handle) {
  const list = visible(), at = list.findIndex(one => one.handle === handle);
  return list.slice(at + 1).find(one => !one.resolution) ?? list.find(one => !one.resolution);
}

// place is the prompt that has, or had, the focus: on a wide page it is the one in the detail. wanted is brought into
// view. cause says who opened it: "click", "key", or "page" by itself.
export const place = { handle: "", wanted: "", cause: "page" };

// openHandle returns the prompt in the detail, "" when there is none.
export function openHandle() {
  if (isNarrow()) return query().get("prompt") ?? "";
  if (!place.handle) {
    const list = visible();
    const first = list.find(one => !one.resolution) ?? list[0];
    if (first) Object.assign(place, { handle: first.handle, cause: "page" });
  }
  return place.handle;
}

function readAddress() {
  const asked = query().get("prompt");
  if (asked && asked !== place.handle) Object.assign(place, { handle: asked, wanted: asked, cause: "page" });
}
onRoute(readAddress);
readAddress();

// The address follows the focus a little later: a browser takes few changes a second.
let following;
const follow = () => {
  clearTimeout(following);
  following = setTimeout(() => { if (location.pathname === "/" && !isNarrow() && place.handle && query().get("prompt") !== place.handle) setQuery({ prompt: place.handle }, true); }, 250);
};

// showPrompt opens a prompt in the detail. adds says that Back comes back from it.
export function showPrompt(one, cause, adds = false) {
  Object.assign(place, { handle: one.handle, wanted: one.handle, cause });
  if (isNarrow() || adds) setQuery({ prompt: one.handle }, !adds);
  else follow();
  changed();
}

export const rowOf = handle => document.getElementById("prompt-" + handle);
export const detail = () => document.getElementById("detail");

// focusPrompt opens a prompt and gives it the focus: its row, or on a narrow page the prompt itself.
export function focusPrompt(one, cause, adds) {
  if (isNarrow() && !query().get("prompt") && !adds) place.handle = place.wanted = one.handle; // moves in the list alone
  else showPrompt(one, cause, adds);
  changed();
  const focus = () => {
    const element = isNarrow() && query().get("prompt") ? detail() : rowOf(one.handle);
    if (element?.dataset.handle !== one.handle) return false;
    element.focus({ preventScroll: true });
    return true;
  };
  // At once where it is in the document: the next key is for it.
  if (!focus()) setTimeout(focus);
}

// keepFocus gives the focus back when it has fallen out of the page.
export function keepFocus() {
  if (document.activeElement !== document.body && document.activeElement !== null) return;
  if (document.querySelector("dialog[open]")) return;
  const back = (isNarrow() && detail()) || rowOf(place.handle) || document.querySelector(".list") || document.getElementById("main");
  back?.focus({ preventScroll: true });
  focusedByPage();
}
