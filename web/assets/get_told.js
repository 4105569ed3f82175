// The line above the list that offers notifications, once on a device.

import { html, useLayoutEffect, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { inWords, settings } from "./api.js";
import { tellHere } from "./push.js";
import { keepFocus } from "./shown.js";

const offered = () => globalThis.isSecureContext && navigator.serviceWorker && globalThis.Notification?.permission === "default" && settings.get("told") === "";

// GetTold is there when the list appears, or not at all, and keeps its place until the list goes: no row moves.
export function GetTold() {
  const [offers] = useState(offered), [said, say] = useState(""), asks = useRef(false);
  useLayoutEffect(() => { if (said) keepFocus(); }, [said]);
  if (!offers) return null;
  const end = (answer, text) => {
    settings.set("told", answer);
    say(text);
  };
  const turnOn = async () => {
    if (asks.current) return;
    asks.current = true;
    try {
      if (await tellHere()) end("yes", "Notifications are on. You can turn them off in Settings.");
    } catch (failed) {
      end("no", inWords(failed));
    }
    asks.current = false;
  };
  return html`<div class="get-told" role="group" aria-label="Notifications"><span role="status">${said || "Get told on this device when something waits"}</span>
    ${!said && html`<button type="button" class="link" onClick=${turnOn}>Turn on</button><button type="button" class="link" onClick=${() => end("no", "You can turn notifications on in Settings.")}>Not now</button>`}</div>`;
}
