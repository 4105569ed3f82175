// Which prompts the list shows, and which of them has the focus.

import { focusedByPage } from "./guard.js";
import { changed, inbox } from "./inbox.js";
import { query } from "./route.js";

// visible returns the prompts that fit the filters, in the order of the list. The one that the address opens is
// always among them.
export function visible(params = query()) {
  const words = (params.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const agent = params.get("agent"), kind = params.get("kind"), opened = params.get("prompt");
  return inbox.order.map(handle => inbox.prompts.get(handle)).filter(one => one && (one.handle === opened
    || (!agent || one.agent === agent) && (!kind || one.kind === kind) && words.every(word => one.text.includes(word))));
}

// nextOpen returns the next undecided prompt after one, else the first, else none.
export function nextOpen(handle) {
  const list = visible(), at = list.findIndex(one => one.handle === handle);
  return list.slice(at + 1).find(one => !one.resolution) ?? list.find(one => !one.resolution);
}

// place is the prompt that has the focus, or had it last. wanted is rendered although it is out of view.
export const place = { handle: "", wanted: "" };

// focusPrompt gives a prompt the focus; brings says that the list is scrolled to it.
export function focusPrompt(one, brings) {
  place.wanted = one.handle;
  changed();
  const focus = () => {
    const element = document.getElementById("prompt-" + one.handle);
    element?.focus({ preventScroll: true });
    if (brings) element?.scrollIntoView({ block: "nearest", behavior: "instant" });
    return element;
  };
  // At once where it is in the document: the next key is for it.
  if (!focus()) setTimeout(focus);
}

// keepFocus gives the focus back to the list when it has fallen out of the page.
export function keepFocus() {
  if (document.activeElement !== document.body && document.activeElement !== null) return;
  if (document.querySelector("dialog[open]")) return;
  const back = document.getElementById("prompt-" + place.handle) ?? document.querySelector(".list") ?? document.getElementById("main");
  back?.focus({ preventScroll: true });
  focusedByPage();
}
