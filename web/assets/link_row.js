// A row that leads to a request and stands in the text of a page: in the history, on the page of a session.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { about } from "./groups.js";
import { Flag } from "./hints.js";
import { Icon } from "./icons.js";
import { marked } from "./marks.js";

const agrees = outcome => outcome === "allowed" || outcome === "answered";

// iconOf is a sign for what became of a request, or for its kind. An outcome that this page does not know is not taken for
// a harmless one.
export const iconOf = one => one.resolution ? (agrees(one.resolution.outcome) ? "allowed" : "denied") : about(one).row.icon;

// What is the first line of a row.
export const What = ({ row }) => html`<span class="what">${row.strong && html`<b>${marked(row.strong)}</b> `}${row.code ? html`<code>${marked(row.what)}</code>` : marked(row.what)}</span>`;

// LinkRow has why as its second line, and tail at the end of it.
export function LinkRow({ one, why, tail, current = false, onClick, onFocus, to = "/?prompt=" + encodeURIComponent(one.handle) }) {
  const { row } = about(one);
  return html`<li class="still"><a class=${"row" + (one.resolution ? " past" : "") + (current ? " current" : "")} href=${to} aria-current=${current ? "true" : null} onClick=${onClick} onFocus=${onFocus}>
    <span class="lead"><${Icon} name=${iconOf(one)} /></span><${What} row=${row} /><span class="hint"><${Flag} request=${one.request} />${row.hint && marked(row.hint)}</span>
    <span class="why">${why}</span><span class="tail">${tail}</span></a></li>`;
}
