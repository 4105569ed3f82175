"""Code generated from openapi.json and calls.toml by "make sdk-types". DO NOT EDIT."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, cast

from . import types as doc
from ._replies import Page, Paging, RunResult, SessionResult
from ._transport import at, without_none


class Calls(Paging):
    """The calls that are an operation of the API each."""

    async def get_run(self, run_id: str) -> doc.RunView:
        """Show a run."""
        return cast(doc.RunView, (await self.transport.call("GET", at("/v1/runs", run_id), needs=["run_id"])).value)

    async def retry_run(self, run_id: str, *, idempotency_key: str | None = None) -> doc.RunView:
        """Makes a failed run claimable again, with its input, its checkpoint and its last decisions. Raises run_state when it is not
        failed, session_busy while another run of its session is active, and session_ended."""
        return cast(doc.RunView, (await self.transport.call("POST", at("/v1/runs", run_id, "retry"), body={}, key=idempotency_key or str(uuid.uuid4()), needs=["run_id"])).value)

    async def cancel_run(self, run_id: str, *, reason: str | None = None) -> doc.RunView:
        """Cancels a run; one that is over stays as it is."""
        return cast(doc.RunView, (await self.transport.call("POST", at("/v1/runs", run_id, "cancel"), body=without_none(reason=reason), needs=["run_id"])).value)

    async def resolve_run_approvals(self, run_id: str, resolutions: Sequence[doc.ApprovalResolution], *, idempotency_key: str | None = None) -> RunResult:
        """Decides approvals of a run, all or none."""
        return RunResult.of(await self.transport.call("POST", at("/v1/runs", run_id, "approvals"), body={"resolutions": list(resolutions)}, key=idempotency_key or str(uuid.uuid4()), needs=["run_id", "status"]))

    async def resolve_active_run_approvals(self, session_id: str, resolutions: Sequence[doc.ApprovalResolution], *, idempotency_key: str | None = None) -> RunResult:
        """Decides approvals of the session's active run."""
        return RunResult.of(await self.transport.call("POST", at("/v1/sessions", session_id, "approval-runs"), body={"resolutions": list(resolutions)}, key=idempotency_key or str(uuid.uuid4()), needs=["run_id", "status"]))

    async def resolve_session_approvals(self, session_id: str, resolutions: Sequence[doc.ApprovalResolution], *, wait_seconds: float | None = None, idempotency_key: str | None = None) -> SessionResult:
        """Decides approvals of the session's active run and returns the session, after the wait at the latest."""
        return SessionResult.of(await self.transport.call("POST", at("/v1/sessions", session_id, "approvals"), body={"resolutions": list(resolutions)}, key=idempotency_key or str(uuid.uuid4()), prefer=wait_seconds, needs=["session_id", "status"]))

    async def answer_run_question(self, run_id: str, resolution: doc.UserQuestionResolution, *, idempotency_key: str | None = None) -> RunResult:
        """Answer a question of a run."""
        return RunResult.of(await self.transport.call("POST", at("/v1/runs", run_id, "questions"), body={"resolution": resolution}, key=idempotency_key or str(uuid.uuid4()), needs=["run_id", "status"]))

    async def answer_session_question(self, session_id: str, resolution: doc.UserQuestionResolution, *, wait_seconds: float | None = None, idempotency_key: str | None = None) -> SessionResult:
        """Answers a question of the session's active run, or else of a parent clarification that waits in the session."""
        return SessionResult.of(await self.transport.call("POST", at("/v1/sessions", session_id, "questions"), body={"resolution": resolution}, key=idempotency_key or str(uuid.uuid4()), prefer=wait_seconds, needs=["session_id", "status"]))

    async def cancel_question(self, run_id: str, request_id: str, *, justification: str | None = None, idempotency_key: str | None = None) -> RunResult:
        """Cancels an open question, and with it the run; a parent clarification is completed, declined."""
        return RunResult.of(await self.transport.call("POST", at("/v1/runs", run_id, "questions", request_id, "cancel"), body=without_none(justification=justification), key=idempotency_key or str(uuid.uuid4()), needs=["run_id", "status"]))

    async def withdraw(self, run_id: str, request_id: str, fence: str, *, reason: str | None = None) -> doc.RunView:
        """Withdraws a request that an attached worker no longer needs."""
        return cast(doc.RunView, (await self.transport.call("POST", at("/v1/runs", run_id, "requests", request_id, "withdraw"), body=without_none(fence=fence, reason=reason), needs=["run_id"])).value)

    async def complete_run(self, run_id: str, fence: str, output: Any = None) -> doc.RunView:
        """End a run with its output."""
        return cast(doc.RunView, (await self.transport.call("POST", at("/v1/runs", run_id, "complete"), body=without_none(fence=fence, output=output), needs=["run_id"])).value)

    async def fail_run(self, run_id: str, fence: str, error: str) -> doc.RunView:
        """End a run with an error."""
        return cast(doc.RunView, (await self.transport.call("POST", at("/v1/runs", run_id, "fail"), body={"fence": fence, "error": error}, needs=["run_id"])).value)

    async def get_session(self, session_id: str) -> doc.SessionView:
        """Show a session."""
        return cast(doc.SessionView, (await self.transport.call("GET", at("/v1/sessions", session_id), needs=["session_id", "status"])).value)

    async def amend_session(self, session_id: str, body: Mapping[str, Any]) -> doc.SessionView:
        """Changes a session's metadata, label and origin."""
        return cast(doc.SessionView, (await self.transport.call("PATCH", at("/v1/sessions", session_id), body=dict(body), needs=["session_id"])).value)

    async def interrupt_session(self, session_id: str, *, reason: str | None = None) -> doc.InterruptReply:
        """Interrupts the session's active run and declines the parent clarifications that wait in it. Not repeated when its reply is
        lost: it would interrupt the next run."""
        return cast(doc.InterruptReply, (await self.transport.call("POST", at("/v1/sessions", session_id, "interrupt"), body=without_none(reason=reason), repeat="if_not_taken", needs=["interrupted", "session"])).value)

    async def end_session(self, session_id: str, *, reason: str | None = None) -> doc.SessionView:
        """Ends a session: its runs are cancelled and no run is accepted any more."""
        return cast(doc.SessionView, (await self.transport.call("POST", at("/v1/sessions", session_id, "end"), body=without_none(reason=reason), needs=["session_id"])).value)

    async def get_request(self, handle: str, *, context: int | None = None) -> doc.RequestView:
        """An approval or a question by its handle, open or settled. context adds as many settled requests of its session."""
        return cast(doc.RequestView, (await self.transport.call("GET", at("/v1/requests", handle), query={"context": context}, needs=["run_id", "request"])).value)

    async def acknowledge_request(self, handle: str, state: str, *, until_ms: int | None = None) -> doc.RequestView:
        """The state "acknowledged" shows everyone that the caller is looking at a pending request, and "snoozed" holds back messages to
        the caller, each until until_ms; "none" takes either back. It decides nothing. Again is a no-op."""
        return cast(doc.RequestView, (await self.transport.call("PUT", at("/v1/requests", handle, "acknowledgement"), body=without_none(state=state, until_ms=until_ms), needs=["run_id", "request"])).value)

    async def explain_request(self, handle: str) -> doc.RequestExplanation:
        """Says what an approval or a question waits for, who may decide it, and what its deadline does."""
        return cast(doc.RequestExplanation, (await self.transport.call("GET", at("/v1/requests", handle, "explain"), needs=["handle", "state", "text"])).value)

    async def explain_run(self, run_id: str) -> doc.RunExplanation:
        """Says what a run waits for: another run of its session, a worker, a person, or the parent session."""
        return cast(doc.RunExplanation, (await self.transport.call("GET", at("/v1/runs", run_id, "explain"), needs=["run_id", "state", "text"])).value)

    async def list_workers(self) -> doc.WorkersView:
        """The leases that are in force, by worker."""
        return cast(doc.WorkersView, (await self.transport.call("GET", "/v1/workers", needs=["workers"])).value)

    async def get_rule(self, rule_id: str) -> doc.Rule:
        """Show a standing rule."""
        return cast(doc.Rule, (await self.transport.call("GET", at("/v1/rules", rule_id), needs=["rule_id"])).value)

    async def revoke_rule(self, rule_id: str) -> None:
        """Ends a rule at once. Again is a no-op."""
        await self.transport.call("DELETE", at("/v1/rules", rule_id))

    async def explain_rules(self, body: Mapping[str, Any]) -> doc.Explanation:
        """Says what would happen to an approval that asks for a call now. It changes nothing."""
        return cast(doc.Explanation, (await self.transport.call("POST", "/v1/rules/explain", body=dict(body), needs=["decision"])).value)

    async def mailbox(self, session_id: str) -> list[doc.MessageView]:
        """Reads a session's messages and leases each for 30 s: acknowledge it once it is processed."""
        return cast(list[doc.MessageView], (await self.transport.call("GET", at("/v1/sessions", session_id, "mailbox"), repeat="if_not_taken", listed=True)).value)

    async def dead_letters(self, session_id: str) -> list[doc.MessageView]:
        """Show a session's dead letters."""
        return cast(list[doc.MessageView], (await self.transport.call("GET", at("/v1/sessions", session_id, "mailbox", "dead-letter"), listed=True)).value)

    async def acknowledge_message(self, session_id: str, message_id: str) -> None:
        """Take a message out of the mailbox."""
        await self.transport.call("POST", at("/v1/sessions", session_id, "mailbox", message_id, "ack"), needs=["message_id"])

    async def replay_message(self, session_id: str, message_id: str) -> doc.MessageView:
        """Put a dead letter back into the mailbox."""
        return cast(doc.MessageView, (await self.transport.call("POST", at("/v1/sessions", session_id, "mailbox", "dead-letter", message_id, "replay"), needs=["message_id"])).value)

    async def retry_effect(self, session_id: str, effect_id: str) -> doc.EffectView:
        """Let an effect be tried at once."""
        return cast(doc.EffectView, (await self.transport.call("POST", at("/v1/sessions", session_id, "effects", effect_id, "retry"), needs=["effect_id"])).value)

    async def me(self) -> doc.Me:
        """Who the caller is."""
        return cast(doc.Me, (await self.transport.call("GET", "/v1/me", needs=["principal", "role"])).value)

    async def create_token(self, body: Mapping[str, Any]) -> doc.TokenSecret:
        """Makes a token. Its secret cannot be had again, so the call is never repeated."""
        return cast(doc.TokenSecret, (await self.transport.call("POST", "/v1/tokens", body=dict(body), repeat="never", needs=["token"])).value)

    async def list_tokens(self, *, state: str | None = None, limit: int | None = None, cursor: str | None = None) -> doc.TokenList:
        """List tokens."""
        return cast(doc.TokenList, (await self.transport.call("GET", "/v1/tokens", query={"state": state, "limit": limit, "cursor": cursor}, needs=["data"])).value)

    async def get_token(self, token_id: str) -> doc.Token:
        """Show a token."""
        return cast(doc.Token, (await self.transport.call("GET", at("/v1/tokens", token_id), needs=["token_id"])).value)

    async def rotate_token(self, token_id: str, grace_ms: int) -> doc.TokenSecret:
        """Gives a token another secret; the present one works for grace_ms more. Never repeated."""
        return cast(doc.TokenSecret, (await self.transport.call("POST", at("/v1/tokens", token_id, "rotate"), body={"grace_ms": grace_ms}, repeat="never", needs=["token"])).value)

    async def revoke_token(self, token_id: str) -> None:
        """Revoke a token."""
        await self.transport.call("DELETE", at("/v1/tokens", token_id))

    async def keys(self) -> doc.KeySet:
        """The public keys of what the service signed, for verify_grant."""
        return cast(doc.KeySet, (await self.transport.call("GET", "/v1/keys", needs=["keys"])).value)

    async def create_stream_ticket(self, path: str) -> doc.StreamTicket:
        """Makes a ticket for one stream, for a page whose EventSource or WebSocket cannot send the token: it goes into the address as
        ticket, works once within a minute, and for that path alone, such as /v1/sessions/releases/stream. Never repeated."""
        return cast(doc.StreamTicket, (await self.transport.call("POST", "/v1/stream-tickets", body={"path": path}, repeat="never", needs=["ticket"])).value)

    async def create_webhook(self, body: Mapping[str, Any]) -> doc.WebhookSecret:
        """Makes a webhook. Its secret cannot be had again, so the call is never repeated."""
        return cast(doc.WebhookSecret, (await self.transport.call("POST", "/v1/webhooks", body=dict(body), repeat="never", needs=["webhook", "secret"])).value)

    async def list_webhooks(self) -> doc.WebhookList:
        """All webhooks, the oldest first."""
        return cast(doc.WebhookList, (await self.transport.call("GET", "/v1/webhooks", needs=["data"])).value)

    async def get_webhook(self, webhook_id: str) -> doc.Webhook:
        """Show a webhook."""
        return cast(doc.Webhook, (await self.transport.call("GET", at("/v1/webhooks", webhook_id), needs=["webhook_id"])).value)

    async def change_webhook(self, webhook_id: str, body: Mapping[str, Any]) -> doc.Webhook:
        """Changes the settings of a webhook that body has, and keeps the others."""
        return cast(doc.Webhook, (await self.transport.call("POST", at("/v1/webhooks", webhook_id), body=dict(body), needs=["webhook_id"])).value)

    async def remove_webhook(self, webhook_id: str) -> None:
        """Deletes a webhook and drops its pending deliveries. Never repeated: the second call would not find it."""
        await self.transport.call("DELETE", at("/v1/webhooks", webhook_id), repeat="never")

    async def rotate_webhook(self, webhook_id: str, *, grace_ms: int | None = None) -> doc.WebhookSecret:
        """Gives a webhook another secret, which cannot be had again. Deliveries are signed with the present one, too, for grace_ms, a day
        if it is left out. Never repeated."""
        return cast(doc.WebhookSecret, (await self.transport.call("POST", at("/v1/webhooks", webhook_id, "rotate"), body=without_none(grace_ms=grace_ms), repeat="never", needs=["webhook", "secret"])).value)

    async def test_webhook(self, webhook_id: str) -> doc.WebhookTest:
        """Posts a test event to a webhook's URL once, and says whether it was delivered. Never repeated."""
        return cast(doc.WebhookTest, (await self.transport.call("POST", at("/v1/webhooks", webhook_id, "test"), repeat="never", needs=["delivered", "message_id"])).value)

    async def replay_webhook(self, webhook_id: str) -> doc.WebhookReplay:
        """Makes the oldest 1,000 deliveries that were given up due again. Call it again while more is true."""
        return cast(doc.WebhookReplay, (await self.transport.call("POST", at("/v1/webhooks", webhook_id, "replay"), needs=["replayed", "more"])).value)

    async def list_channels(self) -> doc.ChannelList:
        """The channels for notifications by name, with how many of their messages are not sent or were given up."""
        return cast(doc.ChannelList, (await self.transport.call("GET", "/v1/channels", needs=["data"])).value)

    async def test_channel(self, name: str, address: str) -> doc.ChannelTest:
        """Sends a test message once, and says whether it was delivered. Never repeated."""
        return cast(doc.ChannelTest, (await self.transport.call("POST", at("/v1/channels", name, "test"), body={"address": address}, repeat="never", needs=["delivered"])).value)

    async def list_addresses(self) -> doc.AddressList:
        """The addresses at which the caller is notified, the oldest first, and the channels to which the caller can add one."""
        return cast(doc.AddressList, (await self.transport.call("GET", "/v1/me/addresses", needs=["data", "channels"])).value)

    async def add_address(self, channel: str, address: str, *, principal: str | None = None) -> doc.Address:
        """Adds an address of the caller, or for an admin one of principal, and sends a code to it for verify_address. Never repeated:
        each call sends a message."""
        return cast(doc.Address, (await self.transport.call("POST", "/v1/me/addresses", body=without_none(channel=channel, address=address, principal=principal), repeat="never", needs=["address_id"])).value)

    async def verify_address(self, address_id: str, code: str) -> doc.Address:
        """Verifies an address by the code that was sent to it. Never repeated: a code has five tries."""
        return cast(doc.Address, (await self.transport.call("POST", at("/v1/me/addresses", address_id, "verify"), body={"code": code}, repeat="never", needs=["address_id"])).value)

    async def remove_address(self, address_id: str) -> None:
        """Deletes an address or a browser of the caller. Never repeated: the second call would not find it."""
        await self.transport.call("DELETE", at("/v1/me/addresses", address_id), repeat="never")

    async def get_push(self) -> doc.PushView:
        """The key with which browsers subscribe to notifications, and the browsers of the caller."""
        return cast(doc.PushView, (await self.transport.call("GET", "/v1/me/push", needs=["data"])).value)

    async def subscribe_push(self, body: Mapping[str, Any]) -> doc.Address:
        """Adds a browser of the caller, from what its PushSubscription.toJSON returns. Again is a no-op. remove_address removes it."""
        return cast(doc.Address, (await self.transport.call("POST", "/v1/me/push", body=dict(body), needs=["address_id"])).value)

    async def get_quiet_hours(self) -> doc.QuietHoursView:
        """The times of the day at which the caller gets no messages."""
        return cast(doc.QuietHoursView, (await self.transport.call("GET", "/v1/me/quiet-hours")).value)

    async def set_quiet_hours(self, body: Mapping[str, Any]) -> doc.QuietHoursView:
        """Sets the times of the day at which the caller gets no messages."""
        return cast(doc.QuietHoursView, (await self.transport.call("PUT", "/v1/me/quiet-hours", body=dict(body), needs=["quiet_hours"])).value)

    async def clear_quiet_hours(self) -> None:
        """Ends the caller's quiet hours. Again is a no-op."""
        await self.transport.call("DELETE", "/v1/me/quiet-hours")

    async def set_presence(self, visible: bool, *, viewing: str | None = None) -> None:
        """Says whether the caller is looking at their inbox, and with the handle viewing at which request. True counts for 90 seconds, in
        which the default notification of the caller waits."""
        await self.transport.call("PUT", "/v1/me/presence", body=without_none(visible=visible, viewing=viewing))

    async def list_audit(self, *, limit: int | None = None, cursor: str | None = None) -> doc.AuditList:
        """The audit's own log, the oldest line first: changes to who may decide, outside of sessions."""
        return cast(doc.AuditList, (await self.transport.call("GET", "/v1/audit", query={"limit": limit, "cursor": cursor}, needs=["data"])).value)

    async def redact(self, session_id: str, reason: str, *, after_event_id: str | None = None, before_ms: int | None = None, event_ids: Sequence[str] | None = None) -> doc.Redacted:
        """Removes the contents of events from a session for good: of event_ids, or of up to 200 before before_ms. Again is a no-op;
        after_event_id continues."""
        return cast(doc.Redacted, (await self.transport.call("POST", at("/v1/sessions", session_id, "redact"), body=without_none(reason=reason, after_event_id=after_event_id, before_ms=before_ms, event_ids=event_ids), needs=["redacted"])).value)

    async def version(self) -> doc.VersionReply:
        """The version of the service."""
        return cast(doc.VersionReply, (await self.transport.call("GET", "/version", needs=["version"])).value)

    async def list_runs(self, *, session_id: str | None = None, agent_id: str | None = None, status: str | None = None, kind: str | None = None, priority_active: bool = False, limit: int | None = None, cursor: str | None = None) -> Page[doc.RunView]:
        """List runs. priority_active: Runs that are not over come first."""
        return await self._page("/v1/runs", {"session_id": session_id, "agent_id": agent_id, "status": status, "kind": kind, "priority_active": "true" if priority_active else None}, limit, cursor)

    def all_runs(self, *, session_id: str | None = None, agent_id: str | None = None, status: str | None = None, kind: str | None = None, priority_active: bool = False) -> AsyncIterator[doc.RunView]:
        """List runs."""
        return self._walk("/v1/runs", {"session_id": session_id, "agent_id": agent_id, "status": status, "kind": kind, "priority_active": "true" if priority_active else None})

    async def list_sessions(self, *, status: str | None = None, agent_id: str | None = None, limit: int | None = None, cursor: str | None = None) -> Page[doc.SessionSummary]:
        """List sessions."""
        return await self._page("/v1/sessions", {"status": status, "agent_id": agent_id}, limit, cursor)

    def all_sessions(self, *, status: str | None = None, agent_id: str | None = None) -> AsyncIterator[doc.SessionSummary]:
        """List sessions."""
        return self._walk("/v1/sessions", {"status": status, "agent_id": agent_id})

    async def list_rules(self, *, session_id: str | None = None, limit: int | None = None, cursor: str | None = None) -> Page[doc.Rule]:
        """List standing rules."""
        return await self._page("/v1/rules", {"session_id": session_id}, limit, cursor)

    def all_rules(self, *, session_id: str | None = None) -> AsyncIterator[doc.Rule]:
        """List standing rules."""
        return self._walk("/v1/rules", {"session_id": session_id})

    async def list_effects(self, *, state: str | None = None, webhook_id: str | None = None, session_id: str | None = None, limit: int | None = None, cursor: str | None = None) -> Page[doc.EffectView]:
        """List effects."""
        return await self._page("/v1/effects", {"state": state, "webhook_id": webhook_id, "session_id": session_id}, limit, cursor)

    def all_effects(self, *, state: str | None = None, webhook_id: str | None = None, session_id: str | None = None) -> AsyncIterator[doc.EffectView]:
        """List effects."""
        return self._walk("/v1/effects", {"state": state, "webhook_id": webhook_id, "session_id": session_id})

    async def list_decisions(self, *, session_id: str | None = None, agent_id: str | None = None, actor: str | None = None, outcome: str | None = None, since_ms: int | None = None, summary: bool = False, limit: int | None = None, cursor: str | None = None) -> Page[doc.RequestView]:
        """What was settled, the newest first. summary: Cuts the inputs of approvals to 4 KiB."""
        return await self._page("/v1/decisions", {"session_id": session_id, "agent_id": agent_id, "actor": actor, "outcome": outcome, "since_ms": since_ms, "fields": "summary" if summary else None}, limit, cursor)

    def all_decisions(self, *, session_id: str | None = None, agent_id: str | None = None, actor: str | None = None, outcome: str | None = None, since_ms: int | None = None, summary: bool = False) -> AsyncIterator[doc.RequestView]:
        """What was settled, the newest first."""
        return self._walk("/v1/decisions", {"session_id": session_id, "agent_id": agent_id, "actor": actor, "outcome": outcome, "since_ms": since_ms, "fields": "summary" if summary else None})
