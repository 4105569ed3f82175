// What was answered is said as it was recorded.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.matchMedia = () => ({ matches: false, addEventListener: () => {} });
const { Json } = await import(process.env.HOLDPOINT_ASSETS + "/exact.js");
const { answerRows, hasAnswer } = await import(process.env.HOLDPOINT_ASSETS + "/recorded.js");

const json = value => new Json(JSON.stringify(value));
const typed = (schema, value, more = {}) => answerRows({ kind: "question", request: { payload: json({ question: "How much?" }), response_schema: json(schema), ...more }, resolution: { value: json(value) } }).map(({ name, texts }) => `${name}: ${texts.join("|")}`);

test("a typed answer is what was recorded, by the titles of the form", () => {
  const schema = { type: "object", properties: {
    amount: { type: "integer", title: "Amount", default: 100 }, to: { title: "To", oneOf: [{ const: "a", title: "Ada" }, { const: "b", title: "Ben" }] },
    tags: { type: "array", items: { enum: ["x", "y"] } }, sure: { type: "boolean" }, note: { type: "string" }, more: { type: "object" },
  } };
  assert.deepEqual(typed(schema, { amount: 5 }), ["Amount: 5"], "no default");
  assert.deepEqual(typed(schema, { to: "b", tags: ["y", "z"], sure: false, note: "", more: { a: 1 }, other: null }), ["To: Ben", 'tags: y|"z"'.replace("|", "\n"), "sure: No", 'note: ""', 'more: {\n  "a": 1\n}', "other: null"]);
  assert.deepEqual(typed(schema, {}), ["Answer: No answer"]);
  assert.deepEqual(typed({ type: "integer", title: "Seats" }, 2), ["Seats: 2"]);
  assert.deepEqual(typed({ type: "string" }, "as I said"), ["Answer: as I said"]);
  assert.deepEqual(typed({ type: "string" }, { sensitive: true }, { sensitive: true }), ["Answer: (sensitive)"]);
});

test("chosen options have their labels, and a text is quoted", () => {
  const questions = [
    { id: "route", question: "Which route?", options: [{ id: "n", label: "North" }, { id: "s", label: "South" }] },
    { id: "seat", question: "Which seat?", options: [{ id: "1", label: "Aisle" }, { id: "2", label: "Aisle" }] },
    { id: "pin", question: "Which PIN?" }, { id: "why", question: "Why?" },
  ];
  const rows = answerRows({ kind: "question", request: { questions }, resolution: { answers: [
    { question_id: "route", selected_option_ids: ["s"], freeform_answer: "until Friday" }, { question_id: "seat", selected_option_ids: ["2"] }, { question_id: "pin", sensitive: true },
    { question_id: "gone", selected_option_ids: ["x"] },
  ] } });
  assert.deepEqual(rows.map(({ name, texts, others = [] }) => [name, ...texts, others.join()]), [
    ["Which route?", "South", "“until Friday”", "North"], ["Which seat?", "Aisle (2)", "Aisle (1)"], ["Which PIN?", "(sensitive)", ""], ["Why?", "No answer", ""], ["gone", "x", ""],
  ]);
  assert.deepEqual([{}, { answers: [] }, { answers: [{}] }, { value: json(null) }].map(hasAnswer), [false, false, true, true]);
});
