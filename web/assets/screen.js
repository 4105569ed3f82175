// How wide the page is: on a narrow one a prompt is a page of its own.

import { shiftedAll } from "./guard.js";

const narrow = matchMedia("(max-width: 699.9px)");
const listeners = new Set();
export const isNarrow = () => narrow.matches;
export const onWidth = listener => { listeners.add(listener); return () => listeners.delete(listener); };
narrow.addEventListener("change", () => { shiftedAll(); for (const listener of listeners) listener(); });
