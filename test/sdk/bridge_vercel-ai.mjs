// Holds the bridge of the Vercel AI SDK to what its page says, with a task of its own.
import { decodeJSON, encodeJSON } from "@holdpoint/sdk";
import { approvedBy } from "./bridge.mjs";

// A checkpoint comes back as it was, with numbers that a provider can be sent.
const messages = [{ role: "user", content: "go" }, { role: "assistant", content: [{ type: "tool-call", toolCallId: "call-1", toolName: "pay", input: { order: 2 ** 53 } }] }];
const handler = approvedBy(async (given) => ({ text: JSON.stringify(given), responseMessages: [], content: [] }));
const sent = await handler({ checkpoint: decodeJSON(encodeJSON(messages)) });
if (sent !== JSON.stringify(messages)) throw new Error(`${sent} and not ${JSON.stringify(messages)}`);

// A provider may give the call of each turn the same id. Each call is a request of its own, with its own edit.
const input = { to: "production" };
const resolutions = [{ behavior: "allow", updated_input: { to: "staging" } }, { behavior: "allow" }, { behavior: "deny" }];
const asked = [];
const ran = [];
const ranAlone = [];
let responses;
const numbering = approvedBy(async (given, edited) => {
  responses = given.flatMap(({ content }) => (Array.isArray(content) ? content : [])).filter(({ type }) => type === "tool-approval-response");
  if (responses.at(-1)?.approved) ran.push(edited(input, { toolCallId: "call_0" }).to);
  // The next step of this turn calls a tool that needs no approval, under the same id.
  if (responses.length > 0) ranAlone.push(edited({ to: "log" }, { toolCallId: "call_0" }).to);
  if (asked.length === resolutions.length) return { text: "done", responseMessages: [], content: [] };
  const toolCall = { type: "tool-call", toolCallId: "call_0", toolName: "deploy", input };
  const request = { type: "tool-approval-request", approvalId: `approval-${asked.length}`, toolCallId: "call_0" };
  return { text: "", responseMessages: [{ role: "assistant", content: [toolCall, request] }], content: [{ ...request, toolCall }] };
});
const suspend = async ({ approvals }) => {
  asked.push(...approvals);
  return { approvals: approvals.map((request) => ({ request, resolution: resolutions[asked.length - 1] })), questions: [] };
};
const ended = await numbering({ input: "go", suspend });
const same = (got, want) => {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${JSON.stringify(got)} and not ${JSON.stringify(want)}`);
};
same(ended, "done");
same([...new Set(asked.map(({ id }) => id))].length, 3);
same(asked.map(({ tool_call_id }) => tool_call_id), ["call_0", "call_0", "call_0"]);
same(ran, ["staging", "production"]);
same(ranAlone, ["log", "log", "log"]);
same(responses.map(({ approved }) => approved), [true, true, false]);
