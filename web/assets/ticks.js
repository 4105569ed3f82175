// One timer for every time on the page.

import { useLayoutEffect, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { nowMs } from "./inbox.js";

const listeners = new Set();
setInterval(() => { for (const listener of listeners) listener(); }, 1000);

// useClock renders again when what it says about the time changes.
export function useClock(say) {
  const [, set] = useState("");
  useLayoutEffect(() => {
    const tick = () => set(say(nowMs()));
    listeners.add(tick);
    return () => listeners.delete(tick);
  });
  return say(nowMs());
}
