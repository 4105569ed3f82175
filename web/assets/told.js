// Tells a person who looks elsewhere of a request that arrives, and the icon of the page how many are pending.

import { headers, mayDecide, settings } from "./api.js";
import { sessionAddress } from "./ids.js";
import { awake } from "./inbox.js";
import { plain } from "./marks.js";
import { showNotification } from "./push.js";
import { sessionName } from "./same_call.js";

const tones = { approval: 440, question: 660 }; // in Hz

function beep(kind) {
  const audio = new AudioContext(), tone = audio.createOscillator(), volume = audio.createGain();
  tone.frequency.value = tones[kind];
  volume.gain.value = 0.05;
  tone.connect(volume).connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.12);
  setTimeout(() => void audio.close(), 1000); // a browser keeps one that may still sound
}

// notify shows one notification for each session. Where others of the session are open, too, it says how many, opens the session
// and denies none: the notification that it replaces may be pressed at this moment.
async function notify(one) {
  if (settings.get("notifications") !== "on" || globalThis.Notification?.permission !== "granted") return;
  const from = plain(`${one.agent} in ${sessionName(one)}`), what = plain(one.request.tool_name ?? "A question"), tag = "session " + one.session;
  const open = awake().filter(({ session }) => session === one.session).length;
  if (open > 1) {
    await showNotification(`${open} requests are open`, { body: `${from}: ${what}`, tag, data: { id: "", handle: "", actor: "", path: sessionAddress(one.session) } });
    return;
  }
  // The worker cannot use a sign-in that the page keeps for itself (see signIn).
  const denies = one.kind === "approval" && mayDecide() && !settings.get("session");
  await showNotification(from, {
    body: what, tag, ...(denies && { actions: [{ action: "deny", title: "Deny" }, { action: "open", title: "Open" }] }),
    data: { id: "", handle: one.handle, actor: headers()["X-Actor"] ?? "", path: "/?prompt=" + encodeURIComponent(one.handle) },
  });
}

// tell never throws: a browser that has no sound or no notifications must not keep the list from its requests.
export function tell(one) {
  if (document.visibilityState === "visible" && document.hasFocus()) return;
  try { if (settings.get("sound") === "on") beep(one.kind); } catch { /* it is silent then */ }
  notify(one).catch(() => {});
}

function icon(count) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 32;
  const draw = canvas.getContext("2d");
  draw.fillStyle = count ? "#c2410c" : "#2f5bd7";
  draw.beginPath();
  draw.roundRect(0, 0, 32, 32, 8);
  draw.fill();
  draw.fillStyle = "#fff";
  draw.font = "bold 20px system-ui";
  draw.textAlign = "center";
  draw.textBaseline = "middle";
  draw.fillText(count > 99 ? "99" : count ? String(count) : "||", 16, 17);
  document.querySelector("link[rel=icon]").href = canvas.toDataURL();
}

// showCount says in the tab, and at the icon of an installed inbox, how many are pending.
export function showCount(count) {
  icon(count);
  navigator.setAppBadge?.(count)?.catch(() => {});
}
