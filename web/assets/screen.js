// How wide the page is: on a narrow one a prompt is a page of its own.

import { shiftedAll } from "./guard.js";

const narrow = matchMedia("(max-width: 699.9px)");
const roomy = matchMedia("(min-width: 1400px)"); // a change is shown side by side
const listeners = new Set();
export const isNarrow = () => narrow.matches;
export const isRoomy = () => roomy.matches;
export const onWidth = listener => { listeners.add(listener); return () => listeners.delete(listener); };
for (const width of [narrow, roomy]) width.addEventListener("change", () => { shiftedAll(); for (const listener of listeners) listener(); });
