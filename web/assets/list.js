// The list of pending requests. Only the rows on the screen are in the document.

import { html, useEffect, useLayoutEffect, useReducer, useRef } from "./vendor/htm-preact-standalone-3.1.1.js";
import { settings } from "./api.js";
import { Bulk } from "./bulk.js";
import { GetTold } from "./get_told.js";
import { scrolled, shifted } from "./guard.js";
import { endOf, layout } from "./groups.js";
import { awake, changed, inbox, onFits, open } from "./inbox.js";
import { marked, plain } from "./marks.js";
import { query } from "./route.js";
import { Row } from "./row.js";
import { SearchWhole } from "./search_whole.js";
import { groupedBy, groups as groupsNow, joinsRow, mergesCalls, place, rowIndex, searched } from "./shown.js";

const beyond = 400; // pixels of rows that are drawn above and below the screen

export const rowHeight = () => settings.get("compact") === "on" ? 32 : 52;

function Decided({ current, height }) {
  const list = inbox.decided.map(handle => inbox.prompts.get(handle)).filter(Boolean);
  if (list.length === 0) return null;
  return html`<div class="decided"><h2 class="group">Decided just now</h2>
    <ul aria-label="Decided just now" style=${{ height: list.length * height + "px" }}>${list.map((one, i) => html`<${Row} key=${one.handle} one=${one} top=${i * height} position=${i + 1} total=${list.length} current=${one.handle === current} list=${[]} />`)}</ul></div>`;
}

// Snoozed are the prompts that the person has put off: each comes back by itself.
function Snoozed({ current, height }) {
  const list = open().filter(one => one.snoozedUntilMs).sort((a, b) => a.snoozedUntilMs - b.snoozedUntilMs);
  if (list.length === 0) return null;
  return html`<div class="decided"><h2 class="group"><span>Snoozed</span> <span class="n">${list.length}</span></h2>
    <ul aria-label="Snoozed" style=${{ height: list.length * height + "px" }}>${list.map((one, i) => html`<${Row} key=${one.handle} one=${one} top=${i * height} position=${i + 1} total=${list.length} current=${one.handle === current} list=${[]} />`)}</ul></div>`;
}

// useStill keeps the guard told about rows that moved under the pointer by themselves.
function useStill(rows, box) {
  const before = useRef(new Map());
  useLayoutEffect(() => {
    const now = new Map(rows.map(({ one, top }) => [one.handle, top]));
    const from = box.current?.scrollTop ?? 0, to = from + (box.current?.clientHeight ?? 0);
    for (const [handle, top] of now) {
      const was = before.current.get(handle);
      if (was !== top && top < to && top > from - 100) shifted(handle);
    }
    before.current = now;
  });
}

export function List({ current }) {
  const box = useRef(), [, measure] = useReducer(n => n + 1, 0);
  const words = query().get("q") ?? "", by = groupedBy(), groups = groupsNow(), height = rowHeight();
  const { headings, rows, height: whole, total } = layout(groups, by, height);
  const list = rows.map(({ one }) => one), chosen = list[rowIndex(list, current)]?.handle;
  useEffect(() => {
    let asked = false;
    const look = () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => { asked = false; measure(); });
    };
    const element = box.current, scroll = () => { scrolled(); look(); };
    element.addEventListener("scroll", scroll, { passive: true });
    addEventListener("resize", look);
    return () => { element.removeEventListener("scroll", scroll); removeEventListener("resize", look); };
  }, []);
  // What arrives joins its group where no row in view moves.
  useEffect(() => {
    onFits(one => {
      if (joinsRow(one)) return true;
      const now = { groups: groupsNow(), by: groupedBy(), rowHeight: rowHeight() }, element = box.current;
      if (!element?.clientHeight) return true;
      const end = endOf(one, now), after = layout(now.groups, now.by, now.rowHeight).height;
      return end >= after || end >= element.scrollTop + element.clientHeight;
    });
    return () => onFits();
  }, []);
  useStill(rows, box);
  // The row that the focus goes to is brought into view.
  useLayoutEffect(() => {
    const wanted = place.wanted && rows[rowIndex(list, place.wanted)];
    place.wanted = "";
    if (!wanted || !box.current) return;
    const { scrollTop, clientHeight } = box.current, top = wanted.top - (by === "none" ? 0 : 28);
    if (top < scrollTop) box.current.scrollTop = top;
    else if (wanted.top + height > scrollTop + clientHeight) box.current.scrollTop = wanted.top + height - clientHeight;
  });

  const from = (box.current?.scrollTop ?? 0) - beyond, to = from + (box.current?.clientHeight || innerHeight) + 2 * beyond;
  const focused = document.activeElement?.closest?.(".row")?.dataset.handle;
  const drawn = rows.filter(({ one, top }) => top + height > from && top < to || one.handle === focused || one.handle === place.wanted);
  const heads = headings.filter(({ top }) => top + height > from && top < to);
  return html`<section class="pane" aria-label="Requests"><${GetTold} /><div class="scroll-list" ref=${box}>
    <div class="rows" style=${{ height: list.length > 0 ? whole + "px" : "auto" }}>
      ${heads.map(({ key, name, count, top }) => html`<h2 class="group" key=${"h" + key} style=${{ transform: `translateY(${top}px)` }}><span dir="auto" title=${plain(name)}>${marked(name)}</span> <span class="n">${count}</span></h2>`)}
      <ul class="list" aria-label="Waiting for you" tabindex="-1">${drawn.map(({ one, top, position }) =>
        html`<${Row} key=${mergesCalls(by) && one.row?.id || one.handle} one=${one} top=${top} position=${position} total=${total} current=${one.handle === chosen} list=${list} />`)}</ul>
      ${list.length === 0 && html`<p class="empty">${!inbox.complete ? "Loading…" : awake().length === 0 ? "All clear" : inbox.fresh.length > 0 ? "No matching requests among those shown." : "No matching requests."}</p>`}
    </div>${words && html`<${SearchWhole} list=${searched()} text=${words} onRead=${changed} />`}<${Snoozed} current=${current} height=${height} /><${Decided} current=${current} height=${height} /></div><${Bulk} /></section>`;
}
