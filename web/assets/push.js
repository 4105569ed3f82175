// Notifications of the service in this browser (Web Push), which come while no page is open.

import { html, useEffect, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { call, inWords, mayDecide, path, settings } from "./api.js";
import { Failure, Table, useRead } from "./components.js";
import { marked } from "./marks.js";
import { When } from "./when.js";

const workerAddress = "/sw.js";

// workerURL is the address in the form that the policy of the page asks for. It allows this one, and to make it once.
let policy;
function workerURL() {
  if (!globalThis.trustedTypes) return workerAddress;
  policy ??= trustedTypes.createPolicy("worker", { createScriptURL: () => workerAddress });
  return policy.createScriptURL("");
}

// why returns why this browser cannot have notifications, "" if it can.
function why() {
  if (!globalThis.isSecureContext) return "Notifications need HTTPS, or localhost.";
  if (navigator.serviceWorker && globalThis.PushManager && globalThis.Notification) return "";
  return /iPhone|iPad/.test(navigator.userAgent) ? "Add this page to the home screen first, and open it from there." : "This browser has no notifications.";
}

const bytesOf = text => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), one => one.charCodeAt(0));
const sameBytes = (a, b) => a?.length === b.length && a.every((one, at) => one === b[at]);

async function current() {
  const worker = await navigator.serviceWorker?.getRegistration("/");
  return await worker?.pushManager?.getSubscription() ?? null;
}

export const registerWorker = () => navigator.serviceWorker.register(workerURL(), { scope: "/" });

// showNotification shows one by the worker: phones have no others. A press on it opens the path of its data.
export async function showNotification(title, options) {
  if (!await navigator.serviceWorker.getRegistration("/")) await registerWorker();
  const worker = await navigator.serviceWorker.ready;
  await worker.showNotification(title, { icon: "/assets/icon-192.png", ...options });
}

async function subscribe(publicKey) {
  await registerWorker();
  const { pushManager } = await navigator.serviceWorker.ready;
  const key = bytesOf(publicKey), before = await pushManager.getSubscription();
  // One for another key, as of a service that was set up again, gets nothing.
  const kept = before?.options.applicationServerKey;
  if (before && !sameBytes(kept && new Uint8Array(kept), key)) await before.unsubscribe();
  return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

// permitted asks the person, unless the browser knows: browsers ask only as an answer to a press, so it must be the first
// call. It returns false if they gave no answer.
async function permitted() {
  const permission = await Notification.requestPermission();
  if (permission === "denied") throw new Error("This browser blocks notifications of this page. Allow them in the browser's settings for this site, then try again.");
  return permission === "granted";
}

async function subscribeHere(publicKey) {
  const { endpoint, keys } = (await subscribe(publicKey)).toJSON();
  await call("POST", "/v1/me/push", { endpoint, keys });
}

// tellHere turns on the notifications of the service in this browser or, where there are none, those of the open page. It
// returns false if the person gave the browser no answer.
export async function tellHere() {
  if (!await permitted()) return false;
  const { public_key: publicKey } = mayDecide() && !why() ? await call("GET", "/v1/me/push") : {};
  if (publicKey) await subscribeHere(publicKey); else settings.set("notifications", "on");
  return true;
}

// turnOffPush ends the notifications of this browser, for who signs out.
export async function turnOffPush() {
  const subscription = await current();
  if (!subscription) return;
  const { data } = await call("GET", "/v1/me/push");
  const mine = data.find(one => one.address === subscription.endpoint);
  if (mine) await call("DELETE", path("me", "addresses", mine.address_id));
  await subscription.unsubscribe();
}

const hostOf = address => { try { return new URL(address).host; } catch { return address; } };

function Devices({ data, endpoint, changed }) {
  const remove = one => (one.address === endpoint ? turnOffPush() : call("DELETE", path("me", "addresses", one.address_id))).then(changed, changed);
  return html`<${Table} label="Browsers with notifications" heads=${["Browser", "Since", ""]} empty="" rows=${data.map(one => html`<tr key=${one.address_id}>
    <td>${one.address === endpoint ? "This browser" : "Another browser"}<div class="quiet">${marked(hostOf(one.address))}</div></td><td><${When} ms=${one.created_at_ms} /></td>
    <td><button onClick=${() => remove(one)}>Turn off</button></td></tr>`)} />`;
}

function Push() {
  const { data, error, reload } = useRead("/v1/me/push");
  const [endpoint, setEndpoint] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => { current().then(found => setEndpoint(found?.endpoint ?? ""), () => {}); }, [data]);
  const on = data?.data.some(one => one.address === endpoint), cannot = why();
  const turnOn = async () => {
    setProblem("");
    setBusy(true);
    try {
      if (await permitted()) await subscribeHere(data.public_key).then(reload);
    } catch (failed) {
      setProblem(inWords(failed));
    } finally {
      setBusy(false);
    }
  };
  return html`<${Failure} error=${error} />${data && !data.public_key && html`<p class="quiet">This service sends no notifications to browsers.</p>`}
    ${data?.public_key && html`${cannot ? html`<p class="quiet">${cannot}</p>` : !on && html`<p><button type="button" disabled=${busy} onClick=${turnOn}>Turn on notifications</button></p>`}
      <${Failure} error=${problem} />${data.data.length > 0 && html`<${Devices} data=${data.data} endpoint=${endpoint} changed=${reload} />`}
      <p class="quiet">They come while this page is closed, about requests that you may decide and that are open for a while. They show the tool and the agent, never the input.</p>`}`;
}

// PushSettings is for those who may decide.
export function PushSettings() {
  return mayDecide() && html`<h2>Notifications on this device</h2><${Push} />`;
}
