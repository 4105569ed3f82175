// The bar above the list: search, kinds, agents, groups, and the buttons for new and for settled requests.

import { html, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { settings } from "./api.js";
import { groupings, nameOfAgent } from "./groups.js";
import { composes } from "./guard.js";
import { Icon } from "./icons.js";
import { awake, clearSettled, inbox, settledCount, showFresh } from "./inbox.js";
import { marked, plain } from "./marks.js";
import { setQuery, typeQuery } from "./route.js";
import { longestSearch } from "./search.js";
import { groupedBy, place, rowIndex, visible } from "./shown.js";

// another looks at another list: what was settled is not in it, and what is new is.
const another = () => { if (inbox.fresh.length > 0) showFresh(); else clearSettled(); };
const filter = change => { another(); setQuery(change, true); };

const kinds = [["", "All"], ["approval", "Approvals"], ["question", "Questions"]];
const orders = [["", "Most urgent"], ["oldest", "Oldest"], ["newest", "Newest"]];

const mostAgents = 100; // that a choice lists; the search finds the others

// agentsOf returns the choice of the agents of a list, with the chosen one also while nothing of it is open.
function agentsOf(list, chosen) {
  const named = [...new Set(list.map(({ agent }) => agent))].filter(agent => agent && agent !== chosen).slice(0, mostAgents);
  const agents = [...named, ...chosen ? [chosen] : []].map(agent => [agent, plain(nameOfAgent(agent))]);
  return [["", "All"], ...agents.sort(([, a], [, b]) => a < b ? -1 : a > b ? 1 : 0)];
}

function toList(event) {
  if (composes(event) || event.key !== "ArrowDown" && event.key !== "Enter" && event.key !== "Escape") return;
  event.preventDefault();
  const list = visible(), one = list[Math.max(0, rowIndex(list, place.handle))];
  (document.getElementById("prompt-" + one?.handle) ?? document.querySelector(".list"))?.focus();
}

export function Filters({ params }) {
  const [searching, search] = useState(!!params.get("q"));
  const all = awake(), agent = params.get("agent") ?? "", agents = agentsOf(all, agent), fresh = inbox.fresh.length, settled = settledCount();
  const count = kind => kind ? all.filter(one => one.kind === kind).length : all.length;
  const select = (label, value, options, change) => html`<label class=${"select by-" + label.toLowerCase()}><span>${label}</span><select onChange=${e => change(e.target.value)}>
    ${options.map(([name, text]) => html`<option value=${name} selected=${value === name}>${text}</option>`)}</select></label>`;
  const group = by => { settings.set("group", by); filter({ group: by }); };
  return html`<div class=${"filters" + (searching ? " searching" : "")}>
    <label class="search"><span class="sr">Filter</span><${Icon} name="search" /><input type="search" placeholder="Search or filter" maxlength=${longestSearch} value=${params.get("q") ?? ""} onInput=${e => { another(); typeQuery({ q: e.target.value }); }} onKeyDown=${toList} /></label>
    <button class="quiet only-narrow" aria-pressed=${String(searching)} onClick=${() => { search(!searching); if (searching) filter({ q: "" }); }}>${searching ? "Close search" : html`<${Icon} name="search" /><span class="sr">Search</span>`}</button>
    <div class="tabs" role="group" aria-label="Kind">${kinds.map(([kind, label]) => html`<button class="tab" aria-pressed=${String((params.get("kind") ?? "") === kind)} onClick=${() => filter({ kind })}>${label} <span class="n">${count(kind)}</span></button>`)}</div>
    ${agent && html`<button class="tab of-agent" title=${plain(agent)} onClick=${() => filter({ agent: "" })}>Agent: ${marked(nameOfAgent(agent))} ✕</button>`}
    ${(agent || agents.length > 2) && select("Agent", agent, agents, agent => filter({ agent }))}
    ${select("Group", groupedBy(), groupings, group)}
    ${select("Sort", params.get("sort") ?? "", orders, sort => filter({ sort }))}
    <div class="tidy">${fresh > 0 && html`<button class="fresh" onClick=${showFresh}>${fresh} new</button>`}${settled > 0 && html`<button class="quiet" onClick=${() => clearSettled()}>Clear ${settled}</button>`}</div></div>`;
}
