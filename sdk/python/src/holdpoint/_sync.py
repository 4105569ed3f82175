"""The client for programs without asyncio. Generated from _async.py, _calls.py and _task.py by "make sdk-types"; do not edit.

Every call is made in the thread of an event loop that the client has to itself. A client may be used by several threads."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from . import types as doc
from ._async import AsyncHoldpoint
from ._portal import Portal
from ._replies import CreatedRun, Page, RunResult, SessionResult
from ._stream import StreamItem
from ._task import AsyncTask
from ._transport import RetryPolicy
from .errors import HoldpointError


class Holdpoint:
    """Calls one holdpoint service. Bodies and replies are documents as they are on the wire; every call raises a HoldpointError."""

    def __init__(self, base_url: str, *, token: str | None=None, actor: str | None=None, via: str | None=None, retry: RetryPolicy=RetryPolicy(), timeout_seconds: float=30.0, ssl_context: ssl.SSLContext | None=None) -> None:
        """base_url is such as "http://127.0.0.1:4000"; a path in it is put before every route. token is a bearer token. actor is who
        makes the decisions, via the program that makes them. timeout_seconds is how long one attempt may take beyond the wait it
        asks for."""
        self._async = AsyncHoldpoint(base_url, token=token, actor=actor, via=via, retry=retry, timeout_seconds=timeout_seconds, ssl_context=ssl_context)
        self._portal = Portal()

    def close(self) -> None:
        """Closes the connections, and ends the thread of the calls. Workers of this client stop in order
        first. Every other call that a thread waits for raises a HoldpointError: it may or may not have taken effect. A handler
        must not call it."""
        self._portal.close(self._async.close)

    def __enter__(self) -> Holdpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create_run(self, body: Mapping[str, Any], *, idempotency_key: str | None=None) -> CreatedRun:
        """Makes a run. Without run_id a lost reply is made good by a key."""
        return self._portal.call(self._async.create_run(body, idempotency_key=idempotency_key))

    def create_session_run(self, session_id: str, body: Mapping[str, Any], *, idempotency_key: str | None=None) -> CreatedRun:
        """Makes a run by the session's route, which takes neither session_id, claim nor suspend."""
        return self._portal.call(self._async.create_session_run(session_id, body, idempotency_key=idempotency_key))

    def await_run(self, run_id: str, wait_seconds: float, *, until: Literal['decided', 'terminal']='terminal') -> doc.RunView:
        """Returns a run as soon as it is where until says, or as it is after the wait of at most 60 s."""
        return self._portal.call(self._async.await_run(run_id, wait_seconds, until=until))

    def wait_run(self, run_id: str, *, until: Literal['decided', 'terminal']='terminal', timeout_seconds: float | None=None) -> doc.RunView:
        """Returns a run when it is where until says: over, or not waiting for a person (any more). It outlasts an unavailable
        service, or a proxy without one. Raises TimeoutError after timeout_seconds."""
        return self._portal.call(self._async.wait_run(run_id, until=until, timeout_seconds=timeout_seconds))

    def approve(self, shown: Mapping[str, Any], *, updated_input: Any=None, reason: str | None=None, justification: str | None=None, remember: Literal['session', 'always'] | None=None, remember_as: Literal['exact', 'command', 'prefix', 'folder', 'tool'] | None=None, remember_for_ms: int | None=None, idempotency_key: str | None=None) -> RunResult:
        """Allows one approval as it was shown (run_id and request, as lists have them): refused with approval_changed when another
        is open now."""
        return self._portal.call(self._async.approve(shown, updated_input=updated_input, reason=reason, justification=justification, remember=remember, remember_as=remember_as, remember_for_ms=remember_for_ms, idempotency_key=idempotency_key))

    def deny(self, shown: Mapping[str, Any], *, reason: str | None=None, justification: str | None=None, remember: Literal['session', 'always'] | None=None, remember_as: Literal['exact', 'command', 'prefix', 'folder', 'tool'] | None=None, remember_for_ms: int | None=None, idempotency_key: str | None=None) -> RunResult:
        """Denies one approval as it was shown. The reason reaches the agent."""
        return self._portal.call(self._async.deny(shown, reason=reason, justification=justification, remember=remember, remember_as=remember_as, remember_for_ms=remember_for_ms, idempotency_key=idempotency_key))

    def answer(self, shown: Mapping[str, Any], answers: Sequence[doc.UserQuestionAnswer] | None=None, *, value: Any=None, justification: str | None=None, idempotency_key: str | None=None) -> RunResult:
        """Answers one question (run_id and request, as lists have them): answers for its structured questions, value for a typed
        one."""
        return self._portal.call(self._async.answer(shown, answers, value=value, justification=justification, idempotency_key=idempotency_key))

    def decline(self, shown: Mapping[str, Any], *, justification: str | None=None, idempotency_key: str | None=None) -> RunResult:
        """Declines one question."""
        return self._portal.call(self._async.decline(shown, justification=justification, idempotency_key=idempotency_key))

    def claim_runs(self, worker_id: str, *, agent_ids: Sequence[str]=(), max_runs: int=1, lease_ms: int=30000, wait_ms: int=0) -> list[doc.Claim]:
        """Returns runs with their leases; none when the wait ran out. Not repeated when its reply is lost."""
        return self._portal.call(self._async.claim_runs(worker_id, agent_ids=agent_ids, max_runs=max_runs, lease_ms=lease_ms, wait_ms=wait_ms))

    def claim_run(self, run_id: str, worker_id: str, *, lease_ms: int=30000) -> doc.Claim:
        """Claims this run. Not repeated when its reply is lost."""
        return self._portal.call(self._async.claim_run(run_id, worker_id, lease_ms=lease_ms))

    def heartbeat(self, run_id: str, fence: str, *, lease_ms: int=30000, checkpoint: Any=None, settled_after: str | None=None) -> doc.HeartbeatReply:
        """Extends a lease, and stores a checkpoint when it is not None."""
        return self._portal.call(self._async.heartbeat(run_id, fence, lease_ms=lease_ms, checkpoint=checkpoint, settled_after=settled_after))

    def suspend(self, run_id: str, fence: str, suspension: Mapping[str, Any]) -> doc.SuspendReply:
        """Raises requests and waits for them. Unless hold is set or the reply has a resume, the lease has ended."""
        return self._portal.call(self._async.suspend(run_id, fence, suspension))

    def await_settled(self, run_id: str, fence: str, after: str, wait_seconds: float) -> doc.Settled:
        """Returns what was settled on a run after a cursor, as soon as there is something, or nothing after the wait. The first
        cursor is "0"."""
        return self._portal.call(self._async.await_settled(run_id, fence, after, wait_seconds))

    def append_events(self, run_id: str, fence: str, events: Sequence[Mapping[str, Any]], *, idempotency_key: str | None=None) -> str:
        """Adds events to the session's log and returns the id of the last. They are added once, even if the call is repeated
        because its reply was lost. More than 256 events or 512 KiB are sent in several calls, in order: after an error the events of
        the earlier calls are in the log. Each of several calls has the idempotency key with a suffix of five bytes."""
        return self._portal.call(self._async.append_events(run_id, fence, events, idempotency_key=idempotency_key))

    def release_run(self, run_id: str, fence: str, *, checkpoint: Any=None, last_error: str | None=None, attempt: int | None=None, delay_ms: int | None=None) -> doc.RunView:
        """Gives a run back unfinished; it is claimable at once. With last_error it is retried after delay_ms; attempt is how
        many attempts have failed, this one included. If the disk or the budget is exhausted, a checkpoint of more than 1 KiB
        is refused with its release, which then works without one."""
        return self._portal.call(self._async.release_run(run_id, fence, checkpoint=checkpoint, last_error=last_error, attempt=attempt, delay_ms=delay_ms))

    def ask_parent(self, run_id: str, fence: str, body: Mapping[str, Any]) -> doc.AskParentReply:
        """Asks the parent's session on behalf of a run."""
        return self._portal.call(self._async.ask_parent(run_id, fence, body))

    def create_session(self, body: Mapping[str, Any] | None=None) -> doc.SessionView:
        """Makes a session, or returns the one that has the id. Without one the service names it, and a lost reply is made good by a key."""
        return self._portal.call(self._async.create_session(body))

    def send_input(self, session_id: str, body: Mapping[str, Any], *, wait_seconds: float | None=None, idempotency_key: str | None=None) -> SessionResult:
        """Makes a run in the session and waits until it waits for a person or ends, 30 s when no wait is given and 60 s at most."""
        return self._portal.call(self._async.send_input(session_id, body, wait_seconds=wait_seconds, idempotency_key=idempotency_key))

    def list_approvals(self, *, session_id: str | None=None, below: bool=False, limit: int | None=None, cursor: str | None=None) -> Page[doc.PendingApprovalView]:
        """Open approvals; an unknown session has none. below: also those of the sessions below it, its children, their children, and so on."""
        return self._portal.call(self._async.list_approvals(session_id=session_id, below=below, limit=limit, cursor=cursor))

    def all_approvals(self, *, session_id: str | None=None, below: bool=False) -> Iterator[doc.PendingApprovalView]:
        return self._portal.iterate(self._async.all_approvals(session_id=session_id, below=below))

    def list_questions(self, *, session_id: str | None=None, below: bool=False, limit: int | None=None, cursor: str | None=None) -> Page[doc.PendingQuestionView]:
        """Open questions; an unknown session has none. below: also those of the sessions below it, its children, their children, and so on."""
        return self._portal.call(self._async.list_questions(session_id=session_id, below=below, limit=limit, cursor=cursor))

    def all_questions(self, *, session_id: str | None=None, below: bool=False) -> Iterator[doc.PendingQuestionView]:
        return self._portal.iterate(self._async.all_questions(session_id=session_id, below=below))

    def list_session_events(self, session_id: str, *, after: str | None=None, limit: int | None=None) -> list[doc.RunEventEntry]:
        return self._portal.call(self._async.list_session_events(session_id, after=after, limit=limit))

    def all_session_events(self, session_id: str, *, after: str | None=None) -> Iterator[doc.RunEventEntry]:
        return self._portal.iterate(self._async.all_session_events(session_id, after=after))

    def list_run_events(self, run_id: str, *, after: str | None=None, limit: int | None=None) -> list[doc.RunEventEntry]:
        return self._portal.call(self._async.list_run_events(run_id, after=after, limit=limit))

    def all_run_events(self, run_id: str, *, after: str | None=None) -> Iterator[doc.RunEventEntry]:
        return self._portal.iterate(self._async.all_run_events(run_id, after=after))

    def all_outputs(self, run_id: str) -> Iterator[doc.OutputEntry]:
        """The output records of a run, oldest first. A run's view shows only the newest."""
        return self._portal.iterate(self._async.all_outputs(run_id))

    def stream_session(self, session_id: str, *, after: str='') -> Iterator[StreamItem[doc.SessionView]]:
        """Follows a session: a snapshot, and then every event after it, in order and each once. It connects again by itself after a
        cut, and ends after the last event of a session that has ended. With after it goes on from there, without a snapshot."""
        return self._portal.iterate(self._async.stream_session(session_id, after=after))

    def stream_run(self, run_id: str, *, after: str='') -> Iterator[StreamItem[doc.RunView]]:
        """Follows a run like stream_session. It ends after the event that ends the run; a failure that was retried does not end it."""
        return self._portal.iterate(self._async.stream_run(run_id, after=after))

    def stream_inbox(self) -> Iterator[StreamItem[doc.InboxView]]:
        """Follows what is open in all sessions: a snapshot, and then every event about a request. It connects again by itself and has
        no end. A snapshot replaces everything before it. Events may come twice, and may be part of the snapshot already."""
        return self._portal.iterate(self._async.stream_inbox())

    def add_rule(self, rule: Mapping[str, Any]) -> doc.Rule:
        return self._portal.call(self._async.add_rule(rule))

    def redeem_grant(self, grant: str, value: Any, *, idempotency_key: str | None=None) -> doc.Redemption:
        """Redeems a grant, once, under the lease with which it came; value is the input that is about to run. Call it just before
        doing what was approved, and do it only when nothing was raised. After unavailable it may be redeemed: only the same call
        with the same key says."""
        return self._portal.call(self._async.redeem_grant(grant, value, idempotency_key=idempotency_key))

    def ready(self) -> None:
        """Returns when the service and its database can be used, else raises. Not repeated."""
        self._portal.call(self._async.ready())

    def get_run(self, run_id: str) -> doc.RunView:
        """Show a run."""
        return self._portal.call(self._async.get_run(run_id))

    def retry_run(self, run_id: str, *, idempotency_key: str | None=None) -> doc.RunView:
        """Makes a failed run claimable again, with its input, its checkpoint and its last decisions. Raises run_state when it is not
        failed, session_busy while another run of its session is active, and session_ended."""
        return self._portal.call(self._async.retry_run(run_id, idempotency_key=idempotency_key))

    def cancel_run(self, run_id: str, *, reason: str | None=None) -> doc.RunView:
        """Cancels a run; one that is over stays as it is."""
        return self._portal.call(self._async.cancel_run(run_id, reason=reason))

    def resolve_run_approvals(self, run_id: str, resolutions: Sequence[doc.ApprovalResolution], *, idempotency_key: str | None=None) -> RunResult:
        """Decides approvals of a run, all or none."""
        return self._portal.call(self._async.resolve_run_approvals(run_id, resolutions, idempotency_key=idempotency_key))

    def resolve_active_run_approvals(self, session_id: str, resolutions: Sequence[doc.ApprovalResolution], *, idempotency_key: str | None=None) -> RunResult:
        """Decides approvals of the session's active run."""
        return self._portal.call(self._async.resolve_active_run_approvals(session_id, resolutions, idempotency_key=idempotency_key))

    def resolve_session_approvals(self, session_id: str, resolutions: Sequence[doc.ApprovalResolution], *, wait_seconds: float | None=None, idempotency_key: str | None=None) -> SessionResult:
        """Decides approvals of the session's active run and returns the session, after the wait at the latest."""
        return self._portal.call(self._async.resolve_session_approvals(session_id, resolutions, wait_seconds=wait_seconds, idempotency_key=idempotency_key))

    def answer_run_question(self, run_id: str, resolution: doc.UserQuestionResolution, *, idempotency_key: str | None=None) -> RunResult:
        """Answer a question of a run."""
        return self._portal.call(self._async.answer_run_question(run_id, resolution, idempotency_key=idempotency_key))

    def answer_session_question(self, session_id: str, resolution: doc.UserQuestionResolution, *, wait_seconds: float | None=None, idempotency_key: str | None=None) -> SessionResult:
        """Answers a question of the session's active run, or else of a parent clarification that waits in the session."""
        return self._portal.call(self._async.answer_session_question(session_id, resolution, wait_seconds=wait_seconds, idempotency_key=idempotency_key))

    def cancel_question(self, run_id: str, request_id: str, *, justification: str | None=None, idempotency_key: str | None=None) -> RunResult:
        """Cancels an open question, and with it the run; a parent clarification is completed, declined."""
        return self._portal.call(self._async.cancel_question(run_id, request_id, justification=justification, idempotency_key=idempotency_key))

    def withdraw(self, run_id: str, request_id: str, fence: str, *, reason: str | None=None) -> doc.RunView:
        """Withdraws a request that an attached worker no longer needs."""
        return self._portal.call(self._async.withdraw(run_id, request_id, fence, reason=reason))

    def complete_run(self, run_id: str, fence: str, output: Any=None) -> doc.RunView:
        """End a run with its output."""
        return self._portal.call(self._async.complete_run(run_id, fence, output))

    def fail_run(self, run_id: str, fence: str, error: str) -> doc.RunView:
        """End a run with an error."""
        return self._portal.call(self._async.fail_run(run_id, fence, error))

    def get_session(self, session_id: str) -> doc.SessionView:
        """Show a session."""
        return self._portal.call(self._async.get_session(session_id))

    def amend_session(self, session_id: str, body: Mapping[str, Any]) -> doc.SessionView:
        """Changes a session's metadata, label and origin."""
        return self._portal.call(self._async.amend_session(session_id, body))

    def interrupt_session(self, session_id: str, *, reason: str | None=None) -> doc.InterruptReply:
        """Interrupts the session's active run and declines the parent clarifications that wait in it. Not repeated when its reply is
        lost: it would interrupt the next run."""
        return self._portal.call(self._async.interrupt_session(session_id, reason=reason))

    def end_session(self, session_id: str, *, reason: str | None=None) -> doc.SessionView:
        """Ends a session: its runs are cancelled and no run is accepted any more."""
        return self._portal.call(self._async.end_session(session_id, reason=reason))

    def get_request(self, handle: str, *, context: int | None=None) -> doc.RequestView:
        """An approval or a question by its handle, open or settled. context adds as many settled requests of its session."""
        return self._portal.call(self._async.get_request(handle, context=context))

    def acknowledge_request(self, handle: str, state: str, *, until_ms: int | None=None) -> doc.RequestView:
        """The state "acknowledged" shows everyone that the caller is looking at a pending request, and "snoozed" holds back messages to
        the caller, each until until_ms; "none" takes either back. It decides nothing. Again is a no-op."""
        return self._portal.call(self._async.acknowledge_request(handle, state, until_ms=until_ms))

    def explain_request(self, handle: str) -> doc.RequestExplanation:
        """Says what an approval or a question waits for, who may decide it, and what its deadline does."""
        return self._portal.call(self._async.explain_request(handle))

    def explain_run(self, run_id: str) -> doc.RunExplanation:
        """Says what a run waits for: another run of its session, a worker, a person, or the parent session."""
        return self._portal.call(self._async.explain_run(run_id))

    def list_workers(self) -> doc.WorkersView:
        """The leases that are in force, by worker."""
        return self._portal.call(self._async.list_workers())

    def get_rule(self, rule_id: str) -> doc.Rule:
        """Show a standing rule."""
        return self._portal.call(self._async.get_rule(rule_id))

    def revoke_rule(self, rule_id: str) -> None:
        """Ends a rule at once. Again is a no-op."""
        self._portal.call(self._async.revoke_rule(rule_id))

    def explain_rules(self, body: Mapping[str, Any]) -> doc.Explanation:
        """Says what would happen to an approval that asks for a call now. It changes nothing."""
        return self._portal.call(self._async.explain_rules(body))

    def mailbox(self, session_id: str) -> list[doc.MessageView]:
        """Reads a session's messages and leases each for 30 s: acknowledge it once it is processed."""
        return self._portal.call(self._async.mailbox(session_id))

    def dead_letters(self, session_id: str) -> list[doc.MessageView]:
        """Show a session's dead letters."""
        return self._portal.call(self._async.dead_letters(session_id))

    def acknowledge_message(self, session_id: str, message_id: str) -> None:
        """Take a message out of the mailbox."""
        self._portal.call(self._async.acknowledge_message(session_id, message_id))

    def replay_message(self, session_id: str, message_id: str) -> doc.MessageView:
        """Put a dead letter back into the mailbox."""
        return self._portal.call(self._async.replay_message(session_id, message_id))

    def retry_effect(self, session_id: str, effect_id: str) -> doc.EffectView:
        """Let an effect be tried at once."""
        return self._portal.call(self._async.retry_effect(session_id, effect_id))

    def me(self) -> doc.Me:
        """Who the caller is."""
        return self._portal.call(self._async.me())

    def create_token(self, body: Mapping[str, Any]) -> doc.TokenSecret:
        """Makes a token. Its secret cannot be had again, so the call is never repeated."""
        return self._portal.call(self._async.create_token(body))

    def list_tokens(self, *, state: str | None=None, limit: int | None=None, cursor: str | None=None) -> doc.TokenList:
        """List tokens."""
        return self._portal.call(self._async.list_tokens(state=state, limit=limit, cursor=cursor))

    def get_token(self, token_id: str) -> doc.Token:
        """Show a token."""
        return self._portal.call(self._async.get_token(token_id))

    def rotate_token(self, token_id: str, grace_ms: int) -> doc.TokenSecret:
        """Gives a token another secret; the present one works for grace_ms more. Never repeated."""
        return self._portal.call(self._async.rotate_token(token_id, grace_ms))

    def revoke_token(self, token_id: str) -> None:
        """Revoke a token."""
        self._portal.call(self._async.revoke_token(token_id))

    def keys(self) -> doc.KeySet:
        """The public keys of what the service signed, for verify_grant."""
        return self._portal.call(self._async.keys())

    def create_stream_ticket(self, path: str) -> doc.StreamTicket:
        """Makes a ticket for one stream, for a page whose EventSource or WebSocket cannot send the token: it goes into the address as
        ticket, works once within a minute, and for that path alone, such as /v1/sessions/releases/stream. Never repeated."""
        return self._portal.call(self._async.create_stream_ticket(path))

    def create_webhook(self, body: Mapping[str, Any]) -> doc.WebhookSecret:
        """Makes a webhook. Its secret cannot be had again, so the call is never repeated."""
        return self._portal.call(self._async.create_webhook(body))

    def list_webhooks(self) -> doc.WebhookList:
        """All webhooks, the oldest first."""
        return self._portal.call(self._async.list_webhooks())

    def get_webhook(self, webhook_id: str) -> doc.Webhook:
        """Show a webhook."""
        return self._portal.call(self._async.get_webhook(webhook_id))

    def change_webhook(self, webhook_id: str, body: Mapping[str, Any]) -> doc.Webhook:
        """Changes the settings of a webhook that body has, and keeps the others."""
        return self._portal.call(self._async.change_webhook(webhook_id, body))

    def remove_webhook(self, webhook_id: str) -> None:
        """Deletes a webhook and drops its pending deliveries. Never repeated: the second call would not find it."""
        self._portal.call(self._async.remove_webhook(webhook_id))

    def rotate_webhook(self, webhook_id: str, *, grace_ms: int | None=None) -> doc.WebhookSecret:
        """Gives a webhook another secret, which cannot be had again. Deliveries are signed with the present one, too, for grace_ms, a day
        if it is left out. Never repeated."""
        return self._portal.call(self._async.rotate_webhook(webhook_id, grace_ms=grace_ms))

    def test_webhook(self, webhook_id: str) -> doc.WebhookTest:
        """Posts a test event to a webhook's URL once, and says whether it was delivered. Never repeated."""
        return self._portal.call(self._async.test_webhook(webhook_id))

    def replay_webhook(self, webhook_id: str) -> doc.WebhookReplay:
        """Makes the oldest 1,000 deliveries that were given up due again. Call it again while more is true."""
        return self._portal.call(self._async.replay_webhook(webhook_id))

    def list_channels(self) -> doc.ChannelList:
        """The channels for notifications by name, with how many of their messages are not sent or were given up."""
        return self._portal.call(self._async.list_channels())

    def test_channel(self, name: str, address: str) -> doc.ChannelTest:
        """Sends a test message once, and says whether it was delivered. Never repeated."""
        return self._portal.call(self._async.test_channel(name, address))

    def list_addresses(self) -> doc.AddressList:
        """The addresses at which the caller is notified, the oldest first, and the channels to which the caller can add one."""
        return self._portal.call(self._async.list_addresses())

    def add_address(self, channel: str, address: str, *, principal: str | None=None) -> doc.Address:
        """Adds an address of the caller, or for an admin one of principal, and sends a code to it for verify_address. Never repeated:
        each call sends a message."""
        return self._portal.call(self._async.add_address(channel, address, principal=principal))

    def verify_address(self, address_id: str, code: str) -> doc.Address:
        """Verifies an address by the code that was sent to it. Never repeated: a code has five tries."""
        return self._portal.call(self._async.verify_address(address_id, code))

    def remove_address(self, address_id: str) -> None:
        """Deletes an address or a browser of the caller. Never repeated: the second call would not find it."""
        self._portal.call(self._async.remove_address(address_id))

    def get_push(self) -> doc.PushView:
        """The key with which browsers subscribe to notifications, and the browsers of the caller."""
        return self._portal.call(self._async.get_push())

    def subscribe_push(self, body: Mapping[str, Any]) -> doc.Address:
        """Adds a browser of the caller, from what its PushSubscription.toJSON returns. Again is a no-op. remove_address removes it."""
        return self._portal.call(self._async.subscribe_push(body))

    def get_quiet_hours(self) -> doc.QuietHoursView:
        """The times of the day at which the caller gets no messages."""
        return self._portal.call(self._async.get_quiet_hours())

    def set_quiet_hours(self, body: Mapping[str, Any]) -> doc.QuietHoursView:
        """Sets the times of the day at which the caller gets no messages."""
        return self._portal.call(self._async.set_quiet_hours(body))

    def clear_quiet_hours(self) -> None:
        """Ends the caller's quiet hours. Again is a no-op."""
        self._portal.call(self._async.clear_quiet_hours())

    def set_presence(self, visible: bool, *, viewing: str | None=None) -> None:
        """Says whether the caller is looking at their inbox, and with the handle viewing at which request. True counts for 90 seconds, in
        which the default notification of the caller waits."""
        self._portal.call(self._async.set_presence(visible, viewing=viewing))

    def list_audit(self, *, limit: int | None=None, cursor: str | None=None) -> doc.AuditList:
        """The audit's own log, the oldest line first: changes to who may decide, outside of sessions."""
        return self._portal.call(self._async.list_audit(limit=limit, cursor=cursor))

    def redact(self, session_id: str, reason: str, *, after_event_id: str | None=None, before_ms: int | None=None, event_ids: Sequence[str] | None=None) -> doc.Redacted:
        """Removes the contents of events from a session for good: of event_ids, or of up to 200 before before_ms. Again is a no-op;
        after_event_id continues."""
        return self._portal.call(self._async.redact(session_id, reason, after_event_id=after_event_id, before_ms=before_ms, event_ids=event_ids))

    def version(self) -> doc.VersionReply:
        """The version of the service."""
        return self._portal.call(self._async.version())

    def list_runs(self, *, session_id: str | None=None, agent_id: str | None=None, status: str | None=None, kind: str | None=None, priority_active: bool=False, limit: int | None=None, cursor: str | None=None) -> Page[doc.RunView]:
        """List runs. priority_active: Runs that are not over come first."""
        return self._portal.call(self._async.list_runs(session_id=session_id, agent_id=agent_id, status=status, kind=kind, priority_active=priority_active, limit=limit, cursor=cursor))

    def all_runs(self, *, session_id: str | None=None, agent_id: str | None=None, status: str | None=None, kind: str | None=None, priority_active: bool=False) -> Iterator[doc.RunView]:
        """List runs."""
        return self._portal.iterate(self._async.all_runs(session_id=session_id, agent_id=agent_id, status=status, kind=kind, priority_active=priority_active))

    def list_sessions(self, *, status: str | None=None, agent_id: str | None=None, limit: int | None=None, cursor: str | None=None) -> Page[doc.SessionSummary]:
        """List sessions."""
        return self._portal.call(self._async.list_sessions(status=status, agent_id=agent_id, limit=limit, cursor=cursor))

    def all_sessions(self, *, status: str | None=None, agent_id: str | None=None) -> Iterator[doc.SessionSummary]:
        """List sessions."""
        return self._portal.iterate(self._async.all_sessions(status=status, agent_id=agent_id))

    def list_rules(self, *, session_id: str | None=None, limit: int | None=None, cursor: str | None=None) -> Page[doc.Rule]:
        """List standing rules."""
        return self._portal.call(self._async.list_rules(session_id=session_id, limit=limit, cursor=cursor))

    def all_rules(self, *, session_id: str | None=None) -> Iterator[doc.Rule]:
        """List standing rules."""
        return self._portal.iterate(self._async.all_rules(session_id=session_id))

    def list_effects(self, *, state: str | None=None, webhook_id: str | None=None, session_id: str | None=None, limit: int | None=None, cursor: str | None=None) -> Page[doc.EffectView]:
        """List effects."""
        return self._portal.call(self._async.list_effects(state=state, webhook_id=webhook_id, session_id=session_id, limit=limit, cursor=cursor))

    def all_effects(self, *, state: str | None=None, webhook_id: str | None=None, session_id: str | None=None) -> Iterator[doc.EffectView]:
        """List effects."""
        return self._portal.iterate(self._async.all_effects(state=state, webhook_id=webhook_id, session_id=session_id))

    def list_decisions(self, *, session_id: str | None=None, agent_id: str | None=None, actor: str | None=None, outcome: str | None=None, since_ms: int | None=None, summary: bool=False, limit: int | None=None, cursor: str | None=None) -> Page[doc.RequestView]:
        """What was settled, the newest first. summary: Cuts the inputs of approvals to 4 KiB."""
        return self._portal.call(self._async.list_decisions(session_id=session_id, agent_id=agent_id, actor=actor, outcome=outcome, since_ms=since_ms, summary=summary, limit=limit, cursor=cursor))

    def all_decisions(self, *, session_id: str | None=None, agent_id: str | None=None, actor: str | None=None, outcome: str | None=None, since_ms: int | None=None, summary: bool=False) -> Iterator[doc.RequestView]:
        """What was settled, the newest first."""
        return self._portal.iterate(self._async.all_decisions(session_id=session_id, agent_id=agent_id, actor=actor, outcome=outcome, since_ms=since_ms, summary=summary))


class Task:
    """One claimed run. Its methods may be called by several threads at once, until the handler has returned."""

    def __init__(self, portal: Portal, task: AsyncTask) -> None:
        self._portal, self._async = portal, task

    @property
    def claim(self) -> doc.Claim:
        return self._async.claim

    @property
    def stopped(self) -> HoldpointError | None:
        """Why the handler must not go on: lease_lost, cancelled or worker_stopped. No thread is ended for it: a long handler looks."""
        return self._async.stopped

    @property
    def run(self) -> doc.RunView:
        """The run as it was claimed."""
        return self._async.run

    @property
    def run_id(self) -> str:
        return self._async.run_id

    @property
    def session_id(self) -> str:
        return self._async.session_id

    @property
    def attempt(self) -> int:
        """Counts the claims since the last suspension, from 1."""
        return self._async.attempt

    @property
    def fence(self) -> str:
        """The fence of the lease, for calls on the client."""
        return self._async.fence

    @property
    def input(self) -> Any:
        return self._async.input

    @property
    def checkpoint(self) -> Any:
        """The newest checkpoint as it was claimed; None when there was none."""
        return self._async.checkpoint

    @property
    def resume(self) -> doc.Resume | None:
        """What was settled since the run was suspended, or since its last checkpoint."""
        return self._async.resume

    @property
    def ended(self) -> bool:
        """Whether a call of this task ended the lease."""
        return self._async.ended

    def approve(self, request: Mapping[str, Any], *, timeout_seconds: float | None=None) -> doc.Resolution:
        """Asks for approval and waits in place until it is settled; several callers may do so at once. Only the behavior "allow"
        allows anything, and then updated_input, when there is one, replaces the input.

        A request with this id that was settled before, or is open, in this run is not raised again: its decision is returned. So a
        handler with stable ids may begin from the top after a crash. The tool and the input must be the same, else id_conflict.

        After timeout_seconds, or when the caller is cancelled, the request is withdrawn; when the task was stopped, it stays open for
        the next worker that claims the run. It also stays open when the worker stops: then the wait ends at once with
        WorkerStopped. When the run was cancelled or the lease is lost it raises that, and returns no decision, not even one that is
        known."""
        return self._portal.call(self._async.approve(request, timeout_seconds=timeout_seconds))

    def approve_input(self, request: Mapping[str, Any], *, timeout_seconds: float | None=None) -> Any:
        """Asks for approval and waits in place, like approve, and returns the input that may run, with the approver's edits. Raises
        NotAllowed if the approval was denied or has expired; a handler that lets it through fails the run without a retry."""
        return self._portal.call(self._async.approve_input(request, timeout_seconds=timeout_seconds))

    def ask(self, request: Mapping[str, Any], *, timeout_seconds: float | None=None) -> doc.Answer:
        """Asks a question and waits in place until it is settled, as approve does. A question that expires ends its run."""
        return self._portal.call(self._async.ask(request, timeout_seconds=timeout_seconds))

    def suspend(self, suspension: Mapping[str, Any]) -> doc.Resume:
        """Raises requests, ends the lease and raises Suspended, which the handler lets through. The handler is called again once
        everything is settled. Each request needs an id; a missing tool_call_id is set to it. approved returns the input of an approval
        that may run.

        When everything that it asks for was settled before, by these same requests with these same ids, or is settled at once by
        standing rules, it returns the decisions instead. So a handler may begin from the top every time."""
        return self._portal.call(self._async.suspend(suspension))

    def ask_parent(self, body: Mapping[str, Any]) -> doc.ClarificationAnswer | None:
        """Asks the parent's session. With park it ends the lease and raises Suspended; the handler is called again once there is an
        answer, and then the same call returns it. Without, it returns None, and the answer comes into the session's mailbox.
        While that mailbox is full it raises an error with the code mailbox_full."""
        return self._portal.call(self._async.ask_parent(body))

    def redeem_grant(self, resolution: doc.Resolution, value: Any) -> doc.Redemption:
        """Redeems the grant of an approval that approve, or the claim's resume, returned, just before the task does what was
        approved; value is the input that is about to run. Raises grant_redeemed also when the claim shows that a worker before was
        about to: find out what ran."""
        return self._portal.call(self._async.redeem_grant(resolution, value))

    def save_checkpoint(self, checkpoint: Any) -> None:
        """Stores a checkpoint, which a later claim returns. It counts as including the decisions that were returned before. None is
        not a checkpoint: it only renews the lease, and the stored checkpoint stays."""
        self._portal.call(self._async.save_checkpoint(checkpoint))

    def complete(self, output: Any=None) -> None:
        """Ends the run with an output. Open requests are recorded expired."""
        self._portal.call(self._async.complete(output))

    def fail(self, message: str) -> None:
        """Ends the run with an error text. Open requests are recorded expired."""
        self._portal.call(self._async.fail(message))

    def emit(self, *events: Mapping[str, Any]) -> None:
        """Appends events, each with a type, to the session's log. They are appended once, even if the call is repeated because its
        reply was lost, and even if the handler starts from the top again: the n-th call with the same events since the same checkpoint
        appends nothing if an earlier claim of the run has appended them, within the time that the service remembers idempotency keys.
        To append equal events in each claim, add a member that differs, such as the fence."""
        self._portal.call(self._async.emit(*events))

    def output(self, content: str) -> None:
        """Appends a piece of output, once, as emit does. The run and the session then show it."""
        self._portal.call(self._async.output(content))
