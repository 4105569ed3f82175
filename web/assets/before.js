// The requests that were settled before this one in its session.

import { html, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { path } from "./api.js";
import { Failure, useRead } from "./components.js";
import { nameOfRow } from "./groups.js";
import { opens } from "./guard.js";
import { isMine, nowMs, promptOf } from "./inbox.js";
import { marked } from "./marks.js";
import { When } from "./when.js";
import { settledWords } from "./words.js";

const calls = 5;

function Call({ view }) {
  const past = promptOf(view, view.kind, view.resolution);
  const outcome = settledWords(view.kind, view.resolution, nowMs(), isMine(past.handle), false); // the time stands at the front of the line
  return html`<li class="call"><${When} ms=${view.resolution.resolved_at_ms} />${" "}<a href=${"/?prompt=" + encodeURIComponent(past.handle)}>${marked(nameOfRow(past))}</a> <span class="quiet">${marked(outcome.charAt(0).toLowerCase() + outcome.slice(1))}</span></li>`;
}

function Calls({ one }) {
  const { data, error } = useRead(`${path("requests", one.handle)}?context=${calls}`);
  if (error) return html`<${Failure} error=${error} />`;
  if (!data) return html`<p class="quiet">Reading…</p>`;
  if (!data.context) return html`<p class="quiet">The service took too long to look it up.</p>`;
  if (data.context.length === 0) return html`<p class="quiet">Nothing was asked in this session before.</p>`;
  return html`<ol class="before" aria-label="Before this">${data.context.map(view => html`<${Call} view=${view} key=${view.request.handle} />`)}</ol>`;
}

export function Before({ one }) {
  const [shown, show] = useState(false);
  const toggle = () => { opens(one.handle); show(!shown); };
  return html`<p class="more-line"><button type="button" class="link" aria-expanded=${String(shown)} onClick=${toggle}>Before this</button></p>
    ${shown && html`<${Calls} one=${one} />`}`;
}
