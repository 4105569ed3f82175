// "Allow and …": a decision that also writes a rule. The service says which rules there are, and their texts.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { inWords } from "./api.js";
import { allow, back, canDecide, deny, isOver, readOn } from "./approval.js";
import { explain } from "./decide.js";
import { pretty } from "./exact.js";
import { focusedByPage, opens, shiftedAll } from "./guard.js";
import { about, shortID } from "./groups.js";
import { awake, nowMs } from "./inbox.js";
import { lifetimes } from "./lifetimes.js";
import { marked } from "./marks.js";
import { outcomeOf } from "./row.js";
import { RuleText } from "./rule_text.js";
import { isSeen, readsToEnd } from "./seen.js";
import { Undo } from "./undo.js";

function ExampleLine({ of: { tool_name, input, tool_call_id, pattern_keys, directory } }) {
  return html`<code>${marked([tool_name, input && pretty(input.node, "")].filter(Boolean).join(" "))}${tool_call_id && html` as call <span title=${tool_call_id}>${marked(shortID(tool_call_id))}</span>`}${pattern_keys && marked(` with the pattern keys ${pattern_keys.join(", ")}`)}${directory && marked(` in ${directory}`)}</code>`;
}

// Examples are calls that the rule matches, and near ones that it does not.
function Examples({ of: examples }) {
  if (!examples?.matching.length) return null;
  return html`<p>Matches:</p><ul aria-label="Calls that the rule decides">${examples.matching.map(one => html`<li><${ExampleLine} of=${one} /></li>`)}</ul>
    <p>Does not match:</p><ul aria-label="Calls that the rule does not decide">${examples.not_matching.map(one =>
      html`<li><${ExampleLine} of=${one} /> <span class="quiet">${marked(one.why_not)}</span></li>`)}</ul>`;
}

const isEdit = one => ["edit", "patch", "write"].includes(about(one).kind);
const whats = {
  __proto__: null,
  exact: () => "This exact call",
  command: () => "This command, whatever its description",
  prefix: (one, words) => `Commands that start with “${words}”`,
  folder: (one, folder) => `${isEdit(one) ? "Edits" : `Calls of ${one.request.tool_name}`} in ${folder}`,
  tool: one => `Every call of ${one.request.tool_name}`,
};
const lasts = { "1 hour": "for the next hour", Today: "until the end of today", "30 days": "for 30 days", Always: "without an end" };

// placeOf says where a rule to allow holds. Its text has the whole folder.
const placeOf = ({ request: { directory } }, as, scope) => [directory && as !== "tool" && `in ${directory.length > 80 ? "this folder" : directory}`, scope === "session" ? "in this session" : "in all sessions"].filter(Boolean).join(", ");

// choicesOf returns what may be allowed: [{as, scope, label}].
function choicesOf(one, texts) {
  return (texts?.allow?.choices ?? []).flatMap(choice => ["session", "always"].filter(scope => choice[scope])
    .map(scope => ({ as: choice.as, scope, also: new Set(choice.also), what: whats[choice.as]?.(one, choice.about) ?? choice.as, where: placeOf(one, choice.as, scope) })));
}

const mostOthers = 100; // requests that the service tries the rules on

const canJoin = other => !other.resolution && !other.snoozedUntilMs && !other.sending && other.barred === "";
const othersOf = one => awake().filter(other => other !== one && other.kind === "approval" && other.request.tool_name === one.request.tool_name && canJoin(other));

// alsoAllowed returns the other requests that the rule would have allowed, had it been there before they were raised:
// {read, unread}. Who has not read one does not allow it. Equal calls are known here; of parts of an input the service tells.
function alsoAllowed(one, others, chosen) {
  const fits = chosen?.as === "exact" ? other => one.digest && other.digest === one.digest && other.request.directory === one.request.directory : chosen?.as === "tool" ? () => true : other => chosen?.also.has(other.handle);
  const list = others.filter(other => canJoin(other) && (chosen?.scope !== "session" || other.session === one.session) && fits(other));
  return { read: list.filter(isSeen), unread: list.filter(other => !isSeen(other)).length };
}

function Also({ also, on, over, set }) {
  const { read: { length: n }, unread } = also;
  if (n + unread === 0) return null;
  return html`${n > 0 && html`<label class="choice"><input type="checkbox" checked=${on} disabled=${over} onChange=${event => set(event.target.checked)} />Also allows ${n} that ${n === 1 ? "waits" : "wait"} now</label>`}
    ${unread > 0 && html`<p class="quiet">${unread} ${unread === 1 ? "that waits now was" : "that wait now were"} not read and ${unread === 1 ? "is" : "are"} left out.</p>`}`;
}

export function AllowAnd({ one }) {
  const [as, choose] = useState("");
  const [lifetime, setLifetime] = useState("30 days");
  const [texts, setTexts] = useState(null);
  const [problem, setProblem] = useState("");
  const [withOthers, setWithOthers] = useState(true);
  const dialog = useRef(), [others] = useState(() => othersOf(one)); // what arrives later is not in it
  useEffect(() => {
    opens(one.handle);
    dialog.current.showModal();
    dialog.current.focus(); // the choices come with the answer
    return () => shiftedAll();
  }, []);
  // Its outcome stands where the buttons were.
  useEffect(() => { if (one.resolution) dialog.current?.close(); }, [!one.resolution]);
  useEffect(() => {
    let late = false;
    const atMs = nowMs(), term = { forMs: lifetimes.find(([name]) => name === lifetime)[1](atMs), atMs };
    const tried = [...others].sort((a, b) => isSeen(b) - isSeen(a)).slice(0, mostOthers);
    explain(one, term.forMs, tried).then(found => { if (!late) { setTexts({ ...found, lifetime, term }); setProblem(""); } }, error => { if (!late) setProblem(inWords(error)); });
    return () => { late = true; };
  }, [lifetime]);
  // The first choice has the focus, unless the person has gone on already.
  useEffect(() => { if (texts && document.activeElement === dialog.current) dialog.current.querySelector("input:checked")?.focus(); }, [!texts]);
  const choices = choicesOf(one, texts), over = isOver(one);
  const chosen = choices.find(choice => `${choice.as} ${choice.scope}` === as) ?? choices[0];
  // A button that was pressed is replaced, and choices are off meanwhile: the focus stays in the sheet.
  useLayoutEffect(() => {
    const sheet = dialog.current, at = document.activeElement;
    if (!sheet.open || at !== sheet && sheet.contains(at) && !at.disabled) return;
    (sheet.querySelector("input:checked:enabled") ?? sheet).focus();
    focusedByPage();
  }, [over]);
  const textOf = effect => texts?.[effect]?.choices?.find(choice => choice.as === chosen?.as)?.[chosen?.scope];
  const decision = chosen && { remember: chosen.scope, remember_as: chosen.as, term: texts.term };
  // The sentence says until when, so nothing is allowed before it is there.
  const off = !canDecide(one) || !decision || texts.lifetime !== lifetime, also = alsoAllowed(one, others, chosen);
  const read = readsToEnd(one);
  // What was not read is below the dialog.
  const allows = event => {
    if (read) return allow(one, event, decision, withOthers ? also.read : []);
    dialog.current.close();
    void readOn(one);
  };
  // Enter on a choice allows: three keys in all.
  const keyed = event => {
    if (event.key !== "Enter" || event.target.type !== "radio" || off || over || one.barred !== "") return;
    event.preventDefault();
    allows(event);
  };
  const radio = (name, label, checked, onChange) => html`<label class="choice"><input type="radio" name=${name} checked=${checked} disabled=${over} onChange=${onChange} /><span>${label}</span></label>`;
  return html`<dialog class="sheet" aria-label="Allow and …" tabindex="-1" ref=${dialog} onClose=${() => back(one)} onKeyDown=${keyed}>
    <h2>Allow and …</h2>
    <div role="radiogroup" aria-label="What to allow" class="options">${choices.map(choice => radio("what", marked(`${choice.what}, ${choice.where}`), choice === chosen, () => choose(`${choice.as} ${choice.scope}`)))}</div>
    <div role="radiogroup" aria-label="For" class="choices">${lifetimes.map(([name]) => radio("for", name, name === lifetime, () => setLifetime(name)))}</div>
    <${Also} also=${also} on=${withOthers} over=${over} set=${setWithOthers} />
    <div class="rule-text" role="note">${problem || (texts ? html`<p>${chosen && marked(`From now on: ${chosen.what.charAt(0).toLowerCase()}${chosen.what.slice(1)} ${chosen.where}, ${lasts[lifetime]}, without asking.`)}</p><p class="quiet"><${RuleText} text=${textOf("allow") ?? "No such rule can be written."} digest=${one.request.input_digest} /></p>
      ${textOf("deny") && html`<p class="quiet">“Deny from now on” writes: <${RuleText} text=${textOf("deny")} digest=${one.request.input_digest} /></p>`}<${Examples} of=${texts.allow?.choices?.find(choice => choice.as === chosen?.as)?.examples} />` : html`<p>Loading…</p>`)}</div>
    ${over ? html`<p class="outcome" role="status">${marked(outcomeOf(one))}</p>` : ""}
    ${one.error && !over && html`<p class="error" role="alert">${marked(one.error)}</p>`}
    <div class="buttons"><button type="button" onClick=${() => dialog.current.close()}>Back</button>
      ${!over && html`<button type="button" disabled=${off || !textOf("deny")} onClick=${event => deny(one, event, decision)}>Deny from now on</button>`}
      <span class="space"></span><${Undo} one=${one} alone />
      ${!over && !one.barred && html`<button type="button" class=${read ? "allow" : "read"} disabled=${read && (off || one.barred !== "")} onClick=${allows}>${read ? "Allow" : "Read to the end to allow"}</button>`}</div></dialog>`;
}
