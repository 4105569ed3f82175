// A worker whose graph deploys and mails at once, each after a person allowed it. A graph with a
// model asks in the same way before it calls a tool.
import { appendFileSync } from "node:fs";
import { Holdpoint, Worker } from "@holdpoint/sdk";
import { Annotation, END, START, StateGraph, interrupt } from "@langchain/langgraph";
import { approvedBy } from "./bridge.mjs";

const State = Annotation.Root({
  calls: Annotation(),
  said: Annotation({ reducer: (said, more) => ({ ...said, ...more }), default: () => ({}) }),
});

/** A stub of a model: it wants both tools. */
const plan = () => ({ calls: { deploy: { to: "production" }, mail: { to: "all" } } });

const nodeOf = (name) => ({ calls }) => {
  const config = { allow_accept: true, allow_edit: true, allow_respond: true, allow_ignore: true };
  const [answer] = interrupt([{ action_request: { action: name, args: calls[name] }, config, description: `To ${name}` }]);
  if (answer.type === "response") return { said: { [name]: `Not allowed: ${answer.args}` } };
  if (answer.type === "ignore") return { said: { [name]: "Not allowed" } };
  const { to } = answer.type === "edit" ? answer.args.args : calls[name];
  if (process.env.RAN) appendFileSync(process.env.RAN, `${name} ${to}\n`);
  return { said: { [name]: `${name} to ${to} is done` } };
};

const handler = approvedBy((checkpointer) => new StateGraph(State)
  .addNode("plan", plan).addNode("deploy", nodeOf("deploy")).addNode("mail", nodeOf("mail"))
  .addEdge(START, "plan").addEdge("plan", "deploy").addEdge("plan", "mail").addEdge("deploy", END).addEdge("mail", END)
  .compile({ checkpointer }));

const service = new Holdpoint({ baseUrl: process.env.HOLDPOINT_SERVER ?? "http://127.0.0.1:4000", token: process.env.HOLDPOINT_TOKEN });
await new Worker(service, { agentIds: ["releaser"], onError: console.error }).run((task) => handler(task).then(({ said }) => said));
