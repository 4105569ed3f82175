// What the person selected is what the list shows: a decision about it reaches nothing that a filter hides.

import { clock } from "./guard.js";
import { changed, inbox, subscribe } from "./inbox.js";
import { onRoute, query } from "./route.js";
import { filterOf } from "./shown.js";
import { say } from "./toast.js";

const together = 4000; // ms in which changes are one: somebody types a search

const filterNow = () => ["agent", "kind", "q"].map(name => query().get(name) ?? "").join("\n");

// followFilter takes out of the selection what another filter hides, and says how many that are. A request that leaves the
// list by itself stays selected, and one that is being sent until that is taken back or refused.
export function followFilter() {
  let filter = filterNow(), dropped = 0, until = 0, sent = [];
  subscribe(() => {
    const back = sent.filter(one => !one.sending);
    if (back.length === 0) return;
    sent = sent.filter(one => one.sending);
    for (const { handle } of back) inbox.selected.delete(handle);
    changed();
  });
  return onRoute(() => {
    if (location.pathname !== "/" || filterNow() === filter) return;
    filter = filterNow();
    const fits = filterOf(query()), unfit = [...inbox.selected].map(handle => inbox.prompts.get(handle)).filter(one => one && !fits(one));
    const hidden = unfit.filter(one => !one.sending);
    sent = unfit.filter(one => one.sending);
    if (hidden.length === 0) return;
    for (const { handle } of hidden) inbox.selected.delete(handle);
    dropped = hidden.length + (clock() < until ? dropped : 0);
    until = clock() + together;
    say(`${dropped} ${dropped === 1 ? "request that the filter hides is" : "requests that the filter hides are"} deselected`);
  });
}
