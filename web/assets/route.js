// Addresses: every page, filter and opened prompt is in one.

let listeners = new Set();
export const onRoute = listener => { listeners.add(listener); return () => listeners.delete(listener); };
const tell = () => listeners.forEach(listener => listener());
addEventListener("popstate", () => { forget(); tell(); });

// typed is what stands after the path while somebody types into a search or moves along a list, else null. It is written
// to the address once that rests: Safari refuses the hundredth change in half a minute.
let typed = null, rest = 0;
const restMs = 400, refusedMs = 5000;
function forget() { clearTimeout(rest); typed = null; }
const writes = (how, to) => { try { history[how](null, "", to); return true; } catch { return false; } };
function settle() {
  const search = typed;
  forget();
  if (search !== null && !writes("replaceState", location.pathname + search)) later(search, refusedMs);
}
function later(search, ms) {
  clearTimeout(rest);
  typed = search;
  rest = setTimeout(settle, ms);
}

export const query = () => new URLSearchParams(typed ?? location.search);

export function go(to, replaces = false) { change(to, replaces); scrollTo({ top: 0, behavior: "instant" }); tell(); }

// setQuery changes parameters of the address; replaces says that Back does not undo it.
export function setQuery(parameters, replaces = false) { change(location.pathname + searchWith(parameters), replaces); tell(); }

// typeQuery changes parameters with each letter that is typed. Back does not undo it.
export function typeQuery(parameters) {
  later(searchWith(parameters), restMs);
  tell();
}

// change shows an address that the browser refuses, too: the page goes on, and another path loads.
function change(to, replaces) {
  if (!replaces) settle();
  forget();
  if (writes(replaces ? "replaceState" : "pushState", to)) return;
  const [path] = to.split("?", 1);
  if (path === location.pathname) later(to.slice(path.length), refusedMs); else location.assign(to);
}

function searchWith(parameters) {
  const params = query();
  for (const [name, value] of Object.entries(parameters)) if (value) params.set(name, value); else params.delete(name);
  const text = params.toString();
  return text && "?" + text;
}

// followLinks keeps links of the page in the page; the documents are other pages.
export function followLinks(event) {
  const link = event.target.closest?.("a[href]");
  if (link) settle();
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || link.origin !== location.origin || link.target || /^\/docs(\/|$)/.test(link.pathname)) return;
  event.preventDefault();
  go(link.pathname + link.search);
}
