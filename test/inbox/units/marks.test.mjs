// What cannot be seen, and what looks like something else, is marked.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const { lookAlikes } = await import(process.env.HOLDPOINT_ASSETS + "/lookalikes.js");
const { escaped, marked, plain } = await import(process.env.HOLDPOINT_ASSETS + "/marks.js");

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

test("a flood of hidden characters, or of marks on one letter, is one mark", () => {
  const textOf = text => [marked(text)].flat().map(one => one?.props ? `<${one.props.children}>` : one).join("");
  assert.equal(textOf("ls" + "\u200b".repeat(4000) + "\u200c\u200b x\u{e0041}\u{e0041}"), "ls<U+200B ×4000><U+200C><U+200B> x<U+E0041 ×2>");
  assert.equal(textOf("a\u200bb\u200b"), "a<U+200B>b<U+200B>");
  const stack = "\u0336\u0489".repeat(400), kept = stack.slice(0, 8);
  assert.equal(textOf(`Z${stack} rm Z${stack}`), `Z${kept}<792 more marks> rm Z${kept}<792 more marks>`);
  assert.equal(textOf("Z" + "\u034f\u0301".repeat(6)), "Z" + "<U+034F>\u0301".repeat(4) + "<4 more marks>", "a mark that cannot be seen itself");
  assert.equal(plain(`Z${stack} rm`), `Z${kept}[792 more marks] rm`);
  const many = [marked("a\u200b\u200c".repeat(40_000) + "b")].flat();
  assert.ok(many.length < 10_000, `${many.length} parts`);
  assert.equal(many.slice(-2).join("").slice(-30), "[U+200B][U+200C]a[U+200B][U+200C]b".slice(-30));
  for (const text of ["Tiê\u0323\u0301ng", "בְּרֵאשִׁ֖ית", "ཧཱུྃ", "क्षत्रि", "กี่"]) assert.equal(textOf(text), text);
});
