// Whether the person may allow a request that excludes who asked for it. A list says that they may. The service is asked about the others.

import { useEffect, useRef } from "./vendor/htm-preact-standalone-3.1.1.js";
import { lookUp } from "./inbox.js";
import { isSeen } from "./seen.js";

const atOnce = 20; // look-ups of the page
const most = 100; // requests of one selection or dialog that are looked up: the rest stays unknown, and nobody allows it there
const againMs = 5000; // after a failure

export const isUnknown = one => one.barred === undefined && !one.resolution;

const queue = [];
let running = 0;
function enqueue(does) {
  queue.push(does);
  next();
}
function next() {
  while (running < atOnce && queue.length > 0) {
    running++;
    void queue.shift()().finally(() => { running--; next(); });
  }
}

// lookUps asks about requests: once, and again after a failure, until it is stopped.
export function lookUps() {
  const asked = new Set();
  let stopped = false;
  const ask = async one => {
    if (stopped || !isUnknown(one)) return;
    await lookUp(one.handle);
    if (!stopped && isUnknown(one)) setTimeout(() => enqueue(() => ask(one)), againMs);
  };
  return {
    of(list, all = list) { // all is the whole selection: what has left it makes room
      for (const one of asked) if (!all.includes(one)) asked.delete(one);
      for (const one of list) {
        if (asked.size === most || asked.has(one)) continue;
        asked.add(one);
        enqueue(() => ask(one));
      }
    },
    stop() { stopped = true; },
  };
}

// useKnown asks about the requests of a list that are unknown, first about those that were read: the others are not allowed.
export function useKnown(list) {
  const asks = useRef(), unknown = list.filter(isUnknown), names = unknown.map(({ handle }) => handle).join();
  useEffect(() => {
    asks.current = lookUps();
    return () => asks.current.stop();
  }, []);
  useEffect(() => { asks.current.of(unknown.sort((a, b) => isSeen(b) - isSeen(a)), list); }, [names, list.length]);
}
