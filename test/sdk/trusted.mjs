// What a client does with tokens, on Node, Deno and in a browser: it is refused what its token does
// not allow, a child's run asks its parent's session and is answered, and a stream tells of it.

const database = { id: "which-db", questions: [{ id: "db", question: "Which database?", options: [{ id: "primary" }, { id: "replica" }] }] };

/** Returns what came of it. name tells the sessions and the agent of one caller from those of others. */
export async function useTokens({ Holdpoint, Worker, isKind }, { baseUrl, agentToken, operatorToken, name }) {
  const [agent, people, stranger] = [agentToken, operatorToken, "holdpoint_not-a-token"].map((token) => new Holdpoint({ baseUrl, token }));
  const told = async (call) => {
    try {
      await call();
      return "allowed";
    } catch (error) {
      return ["unauthorized", "forbidden"].find((kind) => isKind(error, kind)) ?? String(error);
    }
  };
  const refused = { stranger: await told(() => stranger.listRuns()), operator: await told(() => people.claimRuns({ worker_id: "w", agent_ids: [name] })) };

  const parent = `${name}-parent`;
  await agent.createSession({ session_id: parent });
  await agent.createSession({ session_id: `${name}-child`, parent_session_id: parent });
  const { run } = await agent.createRun({ run_id: name, session_id: `${name}-child`, agent_id: name, input: "copy" });
  const types = [];
  const following = (async () => {
    for await (const item of agent.streamRun(name)) types.push(item.type === "event" ? item.event.event.type : item.type);
  })();
  const stop = new AbortController();
  const working = new Worker(agent, { agentIds: [name] }).run(async (task) => {
    const answer = await task.askParent({ park: true, checkpoint: { step: 1 }, request: database });
    return { summary: answer.summary, declined: answer.declined, checkpoint: task.checkpoint };
  }, { signal: stop.signal });

  let shown;
  while (shown === undefined) {
    for await (const question of people.allQuestions({ sessionId: parent })) shown = question;
  }
  refused.agent = await told(() => agent.answer(shown, [{ question_id: "db", selected_option_ids: ["primary"] }]));
  await people.answer(shown, [{ question_id: "db", selected_option_ids: ["replica"] }]);
  const { status, output } = await people.waitRun(run.run_id);
  await following;
  stop.abort();
  await working;
  return { refused, status, output, streamed: types[0] === "snapshot" && types.at(-1) === "completed" };
}
