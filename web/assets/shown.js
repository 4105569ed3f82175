// Which prompts the list shows, in which order, and which of them is open in the detail.

import { settings } from "./api.js";
import { focusedByPage } from "./guard.js";
import { grouped, groupings } from "./groups.js";
import { changed, inbox, onSettledElsewhere } from "./inbox.js";
import { onRoute, query, setQuery, typeQuery } from "./route.js";
import { leadOf } from "./same_call.js";
import { isNarrow } from "./screen.js";
import { hasAll, wordsOf } from "./search.js";

export function groupedBy() {
  const asked = query().get("group") ?? settings.get("group");
  return groupings.some(([name]) => name === asked) ? asked : "agent";
}

// filterOf returns what reports whether a request fits the filters of the address.
export function filterOf(params) {
  const agent = params.get("agent"), kind = params.get("kind"), words = wordsOf(params.get("q") ?? "");
  return one => !one.snoozedUntilMs && (!agent || one.agent === agent) && (!kind || one.kind === kind) && hasAll(one, words);
}

// searched returns the prompts among which words are searched: those that fit the other filters.
export function searched() {
  const params = query();
  params.delete("q");
  const fits = filterOf(params);
  return inbox.order.map(handle => inbox.prompts.get(handle)).filter(one => one && !one.resolution && fits(one));
}

// mergesCalls reports whether equal calls share a row. Who groups by session, or by call, looks at each call by itself.
export const mergesCalls = by => by === "agent" || by === "none";

// callsInRow returns the calls that share a row in the list as it is shown, settled ones too.
export function callsInRow(one) {
  if (!(one.row?.members.length > 1) || !mergesCalls(groupedBy())) return [one];
  const fits = filterOf(query()), members = one.row.members.filter(other => !inbox.fresh.includes(other.handle) && !inbox.decided.includes(other.handle) && fits(other));
  return members.includes(one) ? members : [one];
}
// openCalls returns those of them that can still be decided.
export const openCalls = one => callsInRow(one).filter(other => !other.resolution);

// groups returns the prompts that fit the filters, by group: one for each row, in the place of its first call.
export function groups() {
  const by = groupedBy(), fits = filterOf(query()), list = inbox.order.map(handle => inbox.prompts.get(handle)).filter(one => one && fits(one));
  if (!mergesCalls(by)) return grouped(list, by);
  const known = new Set();
  const firsts = list.filter(({ row }) => !row || row.members.length === 1 || !known.has(row) && known.add(row));
  return grouped(firsts, by).map(group => ({ ...group, list: group.list.map(one => one.row?.members.length > 1 ? leadOf(one.row, callsInRow(one), place.handle) : one) }));
}
// visible returns them as they stand in the list.
export const visible = () => groups().flatMap(group => group.list);
// rowIndex finds the row of a prompt in such a list.
export const rowIndex = (list, handle) => {
  const row = inbox.prompts.get(handle)?.row, at = list.findIndex(one => one.handle === handle);
  return at >= 0 || !row ? at : list.findIndex(one => one.row === row && callsInRow(one).some(other => other.handle === handle));
};
// joinsRow reports whether a prompt that arrives adds to a row that is shown.
export const joinsRow = one => openCalls(one).length > 1;

// nextOpen returns the next undecided prompt after one, else the first, else none.
export function nextOpen(handle) {
  const list = visible(), at = rowIndex(list, handle);
  if (list[at] && list[at].handle !== handle && !list[at].resolution) return list[at]; // the rest of its row
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
  const asked = location.pathname === "/" && query().get("prompt");
  if (asked && asked !== place.handle) Object.assign(place, { handle: asked, wanted: asked, cause: "page" });
}
onRoute(readAddress);
readAddress();

// showPrompt opens a prompt in the detail. adds says that Back comes back from it.
export function showPrompt(one, cause, adds = false) {
  Object.assign(place, { handle: one.handle, wanted: one.handle, cause });
  if (isNarrow() || adds) setQuery({ prompt: one.handle }, !adds);
  else if (location.pathname === "/" && query().get("prompt") !== one.handle) typeQuery({ prompt: one.handle });
  changed();
}

export function rowOf(handle) {
  const one = inbox.prompts.get(handle), lead = one?.row?.lead;
  return document.getElementById("prompt-" + handle) ?? (lead && callsInRow(one).includes(lead) ? document.getElementById("prompt-" + lead.handle) : null);
}
export const detail = () => document.getElementById("detail");

// focusPrompt opens a prompt and gives it the focus: its row, or on a narrow page the prompt itself.
export function focusPrompt(one, cause, adds) {
  if (isNarrow() && !query().get("prompt") && !adds) place.handle = place.wanted = one.handle; // moves in the list alone
  else showPrompt(one, cause, adds);
  changed();
  const focus = () => {
    const inDetail = isNarrow() && query().get("prompt"), element = inDetail ? detail() : rowOf(one.handle);
    if (!element || inDetail && element.dataset.handle !== one.handle) return false;
    element.focus({ preventScroll: true });
    return true;
  };
  // At once where it is in the document: the next key is for it.
  if (!focus()) setTimeout(focus);
}

// reading is the prompt in whose text the focus is. A button there may be gone after its press, such as "Show all".
let reading = "";
export const noteReading = element => { reading = element.closest?.(".scroll-detail")?.closest("[data-handle]").dataset.handle ?? ""; };

// keepFocus gives the focus back when it has fallen out of the page.
export function keepFocus() {
  if (document.activeElement !== document.body && document.activeElement !== null) return;
  if (document.querySelector("dialog[open]")) return;
  const text = reading && detail()?.dataset.handle === reading && detail().querySelector(".scroll-detail");
  const back = text || (isNarrow() && detail()) || rowOf(place.handle) || document.querySelector(".list") || document.getElementById("main");
  back?.focus({ preventScroll: true });
  focusedByPage();
}

// Where somebody else settles the call that stands for a row, the detail goes on with the next call of the row: it
// says the same. A form that is open stays, with the outcome.
onSettledElsewhere(one => {
  if (openHandle() !== one.handle || one.form) return;
  const next = openCalls(one)[0];
  if (!next) return;
  Object.assign(place, { handle: next.handle, cause: "page" });
  if (location.pathname === "/" && query().get("prompt") === one.handle) setQuery({ prompt: next.handle }, true);
});
