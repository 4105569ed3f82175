// What cannot be seen, and what looks like something else, is marked.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const { lookAlikes } = await import(process.env.HOLDPOINT_ASSETS + "/lookalikes.js");
const { escaped, plain } = await import(process.env.HOLDPOINT_ASSETS + "/marks.js");

test("the page marks the look-alikes that the terminal marks", () => {
  const cases = JSON.parse(readFileSync(new URL("../../../internal/visible/testdata/cases.json", import.meta.url)));
  for (const [text, want] of Object.entries(cases)) {
    const found = [...lookAlikes(text).keys()].sort((a, b) => a - b).map(at => String.fromCodePoint(text.codePointAt(at)));
    assert.equal(found.join(""), want, JSON.stringify(text));
  }
});

test("names and edited JSON tell what cannot be seen", () => {
  for (const hidden of ["\u202e", "\u200b", "\u2028", "\u{e0041}", "\u{1d173}", "\u{1bca0}", "\u{e0100}", "\u3164", "\ufeff", "\u00a0", "\u2003", "\u180b", "\u180e", "\u2065", "\ue000", "\u{f0000}", "\uffff", "\ud800", "\u001b", "\n", "\u0430pple"]) {
    const code = "U+" + hidden.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    assert.ok(plain("ls" + hidden + "x").includes(code), code);
    if (hidden < " ") continue; // in JSON it is an escape, or between members
    const json = `{"a":"ls ${hidden}"}`;
    assert.ok(/^[ -~]*$/.test(escaped(json)), code);
    assert.deepEqual(JSON.parse(escaped(json)), JSON.parse(json));
  }
});

test("what people write is not marked", () => {
  for (const text of ["Voulez-vous continuer\u202f?", "«\u00a0oui\u00a0»", "10\u00a0000", "全角\u3000空白", "👩‍💻 ✔️", "می‌خواهم", "naïve", "Запустить make"])
    assert.equal(plain(text), text);
});
