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
        return cast(doc.SessionView, (await self.transport.call("GET", at("/v1/sessions", session_id))).value)

    async def amend_session(self, session_id: str, body: Mapping[str, Any]) -> doc.SessionView:
        """Changes a session's metadata, label and origin."""
        return cast(doc.SessionView, (await self.transport.call("PATCH", at("/v1/sessions", session_id), body=dict(body))).value)

    async def interrupt_session(self, session_id: str, *, reason: str | None = None) -> doc.InterruptReply:
        """Interrupts the session's active run and declines the parent clarifications that wait in it."""
        return cast(doc.InterruptReply, (await self.transport.call("POST", at("/v1/sessions", session_id, "interrupt"), body=without_none(reason=reason), needs=["interrupted", "session"])).value)

    async def end_session(self, session_id: str, *, reason: str | None = None) -> doc.SessionView:
        """Ends a session: its runs are cancelled and no run is accepted any more."""
        return cast(doc.SessionView, (await self.transport.call("POST", at("/v1/sessions", session_id, "end"), body=without_none(reason=reason), needs=["session_id"])).value)

    async def get_request(self, handle: str, *, context: int | None = None) -> doc.RequestView:
        """An approval or a question by its handle, open or settled. context adds as many settled requests of its session."""
        return cast(doc.RequestView, (await self.transport.call("GET", at("/v1/requests", handle), query={"context": context})).value)

    async def list_workers(self) -> doc.WorkersView:
        """The leases that are in force, by worker."""
        return cast(doc.WorkersView, (await self.transport.call("GET", "/v1/workers")).value)

    async def get_rule(self, rule_id: str) -> doc.Rule:
        """Show a standing rule."""
        return cast(doc.Rule, (await self.transport.call("GET", at("/v1/rules", rule_id))).value)

    async def revoke_rule(self, rule_id: str) -> None:
        """Ends a rule at once. Again is a no-op."""
        await self.transport.call("DELETE", at("/v1/rules", rule_id))

    async def explain_rules(self, body: Mapping[str, Any]) -> doc.Explanation:
        """Says what would happen to an approval that asks for a call now. It changes nothing."""
        return cast(doc.Explanation, (await self.transport.call("POST", "/v1/rules/explain", body=dict(body))).value)

    async def mailbox(self, session_id: str) -> list[doc.MessageView]:
        """Reads a session's messages and leases each for 30 s: acknowledge it once it is processed."""
        return cast(list[doc.MessageView], (await self.transport.call("GET", at("/v1/sessions", session_id, "mailbox"), repeat="if_not_taken")).value)

    async def dead_letters(self, session_id: str) -> list[doc.MessageView]:
        """Show a session's dead letters."""
        return cast(list[doc.MessageView], (await self.transport.call("GET", at("/v1/sessions", session_id, "mailbox", "dead-letter"))).value)

    async def acknowledge_message(self, session_id: str, message_id: str) -> None:
        """Take a message out of the mailbox."""
        await self.transport.call("POST", at("/v1/sessions", session_id, "mailbox", message_id, "ack"))

    async def replay_message(self, session_id: str, message_id: str) -> doc.MessageView:
        """Put a dead letter back into the mailbox."""
        return cast(doc.MessageView, (await self.transport.call("POST", at("/v1/sessions", session_id, "mailbox", "dead-letter", message_id, "replay"))).value)

    async def retry_effect(self, session_id: str, effect_id: str) -> doc.EffectView:
        """Let an effect be tried at once."""
        return cast(doc.EffectView, (await self.transport.call("POST", at("/v1/sessions", session_id, "effects", effect_id, "retry"))).value)

    async def me(self) -> doc.Me:
        """Who the caller is."""
        return cast(doc.Me, (await self.transport.call("GET", "/v1/me")).value)

    async def create_token(self, body: Mapping[str, Any]) -> doc.TokenSecret:
        """Makes a token. Its secret cannot be had again, so the call is never repeated."""
        return cast(doc.TokenSecret, (await self.transport.call("POST", "/v1/tokens", body=dict(body), repeat="never")).value)

    async def list_tokens(self, *, state: str | None = None, limit: int | None = None, cursor: str | None = None) -> doc.TokenList:
        """List tokens."""
        return cast(doc.TokenList, (await self.transport.call("GET", "/v1/tokens", query={"state": state, "limit": limit, "cursor": cursor})).value)

    async def get_token(self, token_id: str) -> doc.Token:
        """Show a token."""
        return cast(doc.Token, (await self.transport.call("GET", at("/v1/tokens", token_id))).value)

    async def rotate_token(self, token_id: str, grace_ms: int) -> doc.TokenSecret:
        """Gives a token another secret; the present one works for grace_ms more. Never repeated."""
        return cast(doc.TokenSecret, (await self.transport.call("POST", at("/v1/tokens", token_id, "rotate"), body={"grace_ms": grace_ms}, repeat="never")).value)

    async def revoke_token(self, token_id: str) -> None:
        """Revoke a token."""
        await self.transport.call("DELETE", at("/v1/tokens", token_id))

    async def keys(self) -> doc.KeySet:
        """The public keys of what the service signed, for verify_grant."""
        return cast(doc.KeySet, (await self.transport.call("GET", "/v1/keys")).value)

    async def create_stream_ticket(self, path: str) -> doc.StreamTicket:
        """Makes a ticket for one stream, for a page whose EventSource or WebSocket cannot send the token: it goes into the address as
        ticket, works once within a minute, and for that path alone, such as /v1/sessions/releases/stream. Never repeated."""
        return cast(doc.StreamTicket, (await self.transport.call("POST", "/v1/stream-tickets", body={"path": path}, repeat="never")).value)

    async def version(self) -> doc.VersionReply:
        """The version of the service."""
        return cast(doc.VersionReply, (await self.transport.call("GET", "/version")).value)

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
