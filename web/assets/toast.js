// One line at the top of a page: what became of a request that is not there any more.

import { html, useEffect, useReducer } from "./vendor/htm-preact-standalone-3.1.1.js";

const forMs = 4000;
let text = "", listener = () => {}, gone;

export function say(what) {
  text = what;
  listener();
  clearTimeout(gone);
  gone = setTimeout(() => { text = ""; listener(); }, forMs);
}

// unsay removes a line from the screen once what it says has passed.
export function unsay(what) {
  if (text !== what) return;
  text = "";
  listener();
}

export function Toast() {
  const [, tick] = useReducer(n => n + 1, 0);
  useEffect(() => { listener = tick; return () => { listener = () => {}; }; }, []);
  return html`<p class="toast" role="status">${text}</p>`;
}
