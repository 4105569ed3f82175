// A worker whose agent deploys and mails, each after a person allowed it. Its model is a stub:
// put a model of a provider in its place.
import { appendFileSync } from "node:fs";
import { Holdpoint, Worker } from "@holdpoint/sdk";
import { generateText, isStepCount, tool } from "ai";
import { z } from "zod";
import { approvedBy } from "./bridge.mjs";

/** A model that calls both tools and then repeats what they returned. */
const stub = {
  specificationVersion: "v4",
  provider: "stub",
  modelId: "stub",
  supportedUrls: {},
  async doGenerate({ prompt }) {
    const results = prompt.flatMap(({ role, content }) => (role === "tool" ? content : [])).filter(({ type }) => type === "tool-result");
    const call = (toolCallId, toolName, input) => ({ type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) });
    const said = ({ output }) => output.value ?? `Not allowed: ${output.reason}`;
    const content = results.length === 0
      ? [call("call-1", "deploy", { to: "production" }), call("call-2", "mail", { to: "all" })]
      : [{ type: "text", text: results.sort((a, b) => (a.toolCallId < b.toolCallId ? -1 : 1)).map(said).join("; ") }];
    const none = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0, text: 0, reasoning: 0 };
    return {
      content, warnings: [], usage: { inputTokens: none, outputTokens: none },
      finishReason: { unified: results.length === 0 ? "tool-calls" : "stop", raw: undefined },
    };
  },
};

const toolOf = (name, edited) => tool({
  description: `To ${name}`,
  inputSchema: z.object({ to: z.string() }),
  execute: (input, options) => {
    const { to } = edited(input, options);
    if (process.env.RAN) appendFileSync(process.env.RAN, `${name} ${to}\n`);
    return `${name} to ${to} is done`;
  },
});

const handler = approvedBy((messages, edited) => generateText({
  model: stub, messages, stopWhen: isStepCount(10),
  tools: { deploy: toolOf("deploy", edited), mail: toolOf("mail", edited) },
  toolApproval: { deploy: "user-approval", mail: "user-approval" },
}));

const service = new Holdpoint({ baseUrl: process.env.HOLDPOINT_SERVER ?? "http://127.0.0.1:4000", token: process.env.HOLDPOINT_TOKEN });
await new Worker(service, { agentIds: ["releaser"], onError: console.error }).run(handler);
