// The keys of the page. They act on the prompt in the detail while it, or its row, has the focus.

import { mayDecide } from "./api.js";
import { allow, canDecide, denies, deny, form, mayEdit } from "./approval.js";
import { asksForAll } from "./ask_same.js";
import { act, composes, dropsKey, focusedByKey, isField, focusedPrompt, noteFocus, noteKey, notePointer, returned, steady } from "./guard.js";
import { copied } from "./clipboard.js";
import { changed, inbox, nowMs } from "./inbox.js";
import { look } from "./looking.js";
import { chooseByKey } from "./question.js";
import { go, query, setQuery } from "./route.js";
import { selectAll, selectCalls, selectRange } from "./row.js";
import { isNarrow } from "./screen.js";
import { callsInRow, detail, focusPrompt, keepFocus, nextOpen, noteReading, openCalls, openHandle, place, rowIndex, showPrompt, visible } from "./shown.js";
import { toggleSnooze } from "./snooze.js";
import { say } from "./toast.js";
import { takeBack } from "./undo.js";

async function copyLink(one) {
  const link = `${location.origin}/?prompt=${encodeURIComponent(one.handle)}`;
  say(await copied(link) ? "Link copied" : "The browser did not copy the link");
}

function moveTo(one) {
  if (!one) return;
  focusedByKey();
  focusPrompt(one, "key");
}

function move(step) {
  const list = visible(), at = rowIndex(list, place.handle);
  const inside = document.activeElement?.closest?.("[data-handle]");
  moveTo(list[at < 0 ? 0 : Math.max(0, Math.min(list.length - 1, at + (inside ? step : 0)))]);
}

// moveAmongBoxes moves the focus in a list of options of which several may be chosen. Among radio buttons the browser does.
function moveAmongBoxes(active, step) {
  const list = active.matches("input[type=checkbox]") && active.closest(".options");
  if (!list) return false;
  const boxes = [...list.querySelectorAll("input[type=checkbox]")];
  boxes.at((boxes.indexOf(active) + step) % boxes.length).focus();
  return true;
}

function select(one, event) {
  act("bulk");
  if (event.shiftKey && inbox.selectedLast) selectRange(visible(), inbox.selectedLast, one.handle);
  else selectCalls(one, !openCalls(one).every(other => inbox.selected.has(other.handle)));
  inbox.selectedLast = one.handle;
  changed();
}

const places = { i: "/", h: "/history", r: "/rules", s: "/settings" };
let went = -Infinity; // when "g" was pressed

// isPalette reports whether a key opens the palette. It works in fields as well.
const isPalette = event => (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";

export function keys(event, help, palette) {
  const active = document.activeElement;
  if (isPalette(event) && !document.querySelector("dialog[open]")) { event.preventDefault(); palette(); return; }
  if (dropsKey(event, active)) { event.preventDefault(); return; }
  if (event.altKey || composes(event) || isField(event.target) || isField(active) || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  // A key that comes while nothing has the focus was meant for something that is gone.
  if (!active?.closest?.("#main, header")) { keepFocus(); return; }
  if (event.ctrlKey || event.metaKey) {
    // With Caps Lock on it is "A"; with Shift the key is the browser's.
    if (event.key.toLowerCase() === "a" && !event.shiftKey && location.pathname === "/" && active.closest(".list")) { selectAll(); event.preventDefault(); }
    return;
  }
  if (performance.now() < went + 1000) {
    went = -Infinity;
    if (places[event.key]) { go(places[event.key]); event.preventDefault(); return; }
  }
  const at = active.closest("[data-handle]")?.dataset.handle;
  // On a narrow page letters act in an opened prompt alone; on a wide one the row with the focus is the one in the detail.
  const one = at && at === openHandle() ? inbox.prompts.get(at) : undefined;
  const open = one && !one.resolution && !one.sending;
  const approval = open && one.kind === "approval";
  // A request that cannot be drawn has the focus in its row, and the detail does not show it.
  const shown = one && detail()?.dataset.handle === at;
  const aimed = () => shown && canDecide(one) && steady(one.handle, event);
  const listed = location.pathname === "/"; // other pages show other lists
  const choice = active.matches("input[type=radio], input[type=checkbox]") && !active.closest(".row");
  switch (event.key) {
    case "j": if (!listed) return; move(1); break;
    case "k": if (!listed) return; move(-1); break;
    case "ArrowDown": if (moveAmongBoxes(active, 1)) break; if (!listed || !active.closest(".list, .row")) return; move(1); break;
    case "ArrowUp": if (moveAmongBoxes(active, -1)) break; if (!listed || !active.closest(".list, .row")) return; move(-1); break;
    case "n": if (!listed) return; moveTo(nextOpen(place.handle)); break;
    case "o": if (!listed) return; if (at && inbox.prompts.has(at)) showPrompt(inbox.prompts.get(at), "key", true); break;
    case "g": went = performance.now(); break;
    case "/": document.querySelector("input[type=search]")?.focus(); break;
    case "?": help(); break;
    case "u": if (query().get("prompt") && isNarrow()) setQuery({ prompt: "" }); else if (location.pathname !== "/") go("/"); break;
    case "c": if (one) void copyLink(one); break;
    case "a": if (approval && shown && !choice) allow(one, event); break;
    case "d": if (approval && aimed()) denies(one, true); break;
    case "D":
      if (!approval || !aimed()) break;
      // With Caps Lock on it may be "d", and the letters of the reason follow.
      if (event.getModifierState("CapsLock")) denies(one, true);
      else if (!asksForAll(one, "deny")) deny(one, event);
      break;
    case "e": if (approval && one.barred === "" && mayEdit(one) && aimed()) form(one, "edit"); break;
    case "r": if (approval && aimed()) form(one, "rule"); break;
    case "z": takeBack(); break;
    case "s": if (open && !event.repeat && !choice && mayDecide() && !one.snoozedUntilMs) toggleSnooze(one, true); break;
    case "l": if (open && !event.repeat && !choice) void look(one, nowMs()); break;
    case "x": case "X":
      if (!approval || event.repeat) return;
      select(one, event);
      break;
    default:
      if (!open || !shown || one.kind !== "question" || !/^[1-9]$/.test(event.key) || !chooseByKey(one, Number(event.key), active)) return;
  }
  event.preventDefault();
}

// followFocus keeps the focus in the page, and knows where it was. On a wide page a row that gets the focus opens.
export function followFocus() {
  let pointing = false;
  addEventListener("focusin", event => {
    noteFocus(event.target);
    noteReading(event.target);
    const handle = location.pathname === "/" && event.target.closest?.("[data-handle]")?.dataset.handle;
    if (!handle) return;
    // A row stands for the call that is open, also until it is drawn with it.
    const inRow = callsInRow(inbox.prompts.get(handle) ?? {}).some(one => one.handle === place.handle && !one.resolution);
    const moved = handle !== place.handle && !inRow;
    if (moved) focusedPrompt(handle);
    if (!moved) return;
    const one = inbox.prompts.get(handle);
    if (one && !isNarrow() && event.target.closest(".row")) showPrompt(one, pointing ? "click" : "key");
    else place.handle = handle;
  });
  addEventListener("focusout", () => setTimeout(() => { if (document.hasFocus()) { noteFocus(document.activeElement); keepFocus(); } }));
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") returned(); });
  addEventListener("keydown", event => { pointing = false; noteKey(event); }, { capture: true });
  addEventListener("pointerdown", () => { pointing = true; notePointer(); }, { capture: true });
}
