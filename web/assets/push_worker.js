// Shows the notifications of the service in this browser, and opens their request. It runs without a page and
// keeps nothing. The address of a press is a page of this service, whatever the message says.

"use strict";

addEventListener("install", () => skipWaiting());
addEventListener("activate", event => event.waitUntil(clients.claim()));

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

const windows = () => clients.matchAll({ type: "window", includeUncontrolled: true });

// show replaces the notification of the same request, and alerts again unless it is the same message. It makes no sound for
// people who look at the inbox, or if the message is silent because the request is settled. A browser takes the permission
// away from a worker that shows nothing, so the outcome is shown first and closed for people who look at the inbox.
async function show({ title, body, tag, navigate, silent: settled, data }) {
  const focused = (await windows()).some(one => one.focused);
  const silent = focused || settled === true;
  const id = String(data?.id ?? "");
  const shown = async () => tag ? registration.getNotifications({ tag: String(tag) }) : [];
  const renotify = Boolean(tag) && !silent && !(await shown()).some(one => id && one.data.id === id);
  await registration.showNotification(String(title ?? "holdpoint"), {
    body: String(body ?? ""), ...(tag && { tag: String(tag) }), silent, renotify, icon: "/assets/icon-192.png", data: { id, path: pathOf(navigate ?? "/") },
  });
  if (settled === true && focused) (await shown()).forEach(one => one.close());
}

// open uses a tab that shows the request already. It leaves others alone: something may be typed there.
async function open(path) {
  const there = (await windows()).find(one => pathOf(one.url) === path);
  return there ? there.focus() : clients.openWindow(path);
}

addEventListener("push", event => event.waitUntil(show(read(event.data))));
addEventListener("notificationclick", event => {
  event.notification.close();
  event.waitUntil(open(event.notification.data.path ?? "/"));
});
