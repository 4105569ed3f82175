// The inbox with nothing in it: the last decisions, and where there was none yet, how to connect an agent.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { account } from "./api.js";
import { Copy, useRead } from "./components.js";
import { nameOfRow } from "./groups.js";
import { inbox, isMine, nowMs, promptOf } from "./inbox.js";
import { marked } from "./marks.js";
import { settledWords } from "./words.js";

const cards = [
  ["Connect Claude Code", "In the folder of your project. Claude Code then asks here.", server => `holdpoint hook install claude-code --server ${server}`],
  ["Connect another agent", "The command of an MCP server, for every agent that takes one.", server => `holdpoint mcp --server ${server}`],
  ["Try it", "The command waits here until you allow it.", server => `holdpoint exec --server ${server} --reason "to see it wait" -- echo it ran`],
];

function Card({ name, about, line }) {
  return html`<section class="card" aria-label=${name}><h2>${name}</h2><p class="quiet">${about}</p><pre tabindex="0"><code>${line}</code></pre><${Copy} text=${line} quiet=${false} /></section>`;
}

function Cards() {
  const asks = account.me && account.me.via !== "open";
  return html`<div class="cards">${cards.map(([name, about, line]) => html`<${Card} name=${name} about=${about} line=${line(location.origin)} />`)}</div>
    <p class="quiet">${asks && html`Set <code>HOLDPOINT_TOKEN</code> to a token of the role agent first. `}<a href="/docs">Hooks of other agents, SDKs and the API</a></p>`;
}

export function Empty() {
  const { data } = useRead("/v1/decisions?limit=3&fields=summary");
  const last = (data?.items ?? []).slice(0, 3).map(view => ({ one: promptOf(view, view.kind, view.resolution), view }));
  return html`<div class="empty"><h2 class="clear-head">All clear</h2><p>Nothing is waiting for you.</p>
    ${last.length > 0 && html`<ul class="last" aria-label="Last decisions">${last.map(({ one, view }) => html`<li key=${one.handle}><a href=${"/?prompt=" + encodeURIComponent(one.handle)}>${marked(nameOfRow(one))}</a>
      <small>${marked(settledWords(view.kind, view.resolution, nowMs(), isMine(one.handle)))}</small></li>`)}</ul>`}
    ${data && last.length === 0 && !inbox.everHad && html`<${Cards} />`}</div>`;
}
