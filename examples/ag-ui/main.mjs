// A worker whose agent speaks AG-UI and deploys and mails, each after a person allowed it, at a time
// that a person names. The agent
// is a stub in this process: an HttpAgent in its place calls one elsewhere.
import { appendFileSync } from "node:fs";
import { AbstractAgent } from "@ag-ui/client";
import { Holdpoint, Worker } from "@holdpoint/sdk";
import { from } from "rxjs";
import { answeredBy } from "./bridge.mjs";

// Until when a person may say the time.
const expiry = process.env.EXPIRES_AT ? { expiresAt: process.env.EXPIRES_AT } : {};
const calls = { "call-1": ["deploy", { to: "production" }], "call-2": ["mail", { to: "all" }] };
const responseSchema = {
  type: "object", required: ["approved"],
  properties: { approved: { type: "boolean" }, editedArgs: { type: "object" }, reason: { type: "string" } },
};

/** An agent that calls both tools and then says what they returned. */
class Stub extends AbstractAgent {
  run({ threadId, runId, resume }) {
    const events = resume?.length ? this.#tools(resume) : this.#plan();
    const finished = events.pop();
    return from([{ type: "RUN_STARTED", threadId, runId }, ...events, { type: "RUN_FINISHED", threadId, runId, ...finished }]);
  }

  #plan() {
    const events = Object.entries(calls).flatMap(([toolCallId, [toolCallName, input]]) => [
      { type: "TOOL_CALL_START", toolCallId, toolCallName, parentMessageId: "plan" },
      { type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify(input) },
      { type: "TOOL_CALL_END", toolCallId },
    ]);
    const interrupts = Object.entries(calls).map(([toolCallId, [name]]) => ({ id: `ask-${toolCallId}`, reason: "tool_call", message: `To ${name}`, toolCallId, responseSchema }));
    const when = { id: "ask-when", reason: "input_required", message: "When?", responseSchema: { type: "string" }, ...expiry };
    return [...events, { outcome: { type: "interrupt", interrupts: [...interrupts, when] } }];
  }

  #tools(resume) {
    const results = Object.entries(calls).map(([toolCallId, call]) => {
      const { status, payload } = resume.find(({ interruptId }) => interruptId === `ask-${toolCallId}`);
      const content = status === "resolved" && payload.approved ? runTool(call[0], payload.editedArgs ?? call[1]) : `Not allowed: ${payload?.reason ?? status}`;
      return { type: "TOOL_CALL_RESULT", messageId: `result-${toolCallId}`, toolCallId, content };
    });
    const when = resume.find(({ interruptId }) => interruptId === "ask-when");
    return [...results, { outcome: { type: "success" }, result: [...results.map(({ content }) => content), `at ${when.payload ?? when.status}`].join("; ") }];
  }
}

function runTool(name, { to }) {
  if (process.env.RAN) appendFileSync(process.env.RAN, `${name} ${to}\n`);
  return `${name} to ${to} is done`;
}

const service = new Holdpoint({ baseUrl: process.env.HOLDPOINT_SERVER ?? "http://127.0.0.1:4000", token: process.env.HOLDPOINT_TOKEN });
await new Worker(service, { agentIds: ["releaser"], onError: console.error }).run(answeredBy((thread) => new Stub(thread)));
