// "Allow and …": a decision that also writes a rule. The service says which rules there are, and their texts.

import { html, useEffect, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { allow, back, canDecide, deny, isOver } from "./approval.js";
import { explain } from "./decide.js";
import { pretty } from "./exact.js";
import { opens, shiftedAll } from "./guard.js";
import { marked } from "./marks.js";
import { outcomeOf } from "./row.js";

const hour = 3600_000;
const today = () => { const end = new Date(); end.setHours(24, 0, 0, 0); return Math.max(60_000, end - Date.now()); };
const lifetimes = [["1 hour", () => hour], ["Today", today], ["30 days", () => 30 * 24 * hour], ["Always", () => 0]];

const exampleLine = ({ tool_name, input, tool_call_id, pattern_keys }) =>
  [tool_name, input && pretty(input.node, ""), tool_call_id && `as call ${tool_call_id}`, pattern_keys && `with the pattern keys ${pattern_keys.join(", ")}`].filter(Boolean).join(" ");

// Examples are calls that the rule matches, and near ones that it does not.
function Examples({ of: examples }) {
  if (!examples?.matching.length) return null;
  return html`<p>Matches:</p><ul aria-label="Calls that the rule decides">${examples.matching.map(one => html`<li><code>${marked(exampleLine(one))}</code></li>`)}</ul>
    <p>Does not match:</p><ul aria-label="Calls that the rule does not decide">${examples.not_matching.map(one =>
      html`<li><code>${marked(exampleLine(one))}</code> <span class="quiet">${marked(one.why_not)}</span></li>`)}</ul>`;
}

const whats = {
  exact: () => "This exact call", command: () => "This command, whatever its description and time limit", tool: one => `Every call of ${one.request.tool_name}`,
};

// choicesOf returns what may be allowed: [{as, scope, label}].
function choicesOf(one, texts) {
  return (texts?.allow?.choices ?? []).flatMap(choice => ["session", "always"].filter(scope => choice[scope])
    .map(scope => ({ as: choice.as, scope, label: (whats[choice.as]?.(one) ?? choice.as) + (scope === "session" ? ", in this session" : ", in all sessions") })));
}

export function AllowAnd({ one }) {
  const [as, choose] = useState("");
  const [lifetime, setLifetime] = useState("30 days");
  const [texts, setTexts] = useState(null);
  const [problem, setProblem] = useState("");
  const dialog = useRef();
  const forMs = lifetimes.find(([name]) => name === lifetime)[1]();
  useEffect(() => {
    opens(one.handle);
    dialog.current.showModal();
    return () => shiftedAll();
  }, []);
  // Its outcome stands where the buttons were.
  useEffect(() => { if (one.resolution) dialog.current?.close(); }, [!one.resolution]);
  useEffect(() => {
    let late = false;
    explain(one, forMs).then(found => { if (!late) { setTexts(found); setProblem(""); } }, error => { if (!late) setProblem(error.problem?.errors?.[0]?.detail ?? error.message); });
    return () => { late = true; };
  }, [lifetime]);
  const choices = choicesOf(one, texts), over = isOver(one);
  const chosen = choices.find(choice => `${choice.as} ${choice.scope}` === as) ?? choices[0];
  const textOf = effect => texts?.[effect]?.choices?.find(choice => choice.as === chosen?.as)?.[chosen?.scope];
  const decision = chosen && { remember: chosen.scope, remember_as: chosen.as, remember_for_ms: forMs };
  const off = !canDecide(one) || !decision;
  const radio = (name, label, checked, onChange) => html`<label class="choice"><input type="radio" name=${name} checked=${checked} disabled=${over} onChange=${onChange} /><span>${label}</span></label>`;
  return html`<dialog class="sheet" aria-label="Allow and …" ref=${dialog} onClose=${() => back(one)}>
    <h2>Allow and …</h2>
    <div role="radiogroup" aria-label="What to allow" class="options">${choices.map(choice => radio("what", marked(choice.label), choice === chosen, () => choose(`${choice.as} ${choice.scope}`)))}</div>
    <div role="radiogroup" aria-label="For" class="choices">${lifetimes.map(([name]) => radio("for", name, name === lifetime, () => setLifetime(name)))}</div>
    <div class="rule-text" role="note">${problem || (texts ? html`<p>${marked(textOf("allow") ?? "No such rule can be written.")}</p><${Examples} of=${texts.allow?.choices?.find(choice => choice.as === chosen?.as)?.examples} />` : html`<p>Loading…</p>`)}</div>
    ${over ? html`<p class="outcome" role="status">${marked(outcomeOf(one))}</p>` : ""}
    ${one.error && !over && html`<p class="error" role="alert">${marked(one.error)}</p>`}
    <div class="buttons"><button type="button" onClick=${() => dialog.current.close()}>Back</button>
      ${!over && html`<button type="button" disabled=${off || !textOf("deny")} title=${textOf("deny")} onClick=${event => deny(one, event, decision)}>Deny</button>`}
      <span class="space"></span>
      ${!over && !one.barred && html`<button type="button" class="allow" disabled=${off || one.barred !== ""} onClick=${event => allow(one, event, decision)}>Allow</button>`}</div></dialog>`;
}
