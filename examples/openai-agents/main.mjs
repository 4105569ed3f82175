// A worker whose agent deploys and mails, each after a person allowed it. Its model is a stub:
// put a name of a model in its place.
import { appendFileSync } from "node:fs";
import { Holdpoint, Worker } from "@holdpoint/sdk";
import { Agent, Usage, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";
import { approvedBy } from "./bridge.mjs";

setTracingDisabled(true);

/** A model that calls both tools and then repeats what they returned. */
const stub = {
  async getResponse({ input }) {
    const results = Array.isArray(input) ? input.filter((item) => item.type === "function_call_result") : [];
    const call = (callId, name, args) => ({ type: "function_call", callId, name, status: "completed", arguments: JSON.stringify(args) });
    const output = results.length === 0
      ? [call("call-1", "deploy", { to: "production" }), call("call-2", "mail", { to: "all" })]
      : [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: results.map((r) => r.output.text ?? r.output).join("; ") }] }];
    return { usage: new Usage(), output };
  },
};

const toolOf = (name, edited) => tool({
  name,
  description: `To ${name}`,
  parameters: z.object({ to: z.string() }),
  needsApproval: true,
  execute: (input, _context, details) => {
    const { to } = edited(input, details);
    if (process.env.RAN) appendFileSync(process.env.RAN, `${name} ${to}\n`);
    return `${name} to ${to} is done`;
  },
});

const handler = approvedBy((edited) => new Agent({
  name: "releaser", instructions: "Release.", model: stub, tools: ["deploy", "mail"].map((name) => toolOf(name, edited)),
}));

const service = new Holdpoint({ baseUrl: process.env.HOLDPOINT_SERVER ?? "http://127.0.0.1:4000", token: process.env.HOLDPOINT_TOKEN });
await new Worker(service, { agentIds: ["releaser"], onError: console.error }).run(handler);
