// Addresses: every page, filter and opened prompt is in one.

let listeners = new Set();
export const onRoute = listener => { listeners.add(listener); return () => listeners.delete(listener); };
const tell = () => listeners.forEach(listener => listener());
addEventListener("popstate", () => { forget(); tell(); });

// typed is what stands after the path while somebody types into a search, else null. It is written to the address
// once the typing rests: Safari refuses the hundredth change in half a minute, and then the search would stop there.
let typed = null, rest = 0;
const restMs = 400;
function forget() { clearTimeout(rest); typed = null; }
function settle() {
  if (typed !== null) history.replaceState(null, "", location.pathname + typed);
  forget();
}

export const query = () => new URLSearchParams(typed ?? location.search);

export function go(to, replaces = false) { change(to, replaces); scrollTo({ top: 0, behavior: "instant" }); tell(); }

// setQuery changes parameters of the address; replaces says that Back does not undo it.
export function setQuery(parameters, replaces = false) { change(location.pathname + searchWith(parameters), replaces); tell(); }

// typeQuery changes parameters with each letter that is typed. Back does not undo it.
export function typeQuery(parameters) {
  const search = searchWith(parameters);
  forget();
  typed = search;
  rest = setTimeout(settle, restMs);
  tell();
}

function change(to, replaces) {
  if (!replaces) settle();
  forget();
  history[replaces ? "replaceState" : "pushState"](null, "", to);
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
