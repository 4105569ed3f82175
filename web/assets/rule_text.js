// The text of a rule as a person reads it: ids and digests are short and times are local. The whole ones are in titles.
// Quoted texts stay as they are: callers wrote them.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { marked } from "./marks.js";
import { partsOf } from "./rule_parts.js";
import { When } from "./when.js";

const minute = 60_000;

export const RuleText = ({ text, digest }) => partsOf(text, digest).map(one =>
  // A rule never ends after its text says.
  one.time ? html`<${When} ms=${Math.ceil(one.time / minute) * minute} />` : one.short ? html`<span title=${one.text}>${marked(one.short)}</span>` : marked(one.text));
