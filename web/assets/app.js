// The frame of the page: navigation, connection, title, keys, and which page is shown.

import { html, render, useEffect, useLayoutEffect, useReducer, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { account, followAccount, myName, onAccount } from "./api.js";
import { shiftedAll } from "./guard.js";
import { History } from "./history.js";
import { awake, inbox, onArrival, start } from "./inbox.js";
import { followFocus, keys } from "./keys.js";
import { marked } from "./marks.js";
import { Inbox, useInbox } from "./page.js";
import { Palette } from "./palette.js";
import { Effects, Rules, Settings, Workers } from "./pages.js";
import { followPresence } from "./presence.js";
import { registerWorker } from "./push.js";
import { followLinks, go, onRoute } from "./route.js";
import { keepFocus } from "./shown.js";
import { followFilter } from "./selection.js";
import { Run, Session } from "./session.js";
import { SignIn } from "./sign-in.js";
import { Toast } from "./toast.js";
import { showCount, tell } from "./told.js";
import { Webhooks } from "./webhooks.js";
import { moment } from "./words.js";

const pages = [["/", "Inbox"], ["/history", "History"], ["/rules", "Rules"]];
const morePages = [["/workers", "Workers"], ["/effects", "Effects"], ["/webhooks", "Webhooks"], ["/docs", "Docs"], ["/settings", "Settings"]];

function Connection() {
  const text = { live: "Live", connecting: "Connecting…", reconnecting: "Reconnecting…" }[inbox.connection]
    ?? `Offline since ${moment(inbox.offlineSince)}: decisions are off`;
  return html`<p class=${"connection " + inbox.connection} role="status">${text}</p>`;
}

function useTitle(name) {
  const count = awake().length;
  useEffect(() => {
    document.title = (count ? `(${count}) ` : "") + (name === "Inbox" ? "holdpoint" : `${name} · holdpoint`);
    showCount(count);
  }, [count, name]);
}

const help = [["j, k, ↑, ↓", "next, previous"], ["Enter, o", "open"], ["n", "next undecided"], ["a", "allow"], ["d", "deny, with a reason"], ["D", "deny at once"], ["e", "edit"], ["r", "allow and …"], ["1–9", "choose an option"],
  ["x", "select"], ["Shift+x", "select a range"], ["Ctrl/Cmd+A", "select all that match"], ["s", "snooze"], ["z", "undo a decision that waits to be sent"], ["l", "say that you are looking, or no longer are"], ["c", "copy the link"], ["Ctrl/Cmd+K", "find a request or a page"], ["/", "search"], ["g then i, h, r, s", "inbox, history, rules, settings"], ["u", "back"], ["?", "this help"]];

function Help({ close }) {
  return html`<dialog aria-label="Keys" ref=${dialog => dialog && !dialog.open && dialog.showModal()} onClose=${close}>
    <h2>Keys</h2><dl>${help.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}</dl>
    <button onClick=${close}>Close</button></dialog>`;
}

function App() {
  useInbox();
  const [, routed] = useReducer(n => n + 1, 0);
  const [helping, setHelping] = useState(false), [finding, setFinding] = useState(false);
  useLayoutEffect(() => onRoute(routed), []);
  useLayoutEffect(() => onAccount(routed), []);
  useLayoutEffect(() => {
    const listen = event => account.signedOut || keys(event, () => setHelping(true), () => setFinding(true));
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  // What was on the page is gone with the sign-in that could see it.
  if (account.signedOut) return html`<${SignIn} />`;
  // A link to the sign-in of somebody who is signed in, or of a service that asks for none.
  if (location.pathname === "/login" && account.me) queueMicrotask(() => go("/", true));
  return html`<${Pages} help=${() => setHelping(true)} />${finding && html`<${Palette} pages=${[...pages, ...visiblePages()]} help=${() => setHelping(true)} close=${() => setFinding(false)} />`}${helping && html`<${Help} close=${() => { setHelping(false); shiftedAll(); }} />`}`;
}

// decoded returns an id of an address; one that is not UTF-8 stays as it is, and names nothing.
const decoded = id => { try { return decodeURIComponent(id); } catch { return id; } };

function NotFound() {
  return html`<div class="empty"><h1>Not found</h1><p>There is nothing at this address.</p><p><a href="/">Inbox</a> · <a href="/history">History</a></p></div>`;
}

function Pages({ help }) {
  const at = location.pathname;
  const [, first, id, ...more] = at.split("/");
  let name = [...pages, ...morePages].find(([address]) => address === at)?.[1] ?? "Not found", page = html`<${NotFound} />`;
  if (id === undefined) switch (first) {
    case "": page = html`<${Inbox} />`; break;
    case "history": page = html`<${History} />`; break;
    case "rules": page = html`<${Rules} />`; break;
    case "workers": page = html`<${Workers} />`; break;
    case "effects": page = html`<${Effects} />`; break;
    case "webhooks": page = html`<${Webhooks} />`; break;
    case "settings": page = html`<${Settings} />`; break;
  } else if (id && more.length === 0) switch (first) {
    case "runs": name = "Run"; page = html`<${Run} id=${decoded(id)} key=${at} />`; break;
    case "sessions": name = "Session"; page = html`<${Session} id=${decoded(id)} key=${at} />`; break;
  }
  useTitle(name);
  useLayoutEffect(keepFocus);
  return html`<${Header} at=${at} help=${help} /><${Toast} /><main id="main" class=${first === "" || first === "history" ? "wide" : ""} tabindex="-1">${page}</main>`;
}

const visiblePages = () => morePages.filter(([address]) => address !== "/webhooks" || account.me?.role === "admin");

// More is a menu of the pages that are looked at less often.
function More({ at }) {
  const [shown, show] = useState(false), box = useRef();
  const pages = visiblePages();
  const leave = event => { if (!box.current?.contains(event.relatedTarget)) show(false); };
  const keyed = event => { if (event.key === "Escape") { show(false); box.current.querySelector("button").focus(); } };
  const there = pages.find(([address]) => address === at);
  return html`<div class="menu" ref=${box} onFocusOut=${leave} onKeyDown=${keyed}><button type="button" class="link" aria-expanded=${String(shown)} onClick=${() => show(!shown)}>More<span aria-hidden="true"> ▾</span></button>
    ${shown && html`<ul>${pages.map(([address, label]) => html`<li><a href=${address} aria-current=${at === address ? "page" : null} onClick=${() => show(false)}>${label}</a></li>`)}</ul>`}
    ${there && !shown && html`<a class="there" href=${at} aria-current="page">${there[1]}</a>`}</div>`;
}

function Header({ at, help }) {
  const count = awake().length, who = account.me?.via === "open" ? myName() : (account.me?.on_behalf_of ?? account.me?.principal)?.replace(/^user:/, "");
  return html`<header><a class="skip" href="#main">Skip to the list</a><a class="brand" href="/">holdpoint</a>
    <nav aria-label="Pages">${pages.map(([address, label]) => html`<a href=${address} aria-current=${at === address ? "page" : null}>${label}${address === "/" && count > 0 && html` <span class="count">${count}</span>`}</a>`)}<${More} at=${at} /></nav>
    <${Connection} />${who && html`<a class="who" href="/settings">${marked(who)}</a>`}<button class="quiet help" aria-label="Keys" onClick=${help}>?</button></header>`;
}

onArrival(tell);

history.replaceState(null, ""); // again.js counts its tries there
document.addEventListener("click", followLinks);
followFocus();
followFilter();
render(html`<${App} />`, document.getElementById("app"));
start();
void followAccount();
followPresence();
// After the page is there, so that it does not wait for the worker's copy of it.
if (navigator.serviceWorker) addEventListener("load", () => registerWorker().catch(() => {}));
