// Code generated from openapi.json and calls.toml by "make sdk-types". DO NOT EDIT.
import { type CallOptions, type KeyedOptions, type Transport, at, randomUUID } from "./http.js";
import { type PageOptions, type RunResult, type SessionResult, page, result, walk } from "./replies.js";
import type * as doc from "./types.js";

export interface RunListOptions extends PageOptions {
  sessionId?: string;
  agentId?: string;
  status?: string;
  kind?: string;
  /** Runs that are not over come first. */
  priorityActive?: boolean;
}

export interface SessionListOptions extends PageOptions {
  status?: string;
  agentId?: string;
}

export interface RuleListOptions extends PageOptions {
  sessionId?: string;
}

export interface EffectListOptions extends PageOptions {
  state?: string;
  webhookId?: string;
  sessionId?: string;
}

export interface DecisionListOptions extends PageOptions {
  sessionId?: string;
  agentId?: string;
  actor?: string;
  outcome?: string;
  sinceMs?: number;
  /** Cuts the inputs of approvals to 4 KiB. */
  summary?: boolean;
}

/** The calls that are an operation of the API each. */
export abstract class Calls {
  /** @internal */
  abstract readonly transport: Transport;

  /** Show a run. */
  async getRun(runId: string, options: CallOptions = {}): Promise<doc.RunView> {
    return (await this.transport.call<doc.RunView>({
      method: "GET", path: at("/v1/runs", runId), repeat: "always", needs: ["run_id"], signal: options.signal,
    })).value;
  }

  /**
   * Makes a failed run claimable again, with its input, its checkpoint and its last decisions. Throws
   * run_state when it is not failed, session_busy while another run of its session is active, and
   * session_ended.
   */
  async retryRun(runId: string, options: KeyedOptions = {}): Promise<doc.RunView> {
    return (await this.transport.call<doc.RunView>({
      method: "POST", path: at("/v1/runs", runId, "retry"), body: {}, key: options.idempotencyKey ?? randomUUID(), repeat: "always", needs: ["run_id"], signal: options.signal,
    })).value;
  }

  /** Cancels a run; one that is over stays as it is. */
  async cancelRun(runId: string, options: CallOptions & { reason?: string } = {}): Promise<doc.RunView> {
    return (await this.transport.call<doc.RunView>({
      method: "POST", path: at("/v1/runs", runId, "cancel"), body: { reason: options.reason }, repeat: "always", needs: ["run_id"], signal: options.signal,
    })).value;
  }

  /** Decides approvals of a run, all or none. */
  async resolveRunApprovals(runId: string, resolutions: doc.ApprovalResolution[], options: KeyedOptions = {}): Promise<RunResult> {
    return result(await this.transport.call<doc.RunView>({
      method: "POST", path: at("/v1/runs", runId, "approvals"), body: { resolutions }, key: options.idempotencyKey ?? randomUUID(), repeat: "always", needs: ["run_id", "status"], signal: options.signal,
    }));
  }

  /** Decides approvals of the session's active run. */
  async resolveActiveRunApprovals(sessionId: string, resolutions: doc.ApprovalResolution[], options: KeyedOptions = {}): Promise<RunResult> {
    return result(await this.transport.call<doc.RunView>({
      method: "POST", path: at("/v1/sessions", sessionId, "approval-runs"), body: { resolutions }, key: options.idempotencyKey ?? randomUUID(), repeat: "always", needs: ["run_id", "status"], signal: options.signal,
    }));
  }

  /** Decides approvals of the session's active run and returns the session, after the wait at the latest. */
  async resolveSessionApprovals(sessionId: string, resolutions: doc.ApprovalResolution[], options: KeyedOptions & { waitMs?: number } = {}): Promise<SessionResult> {
    return result(await this.transport.call<doc.SessionView>({
      method: "POST", path: at("/v1/sessions", sessionId, "approvals"), body: { resolutions }, key: options.idempotencyKey ?? randomUUID(), preferMs: options.waitMs, repeat: "always", needs: ["session_id", "status"], signal: options.signal,
    }));
  }

  /** Answer a question of a run. */
  async answerRunQuestion(runId: string, resolution: doc.UserQuestionResolution, options: KeyedOptions = {}): Promise<RunResult> {
    return result(await this.transport.call<doc.RunView>({
      method: "POST", path: at("/v1/runs", runId, "questions"), body: { resolution }, key: options.idempotencyKey ?? randomUUID(), repeat: "always", needs: ["run_id", "status"], signal: options.signal,
    }));
  }

  /** Answers a question of the session's active run, or else of a parent clarification that waits in the session. */
  async answerSessionQuestion(sessionId: string, resolution: doc.UserQuestionResolution, options: KeyedOptions & { waitMs?: number } = {}): Promise<SessionResult> {
    return result(await this.transport.call<doc.SessionView>({
      method: "POST", path: at("/v1/sessions", sessionId, "questions"), body: { resolution }, key: options.idempotencyKey ?? randomUUID(), preferMs: options.waitMs, repeat: "always", needs: ["session_id", "status"], signal: options.signal,
    }));
  }

  /** Cancels an open question, and with it the run; a parent clarification is completed, declined. */
  async cancelQuestion(runId: string, requestId: string, options: KeyedOptions & { justification?: string } = {}): Promise<RunResult> {
    return result(await this.transport.call<doc.RunView>({
      method: "POST", path: at("/v1/runs", runId, "questions", requestId, "cancel"), body: { justification: options.justification }, key: options.idempotencyKey ?? randomUUID(), repeat: "always", needs: ["run_id", "status"], signal: options.signal,
    }));
  }

  /** Withdraws a request that an attached worker no longer needs. */
  async withdraw(runId: string, requestId: string, fence: string, options: CallOptions & { reason?: string } = {}): Promise<doc.RunView> {
    return (await this.transport.call<doc.RunView>({
      method: "POST", path: at("/v1/runs", runId, "requests", requestId, "withdraw"), body: { fence, reason: options.reason }, repeat: "always", needs: ["run_id"], signal: options.signal,
    })).value;
  }

  /** End a run with its output. */
  async completeRun(runId: string, fence: string, output?: unknown, options: CallOptions = {}): Promise<doc.RunView> {
    return (await this.transport.call<doc.RunView>({
      method: "POST", path: at("/v1/runs", runId, "complete"), body: { fence, output }, repeat: "always", needs: ["run_id"], signal: options.signal,
    })).value;
  }

  /** End a run with an error. */
  async failRun(runId: string, fence: string, error: string, options: CallOptions = {}): Promise<doc.RunView> {
    return (await this.transport.call<doc.RunView>({
      method: "POST", path: at("/v1/runs", runId, "fail"), body: { fence, error }, repeat: "always", needs: ["run_id"], signal: options.signal,
    })).value;
  }

  /** Show a session. */
  async getSession(sessionId: string, options: CallOptions = {}): Promise<doc.SessionView> {
    return (await this.transport.call<doc.SessionView>({
      method: "GET", path: at("/v1/sessions", sessionId), repeat: "always", needs: ["session_id", "status"], signal: options.signal,
    })).value;
  }

  /** Changes a session's metadata, label and origin. */
  async amendSession(sessionId: string, body: doc.AmendSession, options: CallOptions = {}): Promise<doc.SessionView> {
    return (await this.transport.call<doc.SessionView>({
      method: "PATCH", path: at("/v1/sessions", sessionId), body, repeat: "always", needs: ["session_id"], signal: options.signal,
    })).value;
  }

  /**
   * Interrupts the session's active run and declines the parent clarifications that wait in it. Not
   * repeated when its reply is lost: it would interrupt the next run.
   */
  async interruptSession(sessionId: string, options: CallOptions & { reason?: string } = {}): Promise<doc.InterruptReply> {
    return (await this.transport.call<doc.InterruptReply>({
      method: "POST", path: at("/v1/sessions", sessionId, "interrupt"), body: { reason: options.reason }, repeat: "if_not_taken", needs: ["interrupted", "session"], signal: options.signal,
    })).value;
  }

  /** Ends a session: its runs are cancelled and no run is accepted any more. */
  async endSession(sessionId: string, options: CallOptions & { reason?: string } = {}): Promise<doc.SessionView> {
    return (await this.transport.call<doc.SessionView>({
      method: "POST", path: at("/v1/sessions", sessionId, "end"), body: { reason: options.reason }, repeat: "always", needs: ["session_id"], signal: options.signal,
    })).value;
  }

  /** An approval or a question by its handle, open or settled. `context` adds as many settled requests of its session. */
  async getRequest(handle: string, options: CallOptions & { context?: number } = {}): Promise<doc.RequestView> {
    return (await this.transport.call<doc.RequestView>({
      method: "GET", path: at("/v1/requests", handle), query: { context: options.context }, repeat: "always", needs: ["run_id", "request"], signal: options.signal,
    })).value;
  }

  /**
   * The `state` "acknowledged" shows everyone that the caller is looking at a pending request, and
   * "snoozed" holds back messages to the caller, each until `untilMs`; "none" takes either back. It
   * decides nothing. Again is a no-op.
   */
  async acknowledgeRequest(handle: string, state: string, options: CallOptions & { untilMs?: number } = {}): Promise<doc.RequestView> {
    return (await this.transport.call<doc.RequestView>({
      method: "PUT", path: at("/v1/requests", handle, "acknowledgement"), body: { state, until_ms: options.untilMs }, repeat: "always", needs: ["run_id", "request"], signal: options.signal,
    })).value;
  }

  /** Says what an approval or a question waits for, who may decide it, and what its deadline does. */
  async explainRequest(handle: string, options: CallOptions = {}): Promise<doc.RequestExplanation> {
    return (await this.transport.call<doc.RequestExplanation>({
      method: "GET", path: at("/v1/requests", handle, "explain"), repeat: "always", needs: ["handle", "state", "text"], signal: options.signal,
    })).value;
  }

  /** Says what a run waits for: another run of its session, a worker, a person, or the parent session. */
  async explainRun(runId: string, options: CallOptions = {}): Promise<doc.RunExplanation> {
    return (await this.transport.call<doc.RunExplanation>({
      method: "GET", path: at("/v1/runs", runId, "explain"), repeat: "always", needs: ["run_id", "state", "text"], signal: options.signal,
    })).value;
  }

  /** The leases that are in force, by worker. */
  async listWorkers(options: CallOptions = {}): Promise<doc.WorkersView> {
    return (await this.transport.call<doc.WorkersView>({
      method: "GET", path: "/v1/workers", repeat: "always", needs: ["workers"], signal: options.signal,
    })).value;
  }

  /** Show a standing rule. */
  async getRule(ruleId: string, options: CallOptions = {}): Promise<doc.Rule> {
    return (await this.transport.call<doc.Rule>({
      method: "GET", path: at("/v1/rules", ruleId), repeat: "always", needs: ["rule_id"], signal: options.signal,
    })).value;
  }

  /** Ends a rule at once. Again is a no-op. */
  async revokeRule(ruleId: string, options: CallOptions = {}): Promise<void> {
    await this.transport.call<void>({
      method: "DELETE", path: at("/v1/rules", ruleId), repeat: "always", signal: options.signal,
    });
  }

  /** Says what would happen to an approval that asks for a call now. It changes nothing. */
  async explainRules(body: doc.ExplainRules, options: CallOptions = {}): Promise<doc.Explanation> {
    return (await this.transport.call<doc.Explanation>({
      method: "POST", path: "/v1/rules/explain", body, repeat: "always", needs: ["decision"], signal: options.signal,
    })).value;
  }

  /** Reads a session's messages and leases each for 30 s: acknowledge it once it is processed. */
  async mailbox(sessionId: string, options: CallOptions = {}): Promise<doc.MessageView[]> {
    return (await this.transport.call<doc.MessageView[]>({
      method: "GET", path: at("/v1/sessions", sessionId, "mailbox"), repeat: "if_not_taken", list: true, signal: options.signal,
    })).value;
  }

  /** Show a session's dead letters. */
  async deadLetters(sessionId: string, options: CallOptions = {}): Promise<doc.MessageView[]> {
    return (await this.transport.call<doc.MessageView[]>({
      method: "GET", path: at("/v1/sessions", sessionId, "mailbox", "dead-letter"), repeat: "always", list: true, signal: options.signal,
    })).value;
  }

  /** Take a message out of the mailbox. */
  async acknowledgeMessage(sessionId: string, messageId: string, options: CallOptions = {}): Promise<void> {
    await this.transport.call<void>({
      method: "POST", path: at("/v1/sessions", sessionId, "mailbox", messageId, "ack"), repeat: "always", needs: ["message_id"], signal: options.signal,
    });
  }

  /** Put a dead letter back into the mailbox. */
  async replayMessage(sessionId: string, messageId: string, options: CallOptions = {}): Promise<doc.MessageView> {
    return (await this.transport.call<doc.MessageView>({
      method: "POST", path: at("/v1/sessions", sessionId, "mailbox", "dead-letter", messageId, "replay"), repeat: "always", needs: ["message_id"], signal: options.signal,
    })).value;
  }

  /** Let an effect be tried at once. */
  async retryEffect(sessionId: string, effectId: string, options: CallOptions = {}): Promise<doc.EffectView> {
    return (await this.transport.call<doc.EffectView>({
      method: "POST", path: at("/v1/sessions", sessionId, "effects", effectId, "retry"), repeat: "always", needs: ["effect_id"], signal: options.signal,
    })).value;
  }

  /** Who the caller is. */
  async me(options: CallOptions = {}): Promise<doc.Me> {
    return (await this.transport.call<doc.Me>({
      method: "GET", path: "/v1/me", repeat: "always", needs: ["principal", "role"], signal: options.signal,
    })).value;
  }

  /** Makes a token. Its secret cannot be had again, so the call is never repeated. */
  async createToken(body: doc.CreateToken, options: CallOptions = {}): Promise<doc.TokenSecret> {
    return (await this.transport.call<doc.TokenSecret>({
      method: "POST", path: "/v1/tokens", body, repeat: "never", needs: ["token"], signal: options.signal,
    })).value;
  }

  /** List tokens. */
  async listTokens(options: CallOptions & { state?: string; limit?: number; cursor?: string } = {}): Promise<doc.TokenList> {
    return (await this.transport.call<doc.TokenList>({
      method: "GET", path: "/v1/tokens", query: { state: options.state, limit: options.limit, cursor: options.cursor }, repeat: "always", needs: ["data"], signal: options.signal,
    })).value;
  }

  /** Show a token. */
  async getToken(tokenId: string, options: CallOptions = {}): Promise<doc.Token> {
    return (await this.transport.call<doc.Token>({
      method: "GET", path: at("/v1/tokens", tokenId), repeat: "always", needs: ["token_id"], signal: options.signal,
    })).value;
  }

  /** Gives a token another secret; the present one works for `graceMs` more. Never repeated. */
  async rotateToken(tokenId: string, graceMs: number, options: CallOptions = {}): Promise<doc.TokenSecret> {
    return (await this.transport.call<doc.TokenSecret>({
      method: "POST", path: at("/v1/tokens", tokenId, "rotate"), body: { grace_ms: graceMs }, repeat: "never", needs: ["token"], signal: options.signal,
    })).value;
  }

  /** Revoke a token. */
  async revokeToken(tokenId: string, options: CallOptions = {}): Promise<void> {
    await this.transport.call<void>({
      method: "DELETE", path: at("/v1/tokens", tokenId), repeat: "always", signal: options.signal,
    });
  }

  /** The public keys of what the service signed, for `verifyGrant`. */
  async keys(options: CallOptions = {}): Promise<doc.KeySet> {
    return (await this.transport.call<doc.KeySet>({
      method: "GET", path: "/v1/keys", repeat: "always", needs: ["keys"], signal: options.signal,
    })).value;
  }

  /**
   * Makes a ticket for one stream, for a page whose EventSource or WebSocket cannot send the token: it
   * goes into the address as `ticket`, works once within a minute, and for that path alone, such as
   * /v1/sessions/releases/stream. Never repeated.
   */
  async createStreamTicket(path: string, options: CallOptions = {}): Promise<doc.StreamTicket> {
    return (await this.transport.call<doc.StreamTicket>({
      method: "POST", path: "/v1/stream-tickets", body: { path }, repeat: "never", needs: ["ticket"], signal: options.signal,
    })).value;
  }

  /** Makes a webhook. Its secret cannot be had again, so the call is never repeated. */
  async createWebhook(body: doc.WebhookBody, options: CallOptions = {}): Promise<doc.WebhookSecret> {
    return (await this.transport.call<doc.WebhookSecret>({
      method: "POST", path: "/v1/webhooks", body, repeat: "never", needs: ["webhook", "secret"], signal: options.signal,
    })).value;
  }

  /** All webhooks, the oldest first. */
  async listWebhooks(options: CallOptions = {}): Promise<doc.WebhookList> {
    return (await this.transport.call<doc.WebhookList>({
      method: "GET", path: "/v1/webhooks", repeat: "always", needs: ["data"], signal: options.signal,
    })).value;
  }

  /** Show a webhook. */
  async getWebhook(webhookId: string, options: CallOptions = {}): Promise<doc.Webhook> {
    return (await this.transport.call<doc.Webhook>({
      method: "GET", path: at("/v1/webhooks", webhookId), repeat: "always", needs: ["webhook_id"], signal: options.signal,
    })).value;
  }

  /** Changes the settings of a webhook that `body` has, and keeps the others. */
  async changeWebhook(webhookId: string, body: doc.WebhookBody, options: CallOptions = {}): Promise<doc.Webhook> {
    return (await this.transport.call<doc.Webhook>({
      method: "POST", path: at("/v1/webhooks", webhookId), body, repeat: "always", needs: ["webhook_id"], signal: options.signal,
    })).value;
  }

  /** Deletes a webhook and drops its pending deliveries. Never repeated: the second call would not find it. */
  async removeWebhook(webhookId: string, options: CallOptions = {}): Promise<void> {
    await this.transport.call<void>({
      method: "DELETE", path: at("/v1/webhooks", webhookId), repeat: "never", signal: options.signal,
    });
  }

  /**
   * Gives a webhook another secret, which cannot be had again. Deliveries are signed with the present
   * one, too, for `graceMs`, a day if it is left out. Never repeated.
   */
  async rotateWebhook(webhookId: string, options: CallOptions & { graceMs?: number } = {}): Promise<doc.WebhookSecret> {
    return (await this.transport.call<doc.WebhookSecret>({
      method: "POST", path: at("/v1/webhooks", webhookId, "rotate"), body: { grace_ms: options.graceMs }, repeat: "never", needs: ["webhook", "secret"], signal: options.signal,
    })).value;
  }

  /** Posts a test event to a webhook's URL once, and says whether it was delivered. Never repeated. */
  async testWebhook(webhookId: string, options: CallOptions = {}): Promise<doc.WebhookTest> {
    return (await this.transport.call<doc.WebhookTest>({
      method: "POST", path: at("/v1/webhooks", webhookId, "test"), repeat: "never", needs: ["delivered", "message_id"], signal: options.signal,
    })).value;
  }

  /** Makes the oldest 1,000 deliveries that were given up due again. Call it again while `more` is true. */
  async replayWebhook(webhookId: string, options: CallOptions = {}): Promise<doc.WebhookReplay> {
    return (await this.transport.call<doc.WebhookReplay>({
      method: "POST", path: at("/v1/webhooks", webhookId, "replay"), repeat: "always", needs: ["replayed", "more"], signal: options.signal,
    })).value;
  }

  /** The channels for notifications by name, with how many of their messages are not sent or were given up. */
  async listChannels(options: CallOptions = {}): Promise<doc.ChannelList> {
    return (await this.transport.call<doc.ChannelList>({
      method: "GET", path: "/v1/channels", repeat: "always", needs: ["data"], signal: options.signal,
    })).value;
  }

  /** Sends a test message once, and says whether it was delivered. Never repeated. */
  async testChannel(name: string, address: string, options: CallOptions = {}): Promise<doc.ChannelTest> {
    return (await this.transport.call<doc.ChannelTest>({
      method: "POST", path: at("/v1/channels", name, "test"), body: { address }, repeat: "never", needs: ["delivered"], signal: options.signal,
    })).value;
  }

  /** The addresses at which the caller is notified, the oldest first, and the channels to which the caller can add one. */
  async listAddresses(options: CallOptions = {}): Promise<doc.AddressList> {
    return (await this.transport.call<doc.AddressList>({
      method: "GET", path: "/v1/me/addresses", repeat: "always", needs: ["data", "channels"], signal: options.signal,
    })).value;
  }

  /**
   * Adds an address of the caller, or for an admin one of `principal`, and sends a code to it for
   * `verifyAddress`. Never repeated: each call sends a message.
   */
  async addAddress(channel: string, address: string, options: CallOptions & { principal?: string } = {}): Promise<doc.Address> {
    return (await this.transport.call<doc.Address>({
      method: "POST", path: "/v1/me/addresses", body: { channel, address, principal: options.principal }, repeat: "never", needs: ["address_id"], signal: options.signal,
    })).value;
  }

  /** Verifies an address by the code that was sent to it. Never repeated: a code has five tries. */
  async verifyAddress(addressId: string, code: string, options: CallOptions = {}): Promise<doc.Address> {
    return (await this.transport.call<doc.Address>({
      method: "POST", path: at("/v1/me/addresses", addressId, "verify"), body: { code }, repeat: "never", needs: ["address_id"], signal: options.signal,
    })).value;
  }

  /** Deletes an address or a browser of the caller. Never repeated: the second call would not find it. */
  async removeAddress(addressId: string, options: CallOptions = {}): Promise<void> {
    await this.transport.call<void>({
      method: "DELETE", path: at("/v1/me/addresses", addressId), repeat: "never", signal: options.signal,
    });
  }

  /** The key with which browsers subscribe to notifications, and the browsers of the caller. */
  async getPush(options: CallOptions = {}): Promise<doc.PushView> {
    return (await this.transport.call<doc.PushView>({
      method: "GET", path: "/v1/me/push", repeat: "always", needs: ["data"], signal: options.signal,
    })).value;
  }

  /** Adds a browser of the caller, from what its PushSubscription.toJSON returns. Again is a no-op. `removeAddress` removes it. */
  async subscribePush(body: doc.PushBody, options: CallOptions = {}): Promise<doc.Address> {
    return (await this.transport.call<doc.Address>({
      method: "POST", path: "/v1/me/push", body, repeat: "always", needs: ["address_id"], signal: options.signal,
    })).value;
  }

  /** The times of the day at which the caller gets no messages. */
  async getQuietHours(options: CallOptions = {}): Promise<doc.QuietHoursView> {
    return (await this.transport.call<doc.QuietHoursView>({
      method: "GET", path: "/v1/me/quiet-hours", repeat: "always", signal: options.signal,
    })).value;
  }

  /** Sets the times of the day at which the caller gets no messages. */
  async setQuietHours(body: doc.QuietHours, options: CallOptions = {}): Promise<doc.QuietHoursView> {
    return (await this.transport.call<doc.QuietHoursView>({
      method: "PUT", path: "/v1/me/quiet-hours", body, repeat: "always", needs: ["quiet_hours"], signal: options.signal,
    })).value;
  }

  /** Ends the caller's quiet hours. Again is a no-op. */
  async clearQuietHours(options: CallOptions = {}): Promise<void> {
    await this.transport.call<void>({
      method: "DELETE", path: "/v1/me/quiet-hours", repeat: "always", signal: options.signal,
    });
  }

  /**
   * Says whether the caller is looking at their inbox, and with the handle `viewing` at which request.
   * True counts for 90 seconds, in which the default notification of the caller waits.
   */
  async setPresence(visible: boolean, options: CallOptions & { viewing?: string } = {}): Promise<void> {
    await this.transport.call<void>({
      method: "PUT", path: "/v1/me/presence", body: { visible, viewing: options.viewing }, repeat: "always", signal: options.signal,
    });
  }

  /** The audit's own log, the oldest line first: changes to who may decide, outside of sessions. */
  async listAudit(options: CallOptions & { limit?: number; cursor?: string } = {}): Promise<doc.AuditList> {
    return (await this.transport.call<doc.AuditList>({
      method: "GET", path: "/v1/audit", query: { limit: options.limit, cursor: options.cursor }, repeat: "always", needs: ["data"], signal: options.signal,
    })).value;
  }

  /**
   * Removes the contents of events from a session for good: of `eventIds`, or of up to 200 before
   * `beforeMs`. Again is a no-op; `afterEventId` continues.
   */
  async redact(sessionId: string, reason: string, options: CallOptions & { afterEventId?: string; beforeMs?: number; eventIds?: string[] } = {}): Promise<doc.Redacted> {
    return (await this.transport.call<doc.Redacted>({
      method: "POST", path: at("/v1/sessions", sessionId, "redact"), body: { reason, after_event_id: options.afterEventId, before_ms: options.beforeMs, event_ids: options.eventIds }, repeat: "always", needs: ["redacted"], signal: options.signal,
    })).value;
  }

  /** The version of the service. */
  async version(options: CallOptions = {}): Promise<doc.Version> {
    return (await this.transport.call<doc.Version>({
      method: "GET", path: "/version", repeat: "always", needs: ["version"], signal: options.signal,
    })).value;
  }

  /** List runs. */
  async listRuns(options: RunListOptions = {}): Promise<doc.Page<doc.RunView>> {
    return await page(this.transport, "/v1/runs", { session_id: options.sessionId, agent_id: options.agentId, status: options.status, kind: options.kind, priority_active: options.priorityActive || undefined }, options);
  }

  allRuns(options: RunListOptions = {}): AsyncGenerator<doc.RunView, void> {
    return walk(this.transport, "/v1/runs", { session_id: options.sessionId, agent_id: options.agentId, status: options.status, kind: options.kind, priority_active: options.priorityActive || undefined }, options);
  }

  /** List sessions. */
  async listSessions(options: SessionListOptions = {}): Promise<doc.Page<doc.SessionSummary>> {
    return await page(this.transport, "/v1/sessions", { status: options.status, agent_id: options.agentId }, options);
  }

  allSessions(options: SessionListOptions = {}): AsyncGenerator<doc.SessionSummary, void> {
    return walk(this.transport, "/v1/sessions", { status: options.status, agent_id: options.agentId }, options);
  }

  /** List standing rules. */
  async listRules(options: RuleListOptions = {}): Promise<doc.Page<doc.Rule>> {
    return await page(this.transport, "/v1/rules", { session_id: options.sessionId }, options);
  }

  allRules(options: RuleListOptions = {}): AsyncGenerator<doc.Rule, void> {
    return walk(this.transport, "/v1/rules", { session_id: options.sessionId }, options);
  }

  /** List effects. */
  async listEffects(options: EffectListOptions = {}): Promise<doc.Page<doc.EffectView>> {
    return await page(this.transport, "/v1/effects", { state: options.state, webhook_id: options.webhookId, session_id: options.sessionId }, options);
  }

  allEffects(options: EffectListOptions = {}): AsyncGenerator<doc.EffectView, void> {
    return walk(this.transport, "/v1/effects", { state: options.state, webhook_id: options.webhookId, session_id: options.sessionId }, options);
  }

  /** What was settled, the newest first. */
  async listDecisions(options: DecisionListOptions = {}): Promise<doc.Page<doc.RequestView>> {
    return await page(this.transport, "/v1/decisions", { session_id: options.sessionId, agent_id: options.agentId, actor: options.actor, outcome: options.outcome, since_ms: options.sinceMs, fields: options.summary ? "summary" : undefined }, options);
  }

  allDecisions(options: DecisionListOptions = {}): AsyncGenerator<doc.RequestView, void> {
    return walk(this.transport, "/v1/decisions", { session_id: options.sessionId, agent_id: options.agentId, actor: options.actor, outcome: options.outcome, since_ms: options.sinceMs, fields: options.summary ? "summary" : undefined }, options);
  }
}
