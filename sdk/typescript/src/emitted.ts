import { randomUUID } from "./http.js";
import { encodeJSON } from "./json.js";

/** Derives the idempotency keys of a task's events: a handler that starts from the top does not append the same events again. */
export class Emitted {
  readonly #runId: string;
  /** The text of the last checkpoint. */
  #since: string;
  /** Counts the appends by their digest, which covers the checkpoint. */
  readonly #times = new Map<string, number>();

  constructor(runId: string, checkpoint: unknown) {
    this.#runId = runId;
    this.#since = textOf(checkpoint);
  }

  checkpointed(checkpoint: unknown): void {
    this.#since = textOf(checkpoint);
  }

  /** The same for the n-th append of the same events to the same run since the same checkpoint. */
  async key(events: unknown[]): Promise<string> {
    // Browsers have it on secure pages alone.
    if (!globalThis.crypto?.subtle) return randomUUID();
    const text = new TextEncoder().encode(encodeJSON([this.#runId, this.#since, events]));
    const digest = Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", text)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    const times = (this.#times.get(digest) ?? 0) + 1;
    this.#times.set(digest, times);
    return `task/${digest}/${times}`;
  }
}

function textOf(checkpoint: unknown): string {
  return checkpoint === undefined ? "" : (encodeJSON(checkpoint) ?? "");
}
