// The keys of the page. They act on the prompt that has the focus, and on no other.

import { allow, canDecide, form } from "./approval.js";
import { act, dropsKey, focusedByKey, isField, focusedPrompt, noteFocus, noteKey, notePointer, returned, steady } from "./guard.js";
import { changed, inbox } from "./inbox.js";
import { go, query, setQuery } from "./route.js";
import { focusPrompt, keepFocus, place, visible } from "./shown.js";

function move(step) {
  const list = visible(), at = list.findIndex(one => one.handle === place.handle);
  const target = list[at < 0 ? 0 : Math.max(0, Math.min(list.length - 1, at + (document.activeElement?.closest?.("[data-handle]") ? step : 0)))];
  if (!target) return;
  focusedByKey();
  focusPrompt(target, true);
}

export function keys(event, help) {
  const active = document.activeElement;
  if (dropsKey(event, active)) { event.preventDefault(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isField(event.target) || isField(active) || event.defaultPrevented) return;
  // A key that comes while nothing has the focus was meant for something that is gone.
  if (!active?.closest?.("#main, header")) { keepFocus(); return; }
  const one = inbox.prompts.get(active.closest("li[data-handle]")?.dataset.handle);
  const open = one && !one.resolution && !one.sending;
  const approval = open && one.kind === "approval";
  switch (event.key) {
    case "j": move(1); break;
    case "k": move(-1); break;
    case "/": document.querySelector("input[type=search]")?.focus(); break;
    case "?": help(); break;
    case "u": if (query().get("prompt")) setQuery({ prompt: "" }); else if (location.pathname !== "/") go("/"); break;
    case "a": if (approval) allow(one, event); break;
    case "d": if (approval && canDecide(one) && steady(one.handle, event)) form(one, "deny"); break;
    case "e": if (approval && canDecide(one) && one.barred === "" && steady(one.handle, event)) form(one, "edit"); break;
    case "r": if (approval && canDecide(one) && steady(one.handle, event)) form(one, "remember"); break;
    case "x":
      if (!approval || event.repeat) return;
      act("bulk");
      if (!inbox.selected.delete(one.handle)) inbox.selected.add(one.handle);
      changed();
      break;
    default: return;
  }
  event.preventDefault();
}

// followFocus keeps the focus in the page, and knows where it was.
export function followFocus() {
  addEventListener("focusin", event => {
    noteFocus(event.target);
    const handle = event.target.closest?.("[data-handle]")?.dataset.handle;
    if (handle && handle !== place.handle) { place.handle = handle; focusedPrompt(handle); }
  });
  addEventListener("focusout", () => setTimeout(() => { if (document.hasFocus()) { noteFocus(document.activeElement); keepFocus(); } }));
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") returned(); });
  addEventListener("keydown", noteKey, { capture: true });
  addEventListener("pointerdown", notePointer, { capture: true });
}
