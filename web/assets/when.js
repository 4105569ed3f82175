// A time, short on the page and whole in its title.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { nowMs } from "./inbox.js";
import { dateOf, fullTime, moment } from "./words.js";

export const When = ({ ms, of, children }) => html`<time class=${of} datetime=${dateOf(ms).toISOString()} title=${fullTime(ms)}>${children ?? moment(ms, nowMs())}</time>`;
