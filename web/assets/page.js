// The inbox as a page: the bar above, the list, and the open prompt next to it.

import { html, useEffect, useLayoutEffect, useReducer, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { retryIn } from "./api.js";
import { Detail } from "./detail.js";
import { Empty } from "./empty.js";
import { Filters } from "./filters.js";
import { arrange, clearSettled, inbox, lookUp, promptOf, showFresh, subscribe } from "./inbox.js";
import { List, rowHeight } from "./list.js";
import { followNotes } from "./notes.js";
import { query, setQuery } from "./route.js";
import { isNarrow, onWidth } from "./screen.js";
import { openHandle } from "./shown.js";
import { leaves } from "./undo.js";

// useInbox renders again after each change of the inbox. An effect after the paint would miss
// a snapshot that comes before it.
export function useInbox() {
  const [, tick] = useReducer(n => n + 1, 0);
  useLayoutEffect(() => subscribe(tick), []);
}

// Aside takes the place of a prompt that is not there.
const Aside = ({ children }) => html`<section id="detail" class="detail" role="region" aria-label="Prompt" tabindex="-1"><div class="inner">
  ${isNarrow() && html`<p class="crumbs"><button type="button" class="link" onClick=${() => setQuery({ prompt: "" }, true)}>‹ Back</button></p>`}${children && html`<p class="empty" role="status">${children}</p>`}</div></section>`;

// Linked shows a prompt that is not in the list: one that was settled before the page was opened, or none.
export function Linked({ handle }) {
  const [one, setOne] = useState(null), settled = !!inbox.prompts.get(handle)?.resolution;
  useEffect(() => {
    let late = false, timer = 0, failures = 0;
    setOne(null);
    const look = async () => {
      const view = await lookUp(handle);
      if (late) return;
      if (view === undefined) { setOne("lost"); timer = setTimeout(look, retryIn(++failures)); }
      else if (view === null) setOne("none");
      else setOne(view.resolution ? promptOf(view, view.kind, view.resolution) : "open");
    };
    void look();
    return () => { late = true; clearTimeout(timer); };
  }, [handle, settled]);
  if (one === "lost") return html`<${Aside}>The request could not be read. Trying again…<//>`;
  if (one === "none") return html`<${Aside}>No such prompt, or it is not yours.<//>`;
  if (one === "open" && location.pathname === "/history") return html`<${Aside}>This request is still pending. <a href=${"/?prompt=" + encodeURIComponent(handle)}>Open it in the inbox</a><//>`;
  return one && one !== "open" ? html`<${Detail} key=${handle} one=${one} />` : html`<${Aside} />`; // one that is open comes with the list
}

export function Inbox() {
  useInbox();
  const [, resized] = useReducer(n => n + 1, 0);
  useLayoutEffect(() => onWidth(resized), []);
  useEffect(followNotes, []);
  const params = query(), asked = params.get("prompt");
  arrange(params.get("sort") ?? "");
  if (inbox.fresh.includes(asked)) showFresh();
  useEffect(() => () => { leaves(); clearSettled(); }, []);
  if (!inbox.loaded && inbox.connection === "connecting") return html`<h1 class="sr">Inbox</h1><p class="empty" aria-busy="true">Loading…</p>`;
  if (!inbox.loaded) return html`<h1 class="sr">Inbox</h1><p class="empty" role="status">The service cannot be reached. The list comes when it answers.</p>`;
  const current = openHandle(), one = inbox.prompts.get(current);
  const nothing = inbox.order.length + inbox.decided.length + inbox.fresh.length === 0;
  if (nothing && !current) return html`<h1 class="sr">Inbox</h1><${Empty} />`;
  return html`<h1 class="sr">Inbox</h1><div class=${"inbox" + (current ? " has-detail" : "") + (inbox.selected.size > 0 ? " selecting" : "") + (rowHeight() < 52 ? " compact" : "")}>
    ${!nothing && html`<${Filters} params=${params} />`}
    <div class="panes">${nothing ? html`<section class="pane"><${Empty} /></section>` : html`<${List} current=${current} />`}
    ${one ? html`<${Detail} key=${current} one=${one} />` : current && html`<${Linked} handle=${current} />`}</div></div>`;
}
