// The form that changes an input before it is allowed.

import { html, useEffect, useMemo } from "./vendor/htm-preact-standalone-3.1.1.js";
import { allow, closes, draftOf, isOver, keepDraft } from "./approval.js";
import { useFocus } from "./components.js";
import { whole } from "./decide.js";
import { Json, pretty, read } from "./exact.js";
import { act } from "./guard.js";
import { Changes } from "./diff.js";
import { changed } from "./inbox.js";
import { escaped, marked } from "./marks.js";
import { faults } from "./schema.js";
import { isRoomy } from "./screen.js";

const textOf = one => draftOf(one, "input", escaped(pretty(one.request.input.node)));

// parsed returns {node, wrong} of what was typed. What it was worked out for is kept with it.
function parsed(one) {
  const text = textOf(one), { input, input_schema: schema } = one.request;
  if (one.edited?.text === text && one.edited.input === input) return one.edited;
  let node, same = false, wrong = [];
  try {
    node = read(text);
    same = pretty(node) === pretty(input.node);
    if (schema !== undefined) wrong = faults(schema.node, node);
  } catch (error) { wrong = ["Invalid JSON: " + error.message]; }
  return one.edited = { text, input, node, same, wrong };
}

// canSend reports whether what was typed is a change that fits. Without one it would be recorded as "Allowed with changes".
export const canSend = one => !one.request.input_truncated && parsed(one).wrong.length === 0 && !parsed(one).same;

// sendEdit allows what was typed, as its text.
export function sendEdit(one, event) {
  event.preventDefault();
  if (canSend(one)) allow(one, event, { updated_input: new Json(textOf(one)) });
}

function Editor({ one }) {
  const before = useMemo(() => pretty(one.request.input.node), [one.request.input]);
  const edited = parsed(one), { text, node, same, wrong } = edited;
  const changes = useMemo(() => { // not with every event: it takes long
    return same ? html`<p class="quiet">Nothing is changed.</p>` : html`<${Changes} before=${before} after=${node ? pretty(node) : text} />`;
  }, [edited, isRoomy()]);
  one.typed = text;
  const id = "faults-" + one.handle;
  return html`<label>Input<textarea ref=${useFocus(true)} class="code" spellcheck=${false} rows=${text.split("\n").length + 1} value=${text} readonly=${isOver(one)}
      aria-invalid=${wrong.length > 0} aria-describedby=${id} onInput=${e => { act(one.handle); keepDraft(one, "input", e.target.value); }}></textarea></label>
    <ul class="faults" id=${id}>${wrong.map(fault => html`<li>${marked(fault)}</li>`)}</ul>
    <section aria-label="Changes"><h3>Changes</h3>${changes}</section>`;
}

export function EditForm({ one }) {
  const cut = one.request.input_truncated;
  useEffect(() => { if (cut) whole(one).catch(error => { one.error = error.message; changed(); }); }, [cut]);
  return html`<div class="form" onKeyDown=${closes(one)}>${!cut && html`<${Editor} one=${one} />`}</div>`;
}
