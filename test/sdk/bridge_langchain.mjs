// Holds the bridge of LangChain.js to what its page says, with claims of its own.
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, createAgent, tool } from "langchain";
import { z } from "zod";
import { approvedBy, askFirst } from "./bridge.mjs";

const same = (got, want) => {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${JSON.stringify(got)} and not ${JSON.stringify(want)}`);
};

const input = { to: "production" };
const ran = [];

/** Deploys twice in each of two turns, and then repeats what the calls returned. Its provider counts the calls of each turn from zero. */
class Stub extends BaseChatModel {
  _llmType() {
    return "stub";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    const returned = messages.filter((message) => message.getType() === "tool").map(({ content }) => content);
    const calls = ["call_0", "call_1"].map((id) => ({ id, name: "deploy", args: input }));
    const message = returned.length < 4 ? new AIMessage({ content: "", tool_calls: calls }) : new AIMessage(returned.join("; "));
    return { generations: [{ text: "", message }] };
  }
}

const deploy = tool(({ to }) => {
  ran.push(to);
  return `deployed to ${to}`;
}, { name: "deploy", description: "To deploy", schema: z.object({ to: z.string() }) });
const handler = approvedBy((checkpointer) => createAgent({ model: new Stub({}), tools: [deploy], middleware: [askFirst("deploy")], checkpointer }));

/** Claims a run and returns what it asks for, or its output. */
async function claim({ checkpoint, asked } = {}, ...resolutions) {
  const resume = asked && { approvals: asked.slice(0, resolutions.length).map((request, at) => ({ request, resolution: resolutions[at] })), questions: [] };
  let left;
  const suspend = async (suspension) => {
    left = { checkpoint: JSON.parse(JSON.stringify(suspension.checkpoint)), asked: suspension.approvals };
    throw new Error("suspended");
  };
  try {
    return await handler({ runId: "run", input: "go", checkpoint, resume, suspend });
  } catch (failure) {
    if (!left) throw failure;
    return left;
  }
}

// Of two calls of a turn each has its own decision: a denial drops no allowed call, and an edit is of one call alone.
const first = await claim();
const second = await claim(first, { behavior: "allow", updated_input: { to: "staging" } }, { behavior: "deny", outcome: "denied", reason: "not now" });
same(ran, ["staging"]);

// The same ids in the next turn are other requests. A call without a decision does not run.
same(second.asked.map(({ tool_call_id }) => tool_call_id), ["call_0", "call_1"]);
same(new Set([...first.asked, ...second.asked].map(({ id }) => id)).size, 4);
same(await claim(second, { behavior: "allow" }), "deployed to staging; Not allowed: not now; deployed to production; Not allowed: nobody decided");
same(ran, ["staging", "production"]);
