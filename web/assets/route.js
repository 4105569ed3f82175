// Addresses: every page, filter and opened prompt is in one.

let listeners = new Set();
export const onRoute = listener => { listeners.add(listener); return () => listeners.delete(listener); };
const tell = () => listeners.forEach(listener => listener());
addEventListener("popstate", tell);

export const query = () => new URLSearchParams(location.search);

export function go(to, replaces = false) {
  history[replaces ? "replaceState" : "pushState"](null, "", to);
  scrollTo({ top: 0, behavior: "instant" });
  tell();
}

// setQuery changes parameters of the address; replaces says that Back does not undo it.
export function setQuery(change, replaces = false) {
  const params = query();
  for (const [name, value] of Object.entries(change)) if (value) params.set(name, value); else params.delete(name);
  const text = params.toString();
  history[replaces ? "replaceState" : "pushState"](null, "", location.pathname + (text && "?" + text));
  tell();
}

// followLinks keeps links of the page in the page; the documents are other pages.
export function followLinks(event) {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || link.origin !== location.origin || link.target || /^\/docs(\/|$)/.test(link.pathname)) return;
  event.preventDefault();
  go(link.pathname + link.search);
}
