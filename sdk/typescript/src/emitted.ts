import { randomUUID } from "./http.js";
import { encodeJSON } from "./json.js";
import type { RunView } from "./types.js";

/** Derives the idempotency keys of a task's events: a handler that starts from the top does not append the same events again. */
export class Emitted {
  /** The run by its id and its time: after retention another run may have the id, and the service still knows the keys of the deleted one. */
  readonly #run: string;
  /** The digest of the last checkpoint, which may be large; undefined where there are no digests. */
  #since: Promise<string | undefined>;
  /** Counts the appends by their digest, which covers the checkpoint. */
  readonly #times = new Map<string, number>();

  constructor(run: RunView, checkpoint: unknown) {
    this.#run = `${run.run_id}/${run.submitted_at_ms}`;
    this.#since = digestOf(textOf(checkpoint));
  }

  checkpointed(checkpoint: unknown): void {
    this.#since = digestOf(textOf(checkpoint));
  }

  /** The same for the n-th append of the same events, which nobody changes, to the same run since the same checkpoint. */
  async key(events: unknown[]): Promise<string> {
    const digest = await digestOf(`${this.#run}\n${await this.#since}\n${encodeJSON(events)}`);
    if (digest === undefined) return randomUUID();
    const times = (this.#times.get(digest) ?? 0) + 1;
    this.#times.set(digest, times);
    return `task/${digest}/${times}`;
  }
}

async function digestOf(text: string): Promise<string | undefined> {
  // Browsers have it on secure pages alone.
  if (!globalThis.crypto?.subtle) return undefined;
  const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(sum), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function textOf(checkpoint: unknown): string {
  return checkpoint === undefined ? "" : (encodeJSON(checkpoint) ?? "");
}
