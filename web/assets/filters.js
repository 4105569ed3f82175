// The bar above the list: search, kinds, groups, and the buttons for new and for settled requests.

import { html, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { settings } from "./api.js";
import { groupings } from "./groups.js";
import { composes } from "./guard.js";
import { Icon } from "./icons.js";
import { awake, clearSettled, inbox, settledCount, showFresh } from "./inbox.js";
import { marked } from "./marks.js";
import { setQuery, typeQuery } from "./route.js";
import { longestSearch } from "./search.js";
import { groupedBy, place, rowIndex, visible } from "./shown.js";

// another looks at another list: what was settled is not in it, and what is new is.
const another = () => { if (inbox.fresh.length > 0) showFresh(); else clearSettled(); };
const filter = change => { another(); setQuery(change, true); };

const kinds = [["", "All"], ["approval", "Approvals"], ["question", "Questions"]];
const orders = [["", "Most urgent"], ["oldest", "Oldest"], ["newest", "Newest"]];

function toList(event) {
  if (composes(event) || event.key !== "ArrowDown" && event.key !== "Enter" && event.key !== "Escape") return;
  event.preventDefault();
  const list = visible(), one = list[Math.max(0, rowIndex(list, place.handle))];
  (document.getElementById("prompt-" + one?.handle) ?? document.querySelector(".list"))?.focus();
}

export function Filters({ params }) {
  const [searching, search] = useState(!!params.get("q"));
  const all = awake(), fresh = inbox.fresh.length, settled = settledCount();
  const count = kind => kind ? all.filter(one => one.kind === kind).length : all.length;
  const select = (label, value, options, change) => html`<label class=${"select by-" + label.toLowerCase()}><span>${label}</span><select onChange=${e => change(e.target.value)}>
    ${options.map(([name, text]) => html`<option value=${name} selected=${value === name}>${text}</option>`)}</select></label>`;
  const group = by => { settings.set("group", by); filter({ group: by }); };
  return html`<div class=${"filters" + (searching ? " searching" : "")}>
    <label class="search"><span class="sr">Filter</span><${Icon} name="search" /><input type="search" placeholder="Search or filter" maxlength=${longestSearch} value=${params.get("q") ?? ""} onInput=${e => { another(); typeQuery({ q: e.target.value }); }} onKeyDown=${toList} /></label>
    <button class="quiet only-narrow" aria-pressed=${String(searching)} onClick=${() => { search(!searching); if (searching) filter({ q: "" }); }}>${searching ? "Close search" : html`<${Icon} name="search" /><span class="sr">Search</span>`}</button>
    <div class="tabs" role="group" aria-label="Kind">${kinds.map(([kind, label]) => html`<button class="tab" aria-pressed=${String((params.get("kind") ?? "") === kind)} onClick=${() => filter({ kind })}>${label} <span class="n">${count(kind)}</span></button>`)}</div>
    ${params.get("agent") && html`<button class="tab" onClick=${() => filter({ agent: "" })}>Agent: ${marked(params.get("agent"))} ✕</button>`}
    ${select("Group", groupedBy(), groupings, group)}
    ${select("Sort", params.get("sort") ?? "", orders, sort => filter({ sort }))}
    <div class="tidy">${fresh > 0 && html`<button class="fresh" onClick=${showFresh}>${fresh} new</button>`}${settled > 0 && html`<button class="quiet" onClick=${() => clearSettled()}>Clear ${settled}</button>`}</div></div>`;
}
