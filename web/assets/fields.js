// The fields of a form (form.js) on the page: a label, the control, what it is for, its limits, what is wrong.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { own } from "./form.js";
import { marked, plain } from "./marks.js";
import { pointer } from "./schema.js";

const mostRadios = 9; // more choices, or choices that say nothing more, are a list to open

// Radios are choices of which one may be taken back: by a second press, by Space, or by "Clear".
export function Radios({ name, label, options, chosen, give, over, required = false }) {
  return html`<div role="radiogroup" aria-label=${label} aria-required=${required ? "true" : null} class="options">${options.map(({ value, words, named, about, keyCap }, i) => html`<label class="choice option"><input type="radio"
      name=${name} aria-label=${named} aria-describedby=${about ? `${name}-about-${i}` : null} checked=${chosen === value} disabled=${over}
      onClick=${() => { if (chosen === value) give(undefined); }} onChange=${() => give(value)} />
      <span>${words}${about && html`<small id=${`${name}-about-${i}`}>${marked(about)}</small>`}</span>${keyCap && html`<kbd aria-hidden="true">${keyCap}</kbd>`}</label>`)}</div>
    ${chosen !== undefined && !over && html`<p class="clear"><button type="button" class="link" onClick=${() => give(undefined)}>Clear</button></p>`}`;
}

// A field for a date and time speaks in the time of the person's place; what is sent says which that is.
const two = n => String(n).padStart(2, "0");
const localTime = at => Number.isNaN(at.getTime()) ? "" : `${String(at.getFullYear()).padStart(4, "0")}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
export function toLocal(text) {
  const typed = text?.slice(0, 16);
  // The year 0002 of a half typed date had an offset with seconds, which the text cannot say: converting it moves the minutes.
  // A time that the clock skips, when daylight saving begins, is shown as it is sent.
  if (typed && fromLocal(typed) === text && localTime(new Date(typed)) === typed) return typed;
  return localTime(new Date(text ?? ""));
}
export function fromLocal(text) {
  const at = new Date(text);
  if (!text || Number.isNaN(at.getTime())) return "";
  const minutes = -Math.round(at.getTimezoneOffset()), size = Math.abs(minutes);
  return `${text.length === 16 ? text + ":00" : text}${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

const inputs = { __proto__: null, date: ["date"], "date-time": ["datetime-local"], email: ["text", "email"], uri: ["text", "url"], password: ["password"] };

function Control({ field, raw, give, over, id, secret, described, wrong }) {
  const shared = { "aria-describedby": described, "aria-invalid": wrong ? "true" : null, required: field.required && !field.nullable };
  switch (field.kind) {
    case "number": return html`<input ...${shared} type=${secret ? "password" : "text"} role="spinbutton" inputmode=${field.type === "integer" ? "numeric" : "decimal"} autocomplete="off"
      readonly=${over} value=${raw ?? ""} onInput=${e => give(e.target.value)} />`;
    case "text": {
      if (field.long && !secret) return html`<textarea ...${shared} rows="4" readonly=${over} value=${raw ?? ""} onInput=${e => give(e.target.value)}></textarea>`;
      const [type, mode] = secret ? ["password"] : inputs[field.format] ?? ["text"], local = type === "datetime-local";
      return html`<input ...${shared} type=${type} inputmode=${mode} autocomplete=${type === "password" ? "new-password" : "off"} readonly=${over} value=${local ? toLocal(raw) : raw ?? ""}
        onInput=${e => give(local ? fromLocal(e.target.value) : e.target.value)} />`;
    }
    case "choice": return html`<select ...${shared} disabled=${over} onChange=${e => give(e.target.value === "" ? undefined : field.choices[Number(e.target.value)].text)}>
      <option value="">Choose</option>${field.choices.map((one, i) => html`<option value=${String(i)} selected=${raw === one.text}>${plain(one.label)}</option>`)}</select>`;
    case "list": return html`<textarea ...${shared} rows="3" readonly=${over} value=${raw ?? ""} onInput=${e => give(e.target.value)}></textarea>`;
  }
  return html`<textarea ...${shared} class="code" rows="4" spellcheck=${false} readonly=${over} value=${raw ?? ""} onInput=${e => give(e.target.value)}></textarea>`;
}

// Field is one field. faults are the form's, by pointer; give takes what was filled in.
export function Field({ field, raw, give, over, id, secret, at, faults }) {
  const title = field.title || "Your answer", here = faults.filter(one => !one.missing && (one.at === at || one.at.startsWith(at + "/") && field.kind !== "object" && field.kind !== "union"));
  const notes = [field.required && !field.nullable && field.kind !== "check" && field.kind !== "object" && "required", ...field.limits, field.format === "date-time" && "in your time zone"].filter(Boolean).join(", ");
  const described = [field.description && `${id}-about`, notes && `${id}-notes`, here.length > 0 && `${id}-faults`].filter(Boolean).join(" ") || null;
  const about = html`${field.description && html`<small id=${`${id}-about`}>${marked(field.description)}</small>`}${notes && html`<small id=${`${id}-notes`}>${marked(notes)}</small>`}
    ${here.length > 0 && html`<ul class="faults" id=${`${id}-faults`}>${here.map(one => html`<li>${marked(one.text)}</li>`)}</ul>`}`;
  const group = (role, inner) => html`<div class="field" role=${role} aria-label=${plain(title)} aria-describedby=${described}><span class="name">${marked(title)}</span>${about}${inner}</div>`;
  const tick = (name, checked, onChange, more) => html`<label class="choice"><input type="checkbox" aria-label=${plain(name)} checked=${checked} disabled=${over} onChange=${onChange} /><span>${marked(name)}${more && html`<small>${marked(more)}</small>`}</span></label>`;
  const radios = options => html`<div class="field"><span class="name">${marked(title)}</span>${about}<${Radios} name=${id} label=${plain(title)} options=${options} chosen=${raw} give=${give} over=${over} required=${field.required && !field.nullable} /></div>`;
  switch (field.kind) {
    case "fixed": return html`<div class="field"><span class="name">${marked(title)}</span><span>${marked(field.label)}</span>${about}</div>`;
    case "check": return html`<div class="field">${tick(title, raw === "true", e => give(String(e.target.checked)))}${about}</div>`;
    case "yesno": return radios([{ value: "true", words: "Yes" }, { value: "false", words: "No" }]);
    case "choice":
      if (field.choices.length > mostRadios || !field.choices.some(one => one.description)) break;
      return radios(field.choices.map(one => ({ value: one.text, words: marked(one.label), named: plain(one.label), about: one.description })));
    case "choices": return group("group", html`<div class="options">${field.choices.map(one => tick(one.label, (raw ?? []).includes(one.text),
      e => give(e.target.checked ? [...raw ?? [], one.text] : raw.filter(other => other !== one.text)), one.description))}</div>`);
    case "union": {
      const which = raw?.which, option = field.options[which];
      return group("group", html`<${Radios} name=${id} label=${`${plain(title)}: which`} options=${field.options.map((one, i) => ({ value: i, words: marked(one.label), named: plain(one.label), about: one.field.description }))} chosen=${which} over=${over}
        give=${next => give(next === undefined ? undefined : { of: {}, ...raw, which: next })} required=${field.required && !field.nullable} />
        ${option && option.field.kind !== "fixed" && html`<div class="inside"><${Field} key=${which} field=${{ ...option.field, title: option.label, description: "" }} raw=${raw.of?.[which] ?? option.field.start} id=${`${id}-${which}`} secret=${secret} over=${over} faults=${faults}
          at=${at} give=${next => give({ ...raw, of: { ...raw.of, [which]: next } })} /></div>`}`);
    }
    case "object": return group("group", html`<div class="inside">${field.fields.map((one, i) => html`<${Field} key=${one.name} field=${one} raw=${own(raw, one.name)} id=${`${id}-${i}`} secret=${secret} over=${over} faults=${faults}
      at=${pointer(at, one.name)} give=${next => give({ ...raw, [one.name]: next })} />`)}</div>`);
  }
  return html`<div class="field"><label><span>${marked(title)}${field.kind === "json" && " (JSON)"}</span>
    <${Control} field=${field} raw=${raw} give=${give} over=${over} id=${id} secret=${secret} described=${described} wrong=${here.length > 0} /></label>${about}</div>`;
}
