// A client as people generate it from openapi.yaml. It is type-checked and never run: what it
// does must be possible with the generated types, and what is marked must not be.
import createClient from "openapi-fetch";
import type { components, paths } from "./v1.js";

const client = createClient<paths>({ baseUrl: "http://127.0.0.1:4000" });

type Approval = components["schemas"]["ApprovalRequest"];

/** Waits for a person with values of every kind of JSON. */
export async function ask(input: Record<string, unknown>): Promise<string> {
  const approval: Approval = {
    id: "rm",
    tool_call_id: "call-1",
    tool_name: "bash",
    input,
    input_schema: { type: "object", required: ["command"] },
    metadata: { team: "platform", labels: ["a", 1, null] },
  };
  for (const value of [{ any: ["object"] }, [1, "two"], "text", 7, true, null]) {
    const { data, error } = await client.POST("/v1/runs", { body: { input: value, suspend: { approvals: [approval] } } });
    if (error) throw new Error(`${error.code}: ${error.detail}`);
    if ("status" in data) return data.run_id;
  }
  return "";
}

/** Decides about everything that is open, as it was shown. */
export async function allowAll(sessionId: string): Promise<void> {
  const { data: session } = await client.GET("/v1/sessions/{session_id}", { params: { path: { session_id: sessionId } } });
  for (const shown of session?.snapshot.pending_approvals ?? []) {
    const { error, response } = await client.POST("/v1/sessions/{session_id}/approvals", {
      params: { path: { session_id: sessionId }, header: { "Idempotency-Key": shown.id } },
      body: {
        resolutions: [{ request_id: shown.id, behavior: "allow", updated_input: { command: "ls" }, input_digest: shown.input_digest ?? "" }],
      },
    });
    if (error && response.status === 409) console.log(error.recorded_decision?.outcome);
    await client.POST("/v1/sessions/{session_id}/approvals", {
      params: { path: { session_id: sessionId } },
      // @ts-expect-error a misspelt member of a resolution is refused, by the types too
      body: { resolutions: [{ request_id: shown.id, behavior: "allow", update_input: {} }] },
    });
    await client.POST("/v1/sessions/{session_id}/approvals", {
      params: { path: { session_id: sessionId } },
      // @ts-expect-error there is no such behavior
      body: { resolutions: [{ request_id: shown.id, behavior: "maybe" }] },
    });
  }
}

/** Answers the questions of a run: choices, or a value of any kind. */
export async function answer(runId: string): Promise<unknown> {
  const { data: run } = await client.GET("/v1/runs/{run_id}", { params: { path: { run_id: runId } } });
  for (const question of run?.pending_questions ?? []) {
    const typed = question.response_schema !== undefined;
    await client.POST("/v1/runs/{run_id}/questions", {
      params: { path: { run_id: runId } },
      body: {
        resolution: typed
          ? { request_id: question.id ?? "", value: { replicas: 3 } }
          : { request_id: question.id ?? "", answers: [{ question_id: "q", selected_option_ids: ["a"] }] },
      },
    });
  }
  return run?.output;
}

/** A worker's part. */
export async function work(): Promise<void> {
  const { data: claimed } = await client.POST("/v1/runs/claim", { body: { worker_id: "worker-1" } });
  for (const claim of claimed?.claims ?? []) {
    const path = { run_id: claim.run.run_id };
    await client.POST("/v1/runs/{run_id}/events", {
      params: { path },
      body: { fence: claim.lease.fence, events: [{ type: "delta", text: "12 files" }, { type: "output", content: "done", parts: [{ a: 1 }] }] },
    });
    await client.POST("/v1/runs/{run_id}/complete", { params: { path }, body: { fence: claim.lease.fence, output: { removed: 12 } } });
    // @ts-expect-error the fence is required
    await client.POST("/v1/runs/{run_id}/complete", { params: { path }, body: { output: 1 } });
  }
}
