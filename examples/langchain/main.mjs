// A worker whose agent deploys and mails, each after a person allowed it. Its model is a stub: put
// the name of a model in its place.
import { appendFileSync } from "node:fs";
import { Holdpoint, Worker } from "@holdpoint/sdk";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, createAgent, tool } from "langchain";
import { z } from "zod";
import { approvedBy, askFirst } from "./bridge.mjs";

/** A model that calls both tools and then repeats what they returned. */
class Stub extends BaseChatModel {
  _llmType() {
    return "stub";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    const results = messages.filter((message) => message.getType() === "tool").sort((a, b) => (a.tool_call_id < b.tool_call_id ? -1 : 1));
    const calls = [{ id: "call-1", name: "deploy", args: { to: "production" } }, { id: "call-2", name: "mail", args: { to: "all" } }];
    const message = results.length === 0
      ? new AIMessage({ content: "", tool_calls: calls })
      : new AIMessage(results.map(({ content }) => content).join("; "));
    return { generations: [{ text: "", message }] };
  }
}

const toolOf = (name) => tool(({ to }) => {
  if (process.env.RAN) appendFileSync(process.env.RAN, `${name} ${to}\n`);
  return `${name} to ${to} is done`;
}, { name, description: `To ${name}`, schema: z.object({ to: z.string() }) });

const handler = approvedBy((checkpointer) => createAgent({
  model: new Stub({}), tools: [toolOf("deploy"), toolOf("mail")], middleware: [askFirst("deploy", "mail")], checkpointer,
}));

const service = new Holdpoint({ baseUrl: process.env.HOLDPOINT_SERVER ?? "http://127.0.0.1:4000", token: process.env.HOLDPOINT_TOKEN });
await new Worker(service, { agentIds: ["releaser"], onError: console.error }).run(handler);
