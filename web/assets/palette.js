// The palette: one field that finds requests, pages and settings. It opens and goes; it decides nothing.

import { html, useEffect, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { settings } from "./api.js";
import { composes, shiftedAll } from "./guard.js";
import { groupings, nameOfRow } from "./groups.js";
import { awake, changed, clearSettled } from "./inbox.js";
import { marked } from "./marks.js";
import { go, setQuery } from "./route.js";
import { focusPrompt } from "./shown.js";

const most = 12; // entries that are shown

function toInbox(then) {
  if (location.pathname !== "/") go("/");
  setTimeout(then);
}

// entriesOf returns all that the palette can find: {key, name, does}.
function entriesOf(pages, help) {
  const compact = settings.get("compact") === "on";
  return [
    ...pages.map(([address, name]) => ({ key: address, name: `Go to ${name}`, does: () => address.startsWith("/docs") ? location.assign(address) : go(address) })),
    ...groupings.map(([by, name]) => ({ key: "group " + by, name: `Group by ${name.toLowerCase()}`, does: () => toInbox(() => { clearSettled(); settings.set("group", by); setQuery({ group: by }, true); }) })),
    { key: "compact", name: compact ? "Rows of two lines" : "Compact rows", does: () => { settings.set("compact", compact ? "off" : "on"); changed(); } },
    { key: "clear", name: "Clear what is decided", does: () => toInbox(clearSettled) },
    { key: "keys", name: "Show the keys", does: help },
    ...awake().map(one => ({ key: one.handle, name: nameOfRow(one), text: one.text, does: () => toInbox(() => focusPrompt(one, "key", true)) })),
  ];
}

// found returns the entries with all words of a text, those whose name begins with it first.
export function found(entries, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean), name = one => one.name.toLowerCase();
  return entries.filter(one => words.every(word => name(one).includes(word) || one.text?.includes(word)))
    .sort((a, b) => name(b).startsWith(words[0] ?? "") - name(a).startsWith(words[0] ?? "")).slice(0, most);
}

export function Palette({ pages, help, close }) {
  const dialog = useRef(), [text, write] = useState(""), [at, move] = useState(0);
  const entries = found(entriesOf(pages, help), text), chosen = Math.min(at, Math.max(entries.length - 1, 0));
  useEffect(() => { dialog.current.showModal(); return () => shiftedAll(); }, []);
  const take = one => { dialog.current.close(); if (one) setTimeout(one.does); };
  const keyed = event => {
    if (composes(event)) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) { event.preventDefault(); move((chosen + step + entries.length) % Math.max(entries.length, 1)); }
    if (event.key === "Enter") { event.preventDefault(); take(entries[chosen]); }
  };
  return html`<dialog class="palette" aria-label="Palette" ref=${dialog} onClose=${close} onClick=${event => { if (event.target === dialog.current) dialog.current.close(); }}>
    <input type="text" role="combobox" aria-label="Find a request or a page" placeholder="Find a request or a page" autocomplete="off" spellcheck="false" aria-expanded="true" aria-controls="found" aria-activedescendant=${entries.length > 0 ? `found-${chosen}` : null} value=${text} onInput=${event => { write(event.target.value); move(0); }} onKeyDown=${keyed} />
    <ul id="found" role="listbox" aria-label="Found">${entries.map((one, i) => html`<li id=${`found-${i}`} key=${one.key} role="option" aria-selected=${String(i === chosen)} onClick=${() => take(one)}>${marked(one.name)}</li>`)}</ul>
    ${entries.length === 0 && html`<p class="quiet">Nothing found.</p>`}</dialog>`;
}
