// The events of a run, as they come.

import { failureWords, isPassing, retryIn } from "./api.js";

const everyMs = 5000, busyMs = 1000; // without and with new events: a worker may log one after the other
const pageLength = 1000;
const mostShown = 2000; // the oldest leave the page when others come

// followEvents reads the events of a run page by page, from its first one, and then those that come. read takes the number
// of the last event that is known; show is given {events, cut, error}. It returns what ends it.
export function followEvents(read, show) {
  let events, cut = false, after = 0, failures = 0, over = false, timer = 0;
  const next = async () => {
    let pauseMs = everyMs, problem;
    try {
      const page = await read(after), all = [...events ?? [], ...page];
      failures = 0;
      if (!events || page.length > 0) events = all.slice(-mostShown);
      cut ||= events.length < all.length;
      if (page.length > 0) [after, pauseMs] = [Number(page.at(-1).id), page.length < pageLength ? busyMs : 0];
    } catch (error) {
      problem = failureWords(error);
      if (isPassing(error)) pauseMs = Math.max(everyMs, retryIn(++failures));
    }
    if (over) return;
    show({ events, cut, error: problem });
    timer = setTimeout(next, pauseMs);
  };
  void next();
  return () => { over = true; clearTimeout(timer); };
}
