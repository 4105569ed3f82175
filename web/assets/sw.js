// The worker of all pages. It keeps the page with its scripts and styles, so that it opens, and says so, when the service
// cannot be reached. It keeps nothing else: no reply of the API, nothing of a person. And it shows the notifications of the
// service, and opens or denies their request, without a page. The address of a press is a page of this service, whatever the
// message says.

"use strict";

// shell are the addresses of the page and its files in this version. The service fills them in.
const shell = [];
const kept = "shell " + (shell[1] ?? "");
const isPage = /^\/(history|rules|workers|effects|webhooks|settings|login|(runs|sessions)\/[^/]+)?$/;

// fetched is a part of the shell. A proxy that asks for a sign-in may answer with a page of its own, and another replica
// with another version: neither is kept.
async function fetched(address) {
  const response = await fetch(address), type = response.headers.get("Content-Type") ?? "";
  const wanted = address.endsWith(".js") ? "text/javascript" : address.endsWith(".css") ? "text/css" : "text/html";
  const own = address !== "/" || (await response.clone().text()).includes(shell[1]);
  if (!response.ok || response.redirected || !type.startsWith(wanted) || !own) throw new Error(address + " is another page");
  return response;
}

// keep fetches the shell, whole or not at all. The browser has the scripts and styles of this version already.
async function keep() {
  const cache = await caches.open(kept);
  if (await cache.match("/", { ignoreVary: true })) return;
  const responses = await Promise.all(shell.map(fetched));
  for (const at of shell.keys()) await cache.put(shell.at(-1 - at), responses.at(-1 - at)); // the page last: with it all is there
}

const cached = async address => (await caches.open(kept)).match(address, { ignoreVary: true });

// opened is the page from the service, whatever it answers. Only where there is no answer it is the kept one.
async function opened(event) {
  try {
    return await event.preloadResponse ?? await fetch(event.request);
  } catch {
    return await cached("/") ?? Response.error();
  }
}

async function begin() {
  await registration.navigationPreload?.enable();
  for (const name of await caches.keys()) if (name !== kept) await caches.delete(name);
  await clients.claim();
}

addEventListener("install", event => {
  event.addRoutes?.({ condition: { urlPattern: "/v1/*" }, source: "network" })?.catch(() => {});
  event.waitUntil(keep().catch(() => {})); // kept with the next page, then
  skipWaiting();
});
addEventListener("activate", event => event.waitUntil(begin()));
addEventListener("fetch", event => {
  const { pathname, origin } = new URL(event.request.url);
  if (origin !== location.origin || event.request.method !== "GET") return;
  if (event.request.mode === "navigate" && isPage.test(pathname)) {
    event.respondWith(opened(event));
    event.waitUntil(keep().catch(() => {}));
  } else if (shell.includes(pathname) && pathname !== "/") {
    event.respondWith(cached(pathname).then(found => found ?? fetch(event.request)));
  } else if (event.request.mode === "navigate") {
    // The browser has asked already. Left alone it would ask once more, and a sign-in's code works once.
    event.respondWith(Promise.resolve(event.preloadResponse).then(found => found ?? fetch(event.request)));
  }
});

function read(data) {
  try {
    return data.json().notification ?? {};
  } catch {
    return {};
  }
}

function pathOf(navigate) {
  try {
    const { pathname, search } = new URL(navigate, location.origin);
    return "/" + pathname.replace(/^\/+/, "") + search; // two slashes would begin another host
  } catch {
    return "/";
  }
}

const icon = "/assets/icon-192.png";
const patienceMs = 4000; // a browser that waits much longer opens no page
const buttons = [{ action: "deny", title: "Deny" }, { action: "open", title: "Open" }];

async function ask(address, options = {}) {
  const response = await fetch(address, { cache: "no-store", signal: AbortSignal.timeout(patienceMs), ...options });
  if (!response.ok || response.redirected) throw new Error(address + " answered " + response.status);
  return response.json();
}

// mayDeny reports whether this worker can deny. On a loopback address the sign-in is the page's alone, so it can only where
// nobody signs in. Elsewhere the cookie decides at the press: asking here would keep a sign-in alive that nobody uses.
const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/i.test(location.hostname);
const mayDeny = async () => !isLoopback || ask("/v1/me").then(me => ["operator", "admin"].includes(me.role)).catch(() => false);

// deny denies the approval of a notification, and says so in its place. What may not have been recorded opens the request, where
// the person reads how it stands, or a notification says so. What the session has shown meanwhile stays.
async function deny({ body, tag, data }) {
  const say = async (title, more) => {
    const own = tag && (await registration.getNotifications({ tag })).length > 0 ? data.handle : tag;
    await registration.showNotification(title, { body, ...(own && { tag: own }), silent: true, icon, data: { ...data, id: "" }, ...more });
  };
  try {
    const { run_id: run, request } = await ask("/v1/requests/" + encodeURIComponent(data.handle));
    await ask(`/v1/runs/${encodeURIComponent(run)}/approvals`, {
      method: "POST", headers: { "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID(), "X-Via": "notification", ...(data.actor && { "X-Actor": data.actor }) },
      body: JSON.stringify({ resolutions: [{ request_id: request.id, handle: data.handle, input_digest: request.input_digest, behavior: "deny" }] }),
    });
  } catch {
    return open(data.path).catch(() => say("The denial may not have been recorded", { actions: buttons }));
  }
  return say("Denied");
}

const windows = () => clients.matchAll({ type: "window", includeUncontrolled: true });

// overtakesMs is how much later than a message one may be dated that has overtaken it. After a clock was set back, what is dated
// much later hides nothing.
const overtakesMs = 60_000;
const overtakes = (one, message) => one.data.atMs > message.data.atMs && one.data.atMs - message.data.atMs < overtakesMs;

// show replaces the notification of the same session, and alerts again unless it is the same message. An older message, which
// another one has overtaken, shows the newer one again. It makes no sound for people who look at the inbox, or if the message
// is silent because the request is settled. A browser takes the permission away from a worker that shows nothing, so the
// outcome is shown first and closed for people who look at the inbox.
async function show({ title, body, tag, navigate, silent: settled, data }) {
  const message = {
    title: String(title ?? "holdpoint"), body: String(body ?? ""), actions: data?.handle && await mayDeny() ? buttons : [],
    data: { id: String(data?.id ?? ""), handle: String(data?.handle ?? ""), path: pathOf(navigate ?? "/"), atMs: Number(data?.at_ms) || 0 },
  };
  const focused = (await windows()).some(one => one.focused);
  const silent = focused || settled === true;
  const shown = async () => tag ? registration.getNotifications({ tag: String(tag) }) : [];
  const now = await shown(), known = now.some(one => message.data.id && one.data.id === message.data.id);
  const { title: shows, ...options } = now.find(one => overtakes(one, message)) ?? message;
  await registration.showNotification(shows, {
    body: options.body, actions: options.actions, data: options.data, ...(tag && { tag: String(tag) }), silent, renotify: Boolean(tag) && !silent && !known, icon,
  });
  if (settled === true && focused) (await shown()).forEach(one => one.close());
}

// open uses a tab that shows the request already. It leaves others alone: something may be typed there.
async function open(path) {
  const there = (await windows()).find(one => pathOf(one.url) === path);
  return there ? there.focus() : clients.openWindow(path);
}

// Messages are shown one after the other: the outcome of a request must not give way to the message that asked for it.
let last = Promise.resolve();
addEventListener("push", event => {
  const next = () => show(read(event.data));
  last = last.then(next, next);
  event.waitUntil(last);
});
addEventListener("notificationclick", event => {
  const { notification, action } = event;
  notification.close();
  event.waitUntil(action === "deny" ? deny(notification) : open(notification.data.path ?? "/"));
});
