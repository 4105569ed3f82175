// What a question is called, and what its payload says besides it.
import assert from "node:assert/strict";
import { test } from "node:test";

const { Json, pretty } = await import(`${process.env.HOLDPOINT_ASSETS}/exact.js`);
const { asksOf, besidesOf, headerOf, headingOf, titleOf } = await import(`${process.env.HOLDPOINT_ASSETS}/headings.js`);

test("all of a payload is shown: its question or message, and the rest", () => {
  for (const [payload, asks, rest] of [
    ['{"question":"Pay?"}', "Pay?"], ['{"message":"Pay?"}', "Pay?"],
    ['{"question":"Pay?","amount":5000}', "Pay?", '{"amount":5000}'], ['{"message":"Pay?","amount":1e400}', "Pay?", '{"amount":1e400}'],
    ['{"question":"Pay?","message":"5000"}', "Pay?", '{"message":"5000"}'], ['{"question":"","message":"Pay?"}', "Pay?", '{"question":""}'],
    ['{"message":{"amount":5000}}', undefined, '{"message":{"amount":5000}}'], ['"Pay?"', undefined, '"Pay?"'], ["{}", undefined],
  ]) {
    const request = { payload: new Json(payload) }, shown = besidesOf(request);
    assert.equal(asksOf(request), asks, payload);
    assert.equal(headingOf({ request }), asks ?? "Question", payload);
    assert.equal(shown && pretty(shown, ""), rest, payload);
  }
  assert.equal(besidesOf({}), undefined);
});

test("a payload next to structured questions is shown whole", () => {
  const request = { payload: new Json('{"question":"Pay 5000?"}'), questions: [{ question: "Pay?" }] };
  assert.equal(headingOf({ request }), "Pay?");
  assert.equal(pretty(besidesOf(request), ""), '{"question":"Pay 5000?"}');
});

test("a header that the service made up says nothing", () => {
  const asks = (...questions) => ({ request: { questions } }), made = { header: "Question 1", question: "Deploy now?" }, other = { header: "Question 2", question: "Where to?" };
  assert.deepEqual([headingOf(asks(made)), titleOf(asks(made))], ["Deploy now?", "Deploy now?"]);
  assert.equal(titleOf(asks({ ...made, question: "Deploy?\nNow?" })), "Question");
  assert.deepEqual([headingOf(asks(made, other)), titleOf(asks(made, other))], ["2 questions", "2 questions"]);
  assert.deepEqual([headingOf(asks({ ...made, header: "Region" }, other)), headerOf(undefined)], ["Region", ""]);
  assert.deepEqual([headerOf(other, 1), headingOf(asks(other))], ["", "Question 2"], "the service counts them, and another number is the agent's");
});
