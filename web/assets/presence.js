// Says while the person is looking at the list of requests, so that the service does not notify them elsewhere, and which
// request they have open, so that others see it. An open tab at which nobody sits does not count.

import { headers, mayDecide, settings } from "./api.js";
import { onRoute } from "./route.js";

const every = 60_000; // the service counts it for 90 s
const tick = 15_000;
const settled = 1500; // how long a request stays open before others see it
const inUse = 5 * 60_000; // how long the last touch counts
const kept = "present"; // when a tab of this browser said so last; "" once one took it back

let shown = "", shows = () => {};

// viewing is called with the request that is open. It returns what to call when it no longer is.
export function viewing(handle) {
  const show = now => { shown = now; shows(); };
  show(handle);
  return () => { if (shown === handle) show(""); };
}

export const sharesViewing = () => settings.get("viewing", "on") === "on";

// followPresence begins to say so. All tabs of a browser together say it once a minute.
export function followPresence(env = browser()) {
  let touchedAt = -Infinity, checkedAt = -Infinity, looks = false, here = false, open = "", said = "";

  function check() {
    const now = checkedAt = env.now();
    if (!env.looks()) return leave();
    if (!looks) opened();
    looks = true;
    here = now - touchedAt < inUse;
    const viewing = env.shares() ? open : "";
    if (!here || viewing === said && Math.abs(now - Number(env.get(kept))) < every) return;
    // Another device of the person may have one open: none is said only after one was.
    const news = viewing || said ? viewing : undefined;
    said = viewing;
    env.set(kept, String(now));
    env.say(true, news);
  }

  function touched() {
    touchedAt = env.now();
    if (touchedAt - checkedAt >= 1000 || !here) check();
  }

  // opened says another request once it has been open for a while.
  function opened() {
    env.after(settled, () => { open = env.viewing(); check(); });
  }

  // leave takes it back. Another tab that is still looked at hears of that afterwards, and says it again.
  function leave() {
    if (here && env.get(kept)) {
      env.say(false);
      env.set(kept, "");
    }
    looks = here = false;
    open = said = "";
  }

  env.listen({ check, touched, opened, leave });
}

function browser() {
  let timer;
  return {
    now: () => Date.now(),
    looks: () => document.visibilityState === "visible" && location.pathname === "/" && mayDecide(),
    get: name => settings.get(name),
    set: (name, value) => settings.set(name, value),
    viewing: () => shown,
    shares: sharesViewing,
    after(ms, call) {
      clearTimeout(timer);
      timer = setTimeout(call, ms);
    },
    // What is not said lapses. A closing page still sends it.
    say(visible, open) {
      if (!mayDecide()) return;
      fetch("/v1/me/presence", {
        method: "PUT", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify({ visible, viewing: open }), keepalive: true, credentials: "same-origin", cache: "no-store",
      }).catch(() => {});
    },
    listen({ check, touched, opened, leave }) {
      setInterval(check, tick);
      shows = opened;
      onRoute(check);
      document.addEventListener("visibilitychange", check);
      addEventListener("pagehide", leave);
      addEventListener("storage", event => { if (event.key === "holdpoint." + kept && !event.newValue) check(); });
      // A list that changes below a pointer at rest moves nothing of the person. Scrolling is not listened to: pages scroll by themselves.
      const moved = event => { if (event.movementX || event.movementY) touched(); };
      addEventListener("pointermove", moved, { capture: true, passive: true });
      for (const type of ["pointerdown", "touchmove", "wheel", "keydown"]) addEventListener(type, touched, { capture: true, passive: true });
    },
  };
}
