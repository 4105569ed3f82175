// The search: an index of all headings with their text, fetched when it is first needed, looked
// through here. And the list of documents, which is open where there is room for it.

const longest = 200, mostWords = 8, mostFound = 20;

const wide = matchMedia("(min-width: 60rem)");
const contents = document.querySelector(".contents details");
const unfold = () => { contents.open = wide.matches; };
wide.addEventListener("change", unfold);
unfold();

const make = (tag, attributes, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

const field = make("input", {
  type: "search", placeholder: "Search  /", "aria-label": "Search the documents", maxlength: longest, autocomplete: "off", spellcheck: "false",
  role: "combobox", "aria-expanded": "false", "aria-controls": "found", "aria-autocomplete": "list",
});
const found = make("ul", { id: "found", role: "listbox", "aria-label": "Found", hidden: "" });
const told = make("p", { role: "status", class: "sr" });
const place = document.querySelector("search");
place.append(field, found, told);
place.hidden = false;

let index;
const read = () => index ??= fetch("/docs/search.json").then(reply => {
  if (!reply.ok) throw new Error(reply.status);
  return reply.json();
}).then(entries => entries.map(one => ({ ...one, head: `${one.page} ${one.heading ?? ""}`.toLowerCase(), body: (one.text ?? "").toLowerCase() })))
  .catch(failure => { index = undefined; throw failure; });

/** How well an entry fits; 0 when a word is nowhere in it. */
function fit(entry, words) {
  let sum = 0;
  for (const word of words) {
    const title = entry.head.indexOf(word);
    if (title >= 0) sum += 10 + (title === 0 || /\W/.test(entry.head[title - 1]) ? 10 : 0) + (entry.heading ? 0 : 5);
    else if (entry.body.includes(word)) sum += 1;
    else return 0;
  }
  return sum;
}

function excerpt(entry, words) {
  const at = Math.max(0, Math.min(...words.map(word => entry.body.indexOf(word)).filter(i => i >= 0), entry.body.length) - 40);
  const text = (entry.text ?? "").slice(at, at + 140);
  return (at > 0 ? "…" : "") + text + (at + 140 < (entry.text ?? "").length ? "…" : "");
}

let chosen = -1;
function choose(next) {
  const all = [...found.children];
  all[chosen]?.removeAttribute("aria-selected");
  chosen = all.length ? (next + all.length) % all.length : -1;
  const now = all[chosen];
  now?.setAttribute("aria-selected", "true");
  now?.scrollIntoView({ block: "nearest" });
  if (now) field.setAttribute("aria-activedescendant", now.id);
  else field.removeAttribute("aria-activedescendant");
}

function show(entries, words) {
  found.replaceChildren(...entries.map((entry, i) => {
    const option = make("li", { role: "option", id: `found-${i}`, "data-address": entry.address },
      make("strong", {}, entry.heading ?? entry.page), make("span", { class: "quiet" }, entry.heading ? ` ${entry.page}` : ""),
      make("span", { class: "excerpt" }, excerpt(entry, words)));
    option.addEventListener("mousedown", event => { event.preventDefault(); location.assign(entry.address); close(); });
    return option;
  }));
  found.hidden = entries.length === 0;
  field.setAttribute("aria-expanded", String(!found.hidden));
  choose(-1);
  chosen = -1;
  field.removeAttribute("aria-activedescendant");
  found.querySelector("[aria-selected]")?.removeAttribute("aria-selected");
}

function close() { show([], []); told.textContent = ""; }

let asked = 0;
async function search() {
  const mine = ++asked;
  const words = [...new Set(field.value.slice(0, longest).toLowerCase().split(/\s+/).filter(Boolean))].slice(0, mostWords);
  if (words.length === 0) return close();
  let entries;
  try { entries = await read(); } catch { told.textContent = "The search cannot be reached."; return; }
  if (mine !== asked) return;
  const fitting = entries.map(entry => [fit(entry, words), entry]).filter(([sum]) => sum > 0).sort(([a], [b]) => b - a).slice(0, mostFound).map(([, entry]) => entry);
  show(fitting, words);
  told.textContent = fitting.length === 0 ? "Nothing is found." : `${fitting.length} found`;
}

field.addEventListener("input", search);
field.addEventListener("focus", () => { read().catch(() => {}); });
field.addEventListener("blur", close);
field.addEventListener("keydown", event => {
  if (event.key === "ArrowDown") choose(chosen + 1);
  else if (event.key === "ArrowUp") choose(chosen < 0 ? -1 : chosen - 1);
  else if (event.key === "Enter") {
    const to = (found.children[chosen] ?? found.children[0])?.dataset.address;
    if (to) { location.assign(to); field.blur(); }
  } else if (event.key === "Escape") { field.value = ""; close(); } else return;
  event.preventDefault();
});
addEventListener("keydown", event => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select")) return;
  event.preventDefault();
  field.focus();
});
