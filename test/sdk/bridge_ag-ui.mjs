// Holds the bridge of AG-UI to what its page says, with tasks and agents of its own.
import { decodeJSON, encodeJSON } from "@holdpoint/sdk";
import { answeredBy } from "./bridge.mjs";

const same = (got, want) => {
  if (encodeJSON(got) !== encodeJSON(want)) throw new Error(`${encodeJSON(got)} and not ${encodeJSON(want)}`);
};

/** Returns what a run is suspended with whose agent makes these calls and waits for these interrupts. */
async function suspension(interrupts, toolCalls = []) {
  const agent = { messages: [{ id: "plan", role: "assistant", toolCalls }], state: {}, pendingInterrupts: interrupts, runAgent: async () => ({}) };
  const suspended = new Error("suspended");
  let asked;
  const suspend = async (given) => {
    asked = given;
    throw suspended;
  };
  const failure = await answeredBy(() => agent)({ runId: "run-1", input: "go", suspend }).catch((error) => error);
  if (failure !== suspended) throw failure;
  return asked;
}

// What expires is declined, and the run goes on. A deadline denies an approval by itself.
const expiresAt = "2026-01-01T00:00:00Z";
const call = (text) => ({ id: "call-1", type: "function", function: { name: "pay", arguments: text } });
const asked = await suspension(
  [{ id: "when", reason: "input_required", expiresAt }, { id: "why", reason: "input_required" }, { id: "pay", reason: "tool_call", toolCallId: "call-1", expiresAt }],
  [call("{}")],
);
same(asked.questions.map(({ expires_at_ms, escalation }) => [expires_at_ms, escalation]), [[Date.parse(expiresAt), { at_deadline: "decline" }], [undefined, undefined]]);
same(asked.approvals.map(({ expires_at_ms, escalation }) => [expires_at_ms, escalation]), [[Date.parse(expiresAt), undefined]]);

// A person sees the digits that the agent runs.
const exact = '{"account":9007199254740993,"amount":0.1234567890123456789}';
const { approvals: [approval] } = await suspension([{ id: "pay", reason: "tool_call", toolCallId: "call-1" }], [call(exact)]);
same(approval.input, decodeJSON(exact));
same(approval.input_schema, false);

// An agent sends no arguments of a call that has none.
const { approvals: [bare] } = await suspension([{ id: "pay", reason: "tool_call", toolCallId: "call-1" }], [call("")]);
same(bare.input, {});

// A checkpoint comes back as it was, with numbers that the agent can send.
const thread = { messages: [{ id: "input", role: "user", content: "go" }], state: { order: 2 ** 53 } };
const checkpoint = decodeJSON(encodeJSON({ ...thread, interrupts: [] }));
const resumed = answeredBy(({ initialMessages, initialState }) => ({
  pendingInterrupts: [], runAgent: async () => ({ result: JSON.stringify({ messages: initialMessages, state: initialState }) }),
}));
same(await resumed({ runId: "run-1", checkpoint }), JSON.stringify(thread));

// AG-UI carries no integer of 2^53 or more. A rounded edit or answer would not be the decision of a person.
const resume = decodeJSON(`{
  "approvals": [{"request": {"id": "pay"}, "resolution": {"outcome": "allowed", "updated_input": {"accounts": [${2n ** 53n + 1n}]}}}],
  "questions": [{"request": {"id": "which"}, "resolution": {"outcome": "answered", "value": -${2n ** 53n}}}]
}`);
for (const [id, digits] of [["pay", "9007199254740993"], ["which", "-9007199254740992"]]) {
  const interrupts = [{ id, reason: "input_required", ...(id === "pay" ? { toolCallId: "call-1" } : {}) }];
  const agent = { pendingInterrupts: interrupts, runAgent: async () => { throw new Error("the agent has gone on"); } };
  const failure = await answeredBy(() => agent)({ runId: "run-1", checkpoint: { ...thread, interrupts }, resume }).catch((error) => error.message);
  same(failure, `interrupt "${id}": the decision has the integer ${digits}, which AG-UI cannot carry without rounding`);
}
