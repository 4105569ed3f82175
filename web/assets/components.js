// What pages are made of: what they read, tables, refusals, questions before a deed, secrets.

import { copied } from "./clipboard.js";
import { Component, html, useEffect, useLayoutEffect, useReducer, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { failureWords, get, isPassing, keepPage, retryIn } from "./api.js";
import { marked } from "./marks.js";

// useRead reads an address, again after reload(), after a failure that may pass, and every so often when asked. The
// pause begins with the answer: a service that needs longer than the pause is still heard.
export function useRead(address, everyMs = 0) {
  const [state, set] = useState({});
  const [round, reload] = useReducer(n => n + 1, 0), failures = useRef(0);
  useEffect(() => {
    let late = false, timer = 0;
    const again = ms => { if (ms > 0) timer = setTimeout(reload, ms); };
    get(address).then(data => {
      if (late) return;
      failures.current = 0;
      set({ data });
      again(everyMs);
    }, error => {
      if (late) return;
      set(before => ({ ...before, error: failureWords(error) }));
      again(Math.max(everyMs, isPassing(error) ? retryIn(++failures.current) : 0));
    });
    return () => { late = true; clearTimeout(timer); };
  }, [address, round]);
  return { ...state, reload };
}

// useFocus gives an element the focus when it appears; brings says that it is brought into view as well.
export function useFocus(brings = false) {
  const ref = useRef();
  useEffect(() => {
    ref.current?.focus({ preventScroll: true });
    if (brings) ref.current?.closest(".form")?.scrollIntoView({ block: "nearest", behavior: "instant" });
  }, []);
  return ref;
}

// Copy copies a text and says so.
export function Copy({ text, children, label = "Copy", quiet = true }) {
  const [said, say] = useState("");
  const copy = async () => say(await copied(text) ? "Copied" : "The browser did not copy it");
  return html`<button type="button" class=${quiet ? "link" : ""} onClick=${copy}>${said || (children ?? label)}</button>`;
}

// Guarded shows something instead of children that cannot be drawn. Without it, one of them would stop the whole page.
export class Guarded extends Component {
  componentDidCatch(error) {
    console.error(error);
    this.setState({ failed: true });
  }
  render({ children, instead }, { failed }) { return failed ? instead : children; }
}

export const Failure = ({ error }) => error && html`<p class="error" role="alert">${marked(error)}</p>`;

// headed puts the head of its column into each cell: on a narrow page a row is a list of them.
function headed(row, heads) {
  [row.props.children].flat(Infinity).filter(Boolean).forEach((cell, i) => { if (cell.type === "td" && i > 0 && heads[i]) cell.props["data-head"] = heads[i]; });
  return row;
}

export function Table({ label, heads, rows, empty }) {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table><thead><tr>${heads.map(head => head ? html`<th scope="col">${head}</th>` : html`<td></td>`)}</tr></thead><tbody>${rows.map(row => headed(row, heads))}</tbody></table></div>`;
}

// Confirm is a button that asks first. The focus goes from it to "Back" and returns unless the person has moved it meanwhile, or
// stays in the table of a row that is gone.
export function Confirm({ label, question, does }) {
  const [asked, ask] = useState(false);
  const [problem, setProblem] = useState("");
  const at = useRef(), was = useRef(false);
  useLayoutEffect(() => { if (was.current !== asked && (asked || document.activeElement === document.body)) at.current.focus(); was.current = asked; }, [asked]);
  useLayoutEffect(() => () => { const cell = at.current?.closest("td"); if (cell?.contains(document.activeElement)) cell.closest("[tabindex]").focus({ preventScroll: true }); }, []);
  const act = () => does().then(() => ask(false), error => setProblem(error.message));
  if (!asked) return html`<button class="deny" ref=${at} onClick=${() => ask(true)}>${label}</button>`;
  return html`<p role="alert">${question} <button class="deny" onClick=${act}>${label}</button> <button class="quiet" ref=${at} onClick=${() => ask(false)}>Back</button> ${problem}</p>`;
}

// useKept keeps the page while it is on, although the service asks for a sign-in, or another tab signs in or out.
export const useKept = (on = true) => useLayoutEffect(() => on ? keepPage() : undefined, [on]);

// Secret shows one once: neither this page nor the service can show it again.
export function Secret({ label, secret, close, children }) {
  useKept();
  return html`<section class="form" aria-label=${label}><p>${children} It is shown here, once:</p>
    <pre class="secret" tabindex="0" aria-label="Secret"><code>${secret}</code></pre>
    <p class="buttons"><${Copy} text=${secret} quiet=${false} /><button class="quiet" onClick=${close}>Done</button></p></section>`;
}
