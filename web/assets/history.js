// What was decided: a list by day, searched by words, and one decision with its request next to it.

import { html, useEffect, useLayoutEffect, useReducer, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { allDecisions, columns, columnsOf, useDecisions } from "./decisions.js";
import { Failure } from "./components.js";
import { csv, download } from "./csv.js";
import { Detail } from "./detail.js";
import { agentName, nameOfAgent } from "./groups.js";
import { composes } from "./guard.js";
import { Icon } from "./icons.js";
import { isMine, nowMs } from "./inbox.js";
import { LinkRow } from "./link_row.js";
import { marked } from "./marks.js";
import { Linked } from "./page.js";
import { go, query, setQuery, typeQuery } from "./route.js";
import { isNarrow, onWidth } from "./screen.js";
import { longestSearch } from "./search.js";
import { SearchWhole } from "./search_whole.js";
import { When } from "./when.js";
import { dayOf, outcomes, reasonOf, settledWords, timeOf } from "./words.js";

const filters = ["actor", "outcome", "session_id", "agent_id"]; // of the service
const filter = change => setQuery({ ...change, prompt: "" }, true);

// whoDecided is the outcome, by whom and by which way: the time stands at the end of the line already.
const whoDecided = one => settledWords(one.kind, one.resolution, nowMs(), isMine(one.handle), false);

function Row({ one, current }) {
  const reason = reasonOf(one.resolution), address = query();
  address.set("prompt", one.handle);
  // A wide page shows what has the focus. On a narrow one it is a page of its own.
  const show = adds => { if (query().get("prompt") !== one.handle) (adds ? setQuery : typeQuery)({ prompt: one.handle }); };
  const click = event => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    show(isNarrow());
  };
  return html`<${LinkRow} one=${one} current=${current} to=${"/history?" + address} onClick=${click} onFocus=${() => { if (!isNarrow()) show(false); }}
    why=${html`${marked(whoDecided(one))}${reason && marked(` · “${reason}”`)}<span> · ${marked(one.label ?? one.origin?.project ?? agentName(one))}</span>`}
    tail=${html`<${When} of="age" ms=${one.resolution.resolved_at_ms}>${timeOf(one.resolution.resolved_at_ms)}<//>`} />`;
}

// Days are the decisions by the day on which they were made, the newest first. more says that the last day may have others.
function Days({ list, current, more }) {
  return [...Map.groupBy(list, one => dayOf(one.resolution.resolved_at_ms, nowMs()))].map(([day, of], i, days) => html`<section class="day" key=${day} aria-label=${day}>
    <h2 class="group"><span>${day}</span> <span class="n">${of.length}${more && i === days.length - 1 && "+"}</span></h2><ul>${of.map(one => html`<${Row} key=${one.handle} one=${one} current=${one.handle === current} />`)}</ul></section>`);
}

function Export({ asked, text }) {
  const [said, say] = useState("");
  const write = async () => {
    say("Reading…");
    try {
      const { list, read, cut } = await allDecisions(asked, text, n => say(`Read ${n}…`));
      download("decisions.csv", csv(columns, list.map(columnsOf)), "text/csv;charset=utf-8");
      say(cut ? `From the last ${read} decisions only` : "");
    } catch (error) { say(error.message); }
  };
  return html`<span class="quiet" role="status">${said}</span><button class="quiet" onClick=${() => void write()}><span class="clipped">Download </span>CSV</button>`;
}

// Given is a filter that was set by a link, with a button that takes it away.
const Given = ({ name, label, value }) => value && html`<button class="tab given" title=${value} onClick=${() => filter({ [name]: "" })}>${label}: ${marked(nameOfAgent(value))} ✕</button>`;

// keyed moves the focus in the list with the keys of the inbox.
function keyed(event) {
  const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key], at = event.target.closest("a.row");
  if (!step || !at || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const rows = [...event.currentTarget.querySelectorAll("a.row")];
  rows[rows.indexOf(at) + step]?.focus();
}

export function History() {
  const [, resized] = useReducer(n => n + 1, 0);
  useLayoutEffect(() => onWidth(resized), []);
  const params = query(), asked = new URLSearchParams(filters.filter(name => params.get(name)).map(name => [name, params.get(name)])).toString(), text = params.get("q") ?? "";
  const { list, found, items, more, loading, error, older, fresh, showFresh, again } = useDecisions(asked, text);
  const current = params.get("prompt") || (isNarrow() ? "" : list[0]?.handle), one = list.find(({ handle }) => handle === current);
  const field = event => { if (!composes(event) && (event.key === "ArrowDown" || event.key === "Enter")) { event.preventDefault(); document.querySelector(".days a.row")?.focus(); } };
  // The person keeps what is open, and the list begins with what is new.
  const news = () => {
    if (current && !params.get("prompt")) setQuery({ prompt: current }, true);
    showFresh();
    document.querySelector(".days").scrollTop = 0;
  };
  const words = text.trim() !== "", searched = words && list.length === found; // else there are others to show
  return html`<h1 class="sr">History</h1><div class=${"inbox history" + (current ? " has-detail" : "")}>
    <div class="filters"><label class="search"><span class="sr">Search decisions</span><${Icon} name="search" /><input type="search" placeholder="Search decisions" maxlength=${longestSearch} value=${text} onInput=${e => typeQuery({ q: e.target.value, prompt: "" })} onKeyDown=${field} /></label>
      <label class="select"><span class="clipped">Outcome</span><select onChange=${e => filter({ outcome: e.target.value })}>${["", ...Object.keys(outcomes)].map(one => html`<option value=${one} selected=${(params.get("outcome") ?? "") === one}>${outcomes[one] ?? "All"}</option>`)}</select></label>
      <label class="select"><span>Decided by</span><input value=${params.get("actor") ?? ""} onChange=${e => filter({ actor: e.target.value.trim() })} /></label>
      <${Given} name="agent_id" label="Agent" value=${params.get("agent_id")} /><${Given} name="session_id" label="Session" value=${params.get("session_id")} />
      <div class="tidy">${fresh && html`<button class="fresh" onClick=${news}>${fresh} new</button>`}<${Export} asked=${asked} text=${text} /></div></div>
    <div class="panes"><section class="pane" aria-label="Decisions"><div class="scroll-list days" onKeyDown=${keyed}>
      <${Days} list=${list} current=${current} more=${more} /><${Failure} error=${error} />
      ${!loading && list.length === 0 && !error && html`<p class="empty">${asked || words ? "No matching decisions." : "Nothing has been decided yet."}</p>`}
      ${!loading && html`<${SearchWhole} list=${items} text=${text} onRead=${again} />`}
      ${loading && items.length === 0 && html`<p class="empty" aria-busy="true">Loading…</p>`}
      ${more && (items.length > 0 || !loading) && html`<p class="older">${searched && !loading && html`<span class="quiet">Searched the last ${items.length} decisions. </span>`}<button aria-busy=${String(loading)} onClick=${() => loading || older()}>${loading ? "Loading…" : searched ? "Search older" : "Older"}</button></p>`}
    </div></section>
    ${one && !one.request.input_truncated ? html`<${Detail} key=${current} one=${one} />` : current ? html`<${Linked} key=${current} handle=${current} />` : !isNarrow() && html`<section class="detail" aria-label="Prompt"></section>`}</div></div>`;
}
