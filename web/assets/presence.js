// Says while the person is looking at the list of requests, so that the service does not notify them elsewhere. An open
// tab at which nobody sits does not count.

import { headers, mayDecide, settings } from "./api.js";
import { onRoute } from "./route.js";

const every = 60_000; // the service counts it for 90 s
const tick = 15_000;
const inUse = 5 * 60_000; // how long the last touch counts
const kept = "present"; // when a tab of this browser said so last; "" once one took it back

// followPresence begins to say so. All tabs of a browser together say it once a minute.
export function followPresence(env = browser()) {
  let touchedAt = -Infinity, checkedAt = -Infinity, here = false;

  function check() {
    const now = checkedAt = env.now();
    if (!env.looks()) return leave();
    here = now - touchedAt < inUse;
    if (!here || Math.abs(now - Number(env.get(kept))) < every) return;
    env.set(kept, String(now));
    env.say(true);
  }

  function touched() {
    touchedAt = env.now();
    if (touchedAt - checkedAt >= 1000 || !here) check();
  }

  // leave takes it back. Another tab that is still looked at hears of that afterwards, and says it again.
  function leave() {
    if (here && env.get(kept)) {
      env.say(false);
      env.set(kept, "");
    }
    here = false;
  }

  env.listen({ check, touched, leave });
}

function browser() {
  return {
    now: () => Date.now(),
    looks: () => document.visibilityState === "visible" && location.pathname === "/" && mayDecide(),
    get: name => settings.get(name),
    set: (name, value) => settings.set(name, value),
    // What is not said lapses. A closing page still sends it.
    say(visible) {
      if (!mayDecide()) return;
      fetch("/v1/me/presence", {
        method: "PUT", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify({ visible }), keepalive: true, credentials: "same-origin", cache: "no-store",
      }).catch(() => {});
    },
    listen({ check, touched, leave }) {
      setInterval(check, tick);
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
