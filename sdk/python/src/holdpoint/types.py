"""The documents of the service, as they are on the wire. Generated from openapi.json by "make sdk-types"; do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class AcknowledgedReply(TypedDict):
    acknowledged: bool
    message_id: str


class Acknowledgement(TypedDict):
    # A person who is looking at an open request. It counts until `until_ms`.
    at_ms: int
    by: str
    state: Literal['acknowledged']
    until_ms: int
    # Whose credential it was, when that acted for `by`.
    via_principal: NotRequired[str]


class AcknowledgementBody(TypedDict):
    # `none` takes an acknowledgement or a snooze back.
    state: Literal['acknowledged', 'snoozed', 'none']
    # When it lapses: at most 4 hours from now. When absent, an acknowledgement of the caller stays as it is, and a new one
    # lapses after 30 minutes. Required with `snoozed`, at most 7 days from now. Not with `none`.
    until_ms: NotRequired[int]


class ActiveRun(TypedDict):
    run_id: str


class AddRule(TypedDict):
    # Only for this agent.
    agent_id: NotRequired[str]
    # `allow` when absent.
    effect: NotRequired[Literal['allow', 'ask', 'deny', 'hint']]
    # Only with the effect `ask`: replaces the one of each request that the rule matches. At most 4096 bytes; with a name,
    # steps or `at_deadline`.
    escalation: NotRequired[Escalation]
    # The same counted from now, 0 for never; not together with `expires_at_ms`. As long as the session, or 30 days without
    # one, when neither is given.
    expires_after_ms: NotRequired[int]
    expires_at_ms: NotRequired[int]
    # Required with the effect `hint`, and refused with others: what is shown with each request that the rule matches.
    hint: NotRequired[Hint]
    idempotency_key: NotRequired[str]
    match: RuleMatch
    # It ends after so many decisions. Needs `session_id`.
    max_uses: NotRequired[int]
    # For the agent.
    reason: NotRequired[str]
    rule_id: NotRequired[str]
    # Only in this session, which need not be there yet. In all when absent.
    session_id: NotRequired[str]
    tool_name: NotRequired[str]


class Address(TypedDict):
    # It is shown to its owner alone.
    address: str
    address_id: str
    channel: str
    created_at_ms: int
    # When its code was given; absent before, and then it gets no messages.
    verified_at_ms: NotRequired[int]


class AddressBody(TypedDict):
    # What the channel takes: of e-mail the address of a mailbox.
    address: str
    # The name of a channel of the service.
    channel: str
    # The person whose address it is, such as `user:ada`; the caller if absent. Only an admin may add one for another person.
    principal: NotRequired[str]


class AddressChannel(TypedDict):
    kind: Literal['email', 'http', 'slack']
    name: str


class AddressList(TypedDict):
    # The channels to which you can add an address.
    channels: list[AddressChannel]
    data: list[Address]


class AmendSession(TypedDict):
    # At least one member.
    # Replaces the label; an empty one removes it.
    label: NotRequired[str]
    # Merged into the session's metadata: null removes a member, any other value replaces it whole.
    metadata: NotRequired[dict[str, Any]]
    # Replaces the origin as a whole; an empty one removes it.
    origin: NotRequired[SessionOrigin]


class Answer(TypedDict):
    # What was recorded for a question, in the form that a worker hands to its model.
    answers: list[LabelledAnswer]
    declined: bool
    justification: str | None
    outcome: Literal['allowed', 'denied', 'answered', 'declined', 'cancelled', 'expired']
    reason: NotRequired[str]
    request_id: str
    resolved_at_ms: int
    resolved_by: str
    # What the worker's runtime gets for an answer on another face, in that face's own words.
    runtime_payload: NotRequired[Any]
    # Of an answered question: a compact JWS (EdDSA, `typ` `holdpoint-answer+jwt`) about `answers` and `value`, which only the
    # holder of the fence is shown, in claims, in `…/resume` and in a suspension that was settled at once. docs/spec/v1.md has
    # the claims.
    signature: NotRequired[str]
    # One line a question: `question: labels or text`.
    summary: str
    value: NotRequired[Any]
    via: str
    # Whose credential it was, when that acted for `resolved_by`.
    via_principal: NotRequired[str]


class AnswerQuestion(TypedDict):
    idempotency_key: NotRequired[str]
    resolution: UserQuestionResolution


class AppendEventsEvents(TypedDict):
    # An `output` has `content` (text) and optional `parts`, or both in a member `output`, as in the event that is read; it
    # also becomes an output record of the run.
    type: str


class AppendEvents(TypedDict):
    # Of together at most 512 KiB. More is 413 `append_too_large`: send several calls, each with a key of its own.
    events: list[AppendEventsEvents]
    fence: str
    idempotency_key: NotRequired[str]


class AppliedRule(TypedDict):
    # The rule that made the decision, or that was written with it.
    rule_id: str
    text: str


class ApprovalPage(TypedDict):
    items: list[PendingApprovalView]
    pagination: Pagination


class ApprovalRequest(TypedDict):
    # A tool call that waits for a decision.
    callback: NotRequired[Callback]
    created_at_ms: NotRequired[int]
    # What the person is shown.
    description: NotRequired[str]
    # The directory in which the call would run, if the input does not say so. An allow rule that a decision creates applies
    # in this directory only, unless it is for the whole tool.
    directory: NotRequired[str]
    escalation: NotRequired[Escalation]
    # None of those who asked may allow it: who made or held a run of the session or of those above, by the own credential,
    # through a gateway, or by a rule. They may deny and cancel. 422 `requester_exclusion_needs_auth` where no credential is
    # asked for.
    exclude_requester: NotRequired[bool]
    # The same counted from now; only in requests, and not together with `expires_at_ms`.
    expires_after_ms: NotRequired[int]
    # When the request expires. An approval that expires is denied to the worker, and the run goes on.
    expires_at_ms: NotRequired[int]
    # Identifies the request among all requests of all runs. Made by the service; ignored in a request.
    handle: NotRequired[str]
    # At most 8 of the agent's side. In a view, at most 8 of rules stand before them.
    hints: NotRequired[list[Hint]]
    id: str
    input: Any
    # In a summary: how long the JSON form of a cut input is. Ignored in a request.
    input_bytes: NotRequired[int]
    # `sha256:` and the hexadecimal SHA-256 of the RFC 8785 form of `input`; with `sensitive_paths` it is `hmac-sha256:` and
    # an HMAC with a key that is deleted when the run is over. Made by the service; ignored in a request.
    input_digest: NotRequired[str]
    # How many members `input` has when it is an object with several: a view that shows one of them, such as a command line,
    # says how many more there are. Made by the service; ignored in a request.
    input_members: NotRequired[int]
    # A JSON Schema (2020-12) that `updated_input` must match.
    input_schema: NotRequired[dict[str, Any] | bool]
    # In a summary: `input` is a text with the first 4 KiB of the JSON form of the input, and `GET /v1/requests/{handle}` has
    # it whole. Ignored in a request.
    input_truncated: NotRequired[bool]
    metadata: NotRequired[dict[str, Any]]
    pattern_keys: NotRequired[list[str]]
    # Why the agent asks. Always there in replies, empty when none was given.
    reason: NotRequired[str]
    # Always there in replies, empty when none was given.
    scope: NotRequired[str]
    # JSON Pointers into `input`: what they name is stored encrypted, shown as `{"sensitive": true}` everywhere, and in clear
    # only in the Resume of the worker that holds the run. They hold for `updated_input`, too: there `{"sensitive": true}`
    # stands for the value as it was. One that names nothing is refused.
    sensitive_paths: NotRequired[list[str]]
    tool_call_id: str
    tool_name: str
    # The trace in which the request was raised (W3C Trace Context): the service's own span, or the call's `traceparent`
    # header. Absent if there was none. Set by the service; ignored in a request.
    traceparent: NotRequired[str]


class ApprovalResolution(TypedDict):
    behavior: Literal['allow', 'deny']
    # That of the request that was decided about. When the open request has another: 409 `approval_changed`.
    handle: NotRequired[str]
    # That of the request that was decided about. When the open request has another: 409 `approval_changed`.
    input_digest: NotRequired[str]
    # For the record.
    justification: NotRequired[str]
    # For the agent.
    reason: NotRequired[str]
    # Writes a rule with the decision, for this session or for all: for the tool with exactly this input. Not together with
    # `updated_input`.
    remember: NotRequired[Literal['session', 'always']]
    # What the rule is about. `exact`: the tool with exactly this input. `command`: the tool with this command, whatever its
    # description and time limit. `prefix`: the tool with commands that start with the same words. `folder`: the tool with
    # files in the same folder or below it. `tool`: every call of the tool, with `remember: session` alone. Needs `remember`.
    remember_as: NotRequired[Literal['exact', 'command', 'prefix', 'folder', 'tool']]
    # How long the rule lasts, in ms; 0 for no expiry. If absent: as long as the session, or 30 days for all sessions.
    remember_for_ms: NotRequired[int]
    request_id: str
    # Replaces the whole input of the tool call. Kept on a deny, without effect.
    updated_input: NotRequired[Any]


class AskParent(TypedDict):
    # Stored with `park`, and only then.
    checkpoint: NotRequired[Any]
    fence: str
    parent_channel_ids: NotRequired[list[str]]
    parent_project_ids: NotRequired[list[str]]
    # The run waits for the answer; its lease ends.
    park: NotRequired[bool]
    # Its id is used once in the run, and once among the questions that the session's runs ask the parent; at most 172
    # characters.
    request: UserQuestionRequest
    requester_channel_ids: NotRequired[list[str]]
    requester_project_ids: NotRequired[list[str]]


class AskParentReply(TypedDict):
    # The run in the parent's session.
    clarification: RunView
    # The run that asks.
    run: RunView


class AuditEntry(TypedDict):
    # Who did it: a principal, who decided, what vouches for whom a token stands (`oidc`, `certificate`), or `system`.
    actor: str
    body_digest: str
    event: AuditEvent
    hash: str
    # The number of the line, from 1 without gaps.
    id: str
    # The `hash` of the line before; empty in the first.
    prev: str
    timestamp_ms: int


class AuditEvent(TypedDict):
    # What happened. Members that do not apply are absent.
    address_id: NotRequired[str]
    agent_ids: NotRequired[list[str]]
    # The token that the actor showed.
    by_token_id: NotRequired[str]
    channel: NotRequired[str]
    effect: NotRequired[str]
    # The events that were redacted.
    event_ids: NotRequired[list[str]]
    expires_at_ms: NotRequired[int]
    grace_ms: NotRequired[int]
    # Of a new token, as `session_prefixes`, `agent_ids`, `may_act_for`, `may_always` and `expires_at_ms`: what it may do and
    # reach. Lines of an older version are without them.
    groups: NotRequired[list[str]]
    # The host of a webhook's URL.
    host: NotRequired[str]
    key_id: NotRequired[str]
    # The hash of the first event of a session that was deleted.
    life: NotRequired[str]
    may_act_for: NotRequired[bool]
    may_always: NotRequired[bool]
    name: NotRequired[str]
    on_behalf_of: NotRequired[str]
    principal: NotRequired[str]
    reason: NotRequired[str]
    role: NotRequired[str]
    rule_id: NotRequired[str]
    # Of a rule: its session, or `*`. Of an export: its session.
    session_id: NotRequired[str]
    session_prefixes: NotRequired[list[str]]
    since_ms: NotRequired[int]
    # What a rule says, at most 1,000 bytes of it.
    text: NotRequired[str]
    token_id: NotRequired[str]
    type: Literal['token_created', 'token_rotated', 'token_revoked', 'signed_in', 'signed_out', 'rule_created', 'rule_revoked', 'webhook_created', 'webhook_changed', 'webhook_rotated', 'webhook_disabled', 'webhook_rewrapped', 'webhook_removed', 'address_added', 'address_verified', 'address_removed', 'link_locked', 'press_refused', 'key_added', 'events_redacted', 'session_deleted', 'audit_exported']
    # By which way: as in `GET /v1/me`, `database` for the command line with `--database`, or, for a rule, as in a resolution.
    via: NotRequired[str]
    # Whose credential it was, when the actor is somebody for whom it may act.
    via_principal: NotRequired[str]
    webhook_id: NotRequired[str]


class AuditList(TypedDict):
    data: list[AuditEntry]
    next_cursor: str | None


class Callback(TypedDict):
    # Where what becomes of the request is posted to, at least once, by the rules of webhooks: for those who run no worker. It
    # is kept encrypted, which takes a key of the service (422 `secrets_not_configured`), and is in no reply, event or list.
    # Not for a question to a parent.
    # Sent as `Authorization: Bearer`, and the key of the signature.
    token: str
    # As that of a webhook: `https`, a public address unless `--callback-allow` names it, without user, password and fragment.
    url: str


class CancelQuestion(TypedDict):
    idempotency_key: NotRequired[str]
    justification: NotRequired[str]


class ChannelListData(TypedDict):
    # Messages that were given up.
    failed: int
    kind: Literal['email', 'http', 'push', 'slack']
    # Why one of them failed, or why no presses of buttons arrive at this replica.
    last_error: NotRequired[str]
    # What the links in its messages lead to. Absent for the channel to browsers, whose messages open the inbox.
    links: NotRequired[Literal['sign_in', 'code', 'none']]
    name: str
    # Messages that are not sent or withdrawn yet.
    pending: int


class ChannelList(TypedDict):
    data: list[ChannelListData]


class ChannelTest(TypedDict):
    delivered: bool
    # Why it was not.
    error: NotRequired[str]


class Claim(TypedDict):
    # What a worker is handed with a run.
    attempt: int
    checkpoint: NotRequired[Any]
    input: Any
    lease: ClaimedLease
    resume: NotRequired[Resume]
    run: RunView


class ClaimRun(TypedDict):
    lease_ms: NotRequired[int]
    worker_id: str


class ClaimRuns(TypedDict):
    # The agents whose runs are wanted; all when empty or absent. A caller of role agent must name them, unless its token is
    # bound to some.
    agent_ids: NotRequired[list[str]]
    lease_ms: NotRequired[int]
    max_runs: NotRequired[int]
    # How long the reply is held while there is nothing to do.
    wait_ms: NotRequired[int]
    worker_id: str


class ClaimedLease(TypedDict):
    expires_at_ms: int
    # Every later call of the holder shows it.
    fence: str
    worker_id: str


class ClaimsReply(TypedDict):
    claims: list[Claim]


class ClarificationAnswer(TypedDict):
    # What became of a question to the parent's session.
    answers: list[LabelledAnswer]
    declined: bool
    justification: str | None
    request_id: str
    # What the worker's runtime gets for an answer on another face, in that face's own words.
    runtime_payload: NotRequired[Any]
    # One line a question: `question: labels or text`.
    summary: str
    # Where in a trace the question was asked, as in the question itself. Absent when the call was in none.
    traceparent: NotRequired[str]
    value: NotRequired[Any]


class Complete(TypedDict):
    fence: str
    output: NotRequired[Any]


class CreateRunClaim(TypedDict):
    # The caller runs it itself; the reply is a Claim.
    lease_ms: NotRequired[int]
    worker_id: str


class CreateRun(TypedDict):
    actor_id: NotRequired[str]
    # The session's when absent.
    agent_id: NotRequired[str]
    # The caller runs it itself; the reply is a Claim.
    claim: NotRequired[CreateRunClaim]
    # Another name of `input`.
    content: NotRequired[Any]
    idempotency_key: NotRequired[str]
    input: NotRequired[Any]
    # `input` when absent. A `call` needs `suspend`.
    kind: NotRequired[Literal['input', 'call']]
    metadata: NotRequired[dict[str, Any]]
    run_id: NotRequired[str]
    # Labels the session. Members given here replace the session's, absent ones stay. A repeated call does not change the
    # session again.
    session: NotRequired[SessionAbout]
    # A new session is made when absent.
    session_id: NotRequired[str]
    source_kind: NotRequired[str]
    source_plugin: NotRequired[str]
    # The run waits at once; the reply is the RunView, or with `hold` the Claim.
    suspend: NotRequired[Suspension]


class CreateSession(TypedDict):
    # `default` when absent.
    agent_id: NotRequired[str]
    idempotency_key: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]
    parent_session_id: NotRequired[str]
    session_id: NotRequired[str]


class CreateSessionRun(TypedDict):
    # The caller when absent.
    actor_id: NotRequired[str]
    # The session's when absent.
    agent_id: NotRequired[str]
    # Another name of `input`.
    content: NotRequired[Any]
    idempotency_key: NotRequired[str]
    input: NotRequired[Any]
    kind: NotRequired[Literal['input']]
    metadata: NotRequired[dict[str, Any]]
    run_id: NotRequired[str]
    # `api` when absent.
    source_kind: NotRequired[str]
    # `daemon` when absent.
    source_plugin: NotRequired[str]


class CreateStreamTicket(TypedDict):
    # That of a stream, as `/v1/runs/{run_id}/stream`.
    path: str


class CreateToken(TypedDict):
    # The token reaches only sessions and runs of these agents. Refused for an admin.
    agent_ids: NotRequired[list[str] | None]
    # Counts from now.
    expires_after_ms: NotRequired[int]
    # Not together with expires_after_ms.
    expires_at_ms: NotRequired[int]
    groups: NotRequired[list[str]]
    # `X-Actor` is recorded as the person who decided, together with the principal.
    may_act_for: NotRequired[bool]
    # An operator may write rules of all sessions.
    may_always: NotRequired[bool]
    name: str
    # The person whose token it is. Decisions name the person as `resolved_by` and the principal as `via_principal`, and
    # `exclude_requester` treats the two as one. Not together with `may_act_for`.
    on_behalf_of: NotRequired[str]
    # `agent:` or `user:` and the name when absent; required if the name has other characters.
    principal: NotRequired[str]
    role: Literal['observer', 'agent', 'operator', 'admin']
    # The token reaches only sessions whose id begins with one of these, of 100 characters at most. Refused for an admin.
    session_prefixes: NotRequired[list[str] | None]


class DecisionPage(TypedDict):
    items: list[RequestView]
    pagination: Pagination


class DefaultAnswer(TypedDict):
    # The answer to a question that nobody answered in time, only with `at_deadline: answer`. It is checked like an answer by
    # a person. Not for sensitive questions.
    answers: NotRequired[list[UserQuestionAnswer]]
    value: NotRequired[Any]


class EffectPage(TypedDict):
    items: list[EffectView]
    pagination: Pagination


class EffectView(TypedDict):
    # A delivery from a decision in one session to another session.
    # The agent of the session. Absent if you cannot read the session.
    agent_id: NotRequired[str]
    attempts: int
    created_at_ms: int
    # When the next attempt is due; absent if the effect is not pending.
    due_at_ms: NotRequired[int]
    effect_id: str
    # When it was done or given up.
    finished_at_ms: NotRequired[int]
    # `open_clarification` brings a question to the parent's session, `deliver_answer` its answer to the child's;
    # `review_approval` shows an approval to the review hook; `drain_session` ends what was left of a session that was ended
    # or interrupted; `cancel_abandoned` watches over a worker that may be gone; `deliver_webhook` posts an event to a
    # webhook, or what became of a request to its callback; `advance_request` tells people of a request that is open for a
    # while; `notify` sends a message to a person.
    kind: Literal['open_clarification', 'deliver_answer', 'review_approval', 'drain_session', 'cancel_abandoned', 'deliver_webhook', 'advance_request', 'notify']
    # Of the last attempt that failed.
    last_error: NotRequired[str]
    # The run of the decision.
    run_id: str
    # Absent if the session has no name or you cannot read it.
    session: NotRequired[SessionAbout]
    # The session of the decision.
    session_id: str
    state: Literal['pending', 'done', 'failed']
    # The agent of the target, if that is another session that you can read.
    target_agent_id: NotRequired[str]
    # As `session`, of a target that is another session.
    target_session: NotRequired[SessionAbout]
    # The session in which it takes place.
    target_session_id: str
    # The webhook that it posts to, `callback` for the callback of a request, `notify.` and the channel for a message to a
    # person; absent when it posts nowhere.
    webhook_id: NotRequired[str]


class Escalation(TypedDict):
    # What happens while a request is open. Without `steps`, everyone who may decide is notified once.
    # What the deadline does, with outcome `expired`. Approvals: `deny` (default) or `keep`. Questions: `cancel_run`
    # (default), `decline`, `answer` with `default_answer` (the run continues with either), or `keep`. `keep` leaves the
    # request open, and people may still decide. No deadline allows.
    at_deadline: NotRequired[Literal['deny', 'cancel_run', 'decline', 'answer', 'keep']]
    by_rule: NotRequired[EscalationRule]
    # A calendar of the service, whose working time counts for the steps. Needs `steps`. Without it, all time counts.
    calendar: NotRequired[str]
    default_answer: NotRequired[DefaultAnswer]
    # An escalation of the service, of which the request gets a copy. With it, no other member is given in a request.
    name: NotRequired[str]
    # In the order of `after_ms`. At most 100 messages are sent about a request, to all people together. A service that
    # notifies nobody ignores them.
    steps: NotRequired[list[EscalationStep]]


class EscalationRule(TypedDict):
    # The standing rule whose escalation the request has, instead of its own. The service sets it.
    # The escalation that the rule names, if the service did not have it when the request was raised. The default escalation
    # applies instead.
    missing_name: NotRequired[str]
    rule_id: str


class EscalationStep(TypedDict):
    # Notifies people while the request is open.
    # Counts from when the request was raised. Default 0.
    after_ms: NotRequired[int]
    # People who may decide as well from the moment the step is done, with the selectors of `notify`. It grants neither a role
    # nor reach. It does not lift `exclude_requester`. Requests cannot name their deciders yet, so it adds nobody.
    also_from: NotRequired[list[str]]
    # Repeats the step.
    every_ms: NotRequired[int]
    # `user:NAME` (a principal), `group:NAME`, `role:operator` or `role:admin`, as the credentials say when the step is due,
    # or `oncall:NAME`, those whom this on-call source of the service then names. Only people who may decide the request get a
    # message.
    notify: list[str]
    # How often the step notifies in all, with `every_ms`. When absent, until the request is settled or has had 100 messages.
    times: NotRequired[int]
    # Ignores the calendar and quiet hours.
    urgent: NotRequired[bool]


class EventsReply(TypedDict):
    last_event_id: str


class ExplainRules(TypedDict):
    agent_id: NotRequired[str]
    # Handles of requests. Each of the `choices` says which of them its rule would have decided, had it been there when they
    # were raised. Others than open approvals, those with sensitive values, and what cannot be read within a second and 4 MiB
    # are left out.
    also: NotRequired[list[str]]
    # The directory of the call.
    directory: NotRequired[str]
    # Of the decision whose rules `remember` shows.
    effect: NotRequired[Literal['allow', 'deny']]
    input: Any
    # The `input_digest` of the approval. Required with `sensitive_paths`, and ignored without.
    input_digest: NotRequired[str]
    pattern_keys: NotRequired[list[str]]
    # How long the rules that `remember` shows would last, in ms; 0 for no expiry; if absent as long as the session, or 30
    # days for all sessions.
    remember_for_ms: NotRequired[int]
    # The `sensitive_paths` of an approval whose `input` shows `{"sensitive": true}` in the place of values. `remember` then
    # has the rules that a decision about this approval can write: for exactly this input, by its digest, and for the tool.
    sensitive_paths: NotRequired[list[str]]
    # Without it only the rules for all sessions are asked.
    session_id: NotRequired[str]
    tool_call_id: NotRequired[str]
    tool_name: str


class ExplainedCaller(TypedDict):
    # Whether an allow or an answer of the caller would be accepted now.
    # The code of the refusal, such as `forbidden` or `requester_excluded`.
    code: NotRequired[str]
    may_decide: bool


class ExplainedNext(TypedDict):
    # The next step of the request's escalation.
    at_ms: int
    does: Literal['notify']
    step: int
    # The selectors of the step.
    who: list[str]


class ExplainedNotReached(TypedDict):
    # A principal or a selector of the step.
    who: str
    # As in the event `request_notified`. `nobody`: the selector fits nobody who may decide.
    why_not: Literal['no_address', 'may_not_decide', 'too_many_messages', 'on_call_failed', 'nobody_on_call', 'nobody']


class ExplainedNotice(TypedDict):
    # With `pending`: the message waits while the person is looking at their inbox.
    at_inbox: NotRequired[bool]
    # When the state began.
    at_ms: int
    attempts: int
    channel: str
    # The error of the last attempt. Only an admin sees the reason.
    error: NotRequired[str]
    # When the next attempt may start.
    next_at_ms: NotRequired[int]
    # The channel of the next address, with `moved`.
    next_channel: NotRequired[str]
    # `failed`: the service gave up, and the person has no other address. `moved`: it gave up at this address, and the message
    # goes to the next one. `withdrawn`: the channel has put the outcome in the place of the message, or removed it, because
    # the request was settled. `skipped`: there was no message of its own: because of a flood another one counts it, a newer
    # one took its place, or the person could no longer decide.
    state: Literal['pending', 'sent', 'failed', 'moved', 'withdrawn', 'skipped']
    # A principal.
    who: str


class ExplainedRule(TypedDict):
    applies: bool
    effect: Literal['allow', 'ask', 'deny', 'hint']
    rule_id: str
    text: str
    why_not: NotRequired[str]


class ExplainedRun(TypedDict):
    explain: NotRequired[RunExplanation]
    run_id: str
    status: Literal['queued', 'running', 'waiting_for_approval', 'waiting_for_user_question', 'completed', 'failed', 'interrupted', 'cancelled']


class ExplanationRemember(TypedDict):
    # The text of the rule that an allow with `remember` would write for this call.
    always: NotRequired[str]
    # The rules that the decision can write for this call, by `remember_as`; the narrowest first.
    choices: NotRequired[list[RememberChoice]]
    # Of either rule, which match the same calls.
    examples: NotRequired[RuleExamples]
    # Only with `session_id`.
    session: NotRequired[str]


class ExplanationRules(TypedDict):
    applies: bool
    effect: Literal['allow', 'ask', 'deny', 'hint']
    rule_id: str
    text: str
    why_not: NotRequired[str]


class Explanation(TypedDict):
    # `ask` if no rule applies, too.
    decision: Literal['allow', 'ask', 'deny']
    # The text of the rule that an allow with `remember` would write for this call.
    remember: NotRequired[ExplanationRemember]
    rules: list[ExplanationRules]


class Fail(TypedDict):
    error: str
    fence: str


class Fault(TypedDict):
    detail: str
    # RFC 6901 pointer of the member.
    pointer: str


class Heartbeat(TypedDict):
    checkpoint: NotRequired[Any]
    fence: str
    lease_ms: NotRequired[int]
    settled_after: NotRequired[str]


class HeartbeatReply(TypedDict):
    # The run was cancelled or interrupted; stop.
    cancel_requested: bool
    expires_at_ms: int


class HeldLease(TypedDict):
    # A lease in force, and the run that is held.
    agent_id: str
    attempt: NotRequired[int]
    # When the lease ends, unless there is a heartbeat.
    expires_at_ms: int
    # Whose credential the run was claimed with.
    holder_principal: NotRequired[str]
    run_id: str
    # Absent if the session has no name or you cannot read it.
    session: NotRequired[SessionAbout]
    session_id: str
    # When the run was claimed first.
    started_at_ms: NotRequired[int]
    status: Literal['queued', 'running', 'waiting_for_approval', 'waiting_for_user_question', 'completed', 'failed', 'interrupted', 'cancelled']
    # When the run last changed: a heartbeat, an event, or a decision about it.
    updated_at_ms: int


class Hint(TypedDict):
    # A remark for the person who decides, of the agent's side or of a standing rule. The service decides nothing by it.
    level: Literal['info', 'warn', 'danger']
    # The rule that made it; absent for the agent's side. Refused from a caller.
    rule_id: NotRequired[str]
    # In bytes.
    text: str


class InboxView(TypedDict):
    # What is open in all sessions, the oldest first.
    # How many approvals are open in all, even if `more` is true.
    approvals_count: int
    # True when others are open, which the lists have.
    more: NotRequired[bool]
    # The moment of the view by the service's clock.
    now_ms: int
    pending_approvals: list[PendingApprovalView]
    pending_questions: list[PendingQuestionView]
    questions_count: int


class InterruptReply(TypedDict):
    # Whether a run was active or a parent clarification waited.
    interrupted: bool
    session: SessionView
    snapshot: SessionSnapshot


class Issuer(TypedDict):
    # Its host.
    name: NotRequired[str]
    # Where a browser begins, with `return_to` in the query.
    start_path: NotRequired[str]


class KeySet(TypedDict):
    # The replica that answers signs with a key that is lost when it ends, because it has no `--signing-key-file`. Do not pin
    # it. Absent for `false`.
    ephemeral: NotRequired[bool]
    keys: list[PublicKey]


class LabelledAnswer(TypedDict):
    freeform_answer: NotRequired[str]
    header: str
    question: str
    question_id: str
    selected_option_ids: list[str]
    selected_options: list[QuestionOption]
    # There is an answer, which is not shown here.
    sensitive: NotRequired[bool]


class Lease(TypedDict):
    # A lease as everybody may see it, without its fence.
    expires_at_ms: int
    # Whose credential the run was claimed with.
    holder_principal: NotRequired[str]
    worker_id: str


class Me(TypedDict):
    # Absent for no bound.
    agent_ids: NotRequired[list[str]]
    expires_at_ms: NotRequired[int]
    groups: list[str]
    # The person whose token it is; absent for none. Decisions are recorded under this name.
    on_behalf_of: NotRequired[str]
    principal: str
    role: Literal['observer', 'agent', 'operator', 'admin']
    # Absent for no bound.
    session_prefixes: NotRequired[list[str]]
    token_id: NotRequired[str]
    # How that is known; `session` for a browser that is signed in, `oidc` for an ID token, `certificate` for that of a
    # client, `open` where no credential is asked for.
    via: Literal['token', 'session', 'oidc', 'certificate', 'open']


class MessageView(TypedDict):
    # A message to a session.
    created_at_ms: int
    # How often it was read since it was delivered or replayed.
    delivery_attempts: int
    from_session_id: str
    # Why it is a dead letter.
    last_error: NotRequired[str]
    message_id: str
    # Of `clarification_answer`: `type`, which is `parent_clarification_answer`, and the members of ClarificationAnswer.
    payload: Any
    state: Literal['pending', 'dead_letter']
    # `clarification_answer` for the answer of a parent's session.
    subject: str


class OutputEntry(TypedDict):
    content: str
    created_at_ms: int
    # The number in the session's log, as decimal text.
    event_id: str
    parts: NotRequired[list[Any]]
    # The content was taken out.
    redacted: NotRequired[bool]
    run_id: str
    session_id: str


class OutputPage(TypedDict):
    items: list[OutputEntry]
    # The `after` of the next page; null on the last.
    next_after: str | None


class OutputRecord(TypedDict):
    content: str
    created_at_ms: int
    parts: NotRequired[list[Any]]
    # The content was taken out.
    redacted: NotRequired[bool]
    run_id: str
    session_id: str


class Pagination(TypedDict):
    has_more: bool
    limit: int
    next_cursor: str | None
    order: str
    total_count: int


class PendingApprovalRef(TypedDict):
    # The approval that is open now, for `approval_changed`.
    handle: str
    input_digest: str
    request_id: str


class PendingApprovalView(TypedDict):
    # Who is looking at the open request, oldest first. Those whose `until_ms` has passed may still be listed.
    acknowledgement: NotRequired[list[Acknowledgement]]
    agent_id: str
    explain: NotRequired[PendingExplanation]
    # Whether an allow or an answer by this caller would be accepted now, as of the read. Absent in the view of a session, for
    # a caller with an invalid `X-Actor`, when the read took too long or, for a snapshot, failed, and of an approval that
    # excludes its requesters in a session with more than seven others above it, or after 4 MiB of requesters.
    may_decide: NotRequired[bool]
    # The parent of the session, when a child session asks.
    parent_session_id: NotRequired[str]
    request: ApprovalRequest
    run_id: str
    session: NotRequired[SessionAbout]
    session_id: str
    # Until when the caller snoozes the request, for the caller only. It may have passed.
    snoozed_until_ms: NotRequired[int]


class PendingExplanation(TypedDict):
    # What to know about an open request besides its deadline, in one line. The lists of requests have it where there is
    # something to say; the stream and a session's view do not.
    next: NotRequired[ExplainedNext]
    # Set if a decision would wait for a worker: none has asked for runs of the agent since then, and none has one. It is
    # absent when a worker is there, when the run needs none, and when that is not known, for example because the worker may
    # ask another replica.
    no_worker_since_ms: NotRequired[int]
    # The people to whom the steps of the escalation have written. The explanation of the request says whether a message has
    # arrived.
    notified: NotRequired[list[str]]
    # The line in English.
    text: str


class PendingQuestionView(TypedDict):
    # Who is looking at the open request, oldest first. Those whose `until_ms` has passed may still be listed.
    acknowledgement: NotRequired[list[Acknowledgement]]
    agent_id: str
    explain: NotRequired[PendingExplanation]
    # Whether an allow or an answer by this caller would be accepted now, as of the read. Absent in the view of a session, for
    # a caller with an invalid `X-Actor`, when the read took too long or, for a snapshot, failed, and of an approval that
    # excludes its requesters in a session with more than seven others above it, or after 4 MiB of requesters.
    may_decide: NotRequired[bool]
    parent_channel_ids: NotRequired[list[str]]
    parent_project_ids: NotRequired[list[str]]
    # The parent of the session, when a child session asks. Absent in a session's own view.
    parent_session_id: NotRequired[str]
    request: UserQuestionRequest
    # Of a parent clarification: who asks. The members below are the same.
    requester_agent_id: NotRequired[str]
    requester_channel_ids: NotRequired[list[str]]
    requester_project_ids: NotRequired[list[str]]
    requester_run_id: NotRequired[str]
    requester_session_id: NotRequired[str]
    requester_tool_call_id: NotRequired[str]
    run_id: NotRequired[str]
    run_kind: NotRequired[Literal['input', 'call', 'parent_clarification']]
    # Absent in a session's own view.
    session: NotRequired[SessionAbout]
    session_id: str
    # Until when the caller snoozes the request, for the caller only. It may have passed.
    snoozed_until_ms: NotRequired[int]


class PresenceBody(TypedDict):
    # The handle of the request that the caller has open, with `visible: true`; empty for none. Absent leaves what a call
    # before said.
    viewing: NotRequired[str]
    visible: bool


class Problem(TypedDict):
    # The stable name of the error.
    code: Literal['bad_request', 'route_not_found', 'method_not_allowed', 'id_conflict', 'payload_too_large', 'unsupported_media_type', 'invalid_request', 'internal_error', 'service_unavailable', 'origin_not_allowed', 'host_not_allowed', 'unauthenticated', 'invalid_token', 'forbidden', 'requester_excluded', 'requester_exclusion_needs_auth', 'token_not_found', 'token_state_conflict', 'last_admin_token', 'sign_in_failed', 'no_issuer', 'issuer_unavailable', 'webhook_not_found', 'too_many_webhooks', 'address_not_found', 'too_many_addresses', 'too_many_codes', 'address_code_wrong', 'address_taken', 'channel_not_found', 'channel_unknown', 'channel_unavailable', 'link_not_found', 'link_code_wrong', 'rate_limited', 'too_many_calls', 'too_many_streams', 'too_many_bytes', 'too_many_prompts', 'too_many_queued_runs', 'too_many_stored_bytes', 'storage_reserved', 'session_not_found', 'session_busy', 'session_ended', 'no_parent_session', 'queue_full', 'questions_full', 'mailbox_full', 'run_not_found', 'request_not_found', 'request_settled', 'run_state_conflict', 'event_needed', 'run_not_claimable', 'lease_lost', 'suspension_too_large', 'append_too_large', 'secrets_not_configured', 'approval_state_conflict', 'approval_batch_empty', 'approval_duplicate_resolution', 'approval_request_not_pending', 'approval_changed', 'invalid_grant', 'grant_mismatch', 'grant_expired', 'grant_redeemed', 'question_state_conflict', 'question_expired', 'question_resolution_conflict', 'question_request_mismatch', 'question_declined_with_answers', 'question_duplicate_answer', 'question_answer_missing', 'question_single_select_violation', 'question_duplicate_option', 'question_option_not_found', 'question_answer_empty', 'question_unknown_answer', 'rule_not_found', 'too_many_rules', 'message_not_found', 'effect_not_found', 'invalid_idempotency_key', 'idempotency_conflict', 'invalid_limit', 'invalid_filter', 'invalid_cursor', 'invalid_event_cursor', 'event_cursor_reset']
    # One sentence about this occurrence.
    detail: str
    domain: Literal['api', 'cors', 'auth', 'webhooks', 'notifications', 'limits', 'sessions', 'runs', 'approvals', 'grants', 'questions', 'rules', 'mailbox', 'effects', 'idempotency', 'pagination', 'events']
    # The members at fault, for `invalid_request` and `append_too_large`.
    errors: NotRequired[list[Fault]]
    # The oldest event of the session that is kept, for `event_cursor_reset`.
    first_kept_event_id: NotRequired[str]
    # How many tries of the code are left, for `address_code_wrong`, and for `link_code_wrong` after a wrong code.
    left: NotRequired[int]
    pending_approval: NotRequired[PendingApprovalRef]
    recorded_decision: NotRequired[RecordedDecision]
    redemption: NotRequired[Redemption]
    status: int
    title: str
    type: str


class PublicKey(TypedDict):
    # A JWK (RFC 8037) of an Ed25519 key.
    alg: Literal['EdDSA']
    crv: Literal['Ed25519']
    # The RFC 7638 thumbprint of the key.
    kid: str
    kty: Literal['OKP']
    use: Literal['sig']
    # The key in base64url.
    x: str


class PushBodyKeys(TypedDict):
    # A secret of 16 bytes in base64url.
    auth: str
    # The public key of the browser: 65 bytes in base64url.
    p256dh: str


class PushBody(TypedDict):
    # The URL of the browser at its push service.
    endpoint: str
    keys: PushBodyKeys


class PushView(TypedDict):
    # Their `address` is the endpoint.
    data: list[Address]
    # Absent when the service cannot send to browsers.
    public_key: NotRequired[str]


class QuestionOption(TypedDict):
    description: NotRequired[str]
    # `option-N` when absent.
    id: NotRequired[str]
    # The id when absent.
    label: NotRequired[str]
    preview: NotRequired[str]


class QuestionPage(TypedDict):
    items: list[PendingQuestionView]
    pagination: Pagination


QuietHours = TypedDict('QuietHours', {
    # Times of the day at which a person gets no messages.
    'from': 'str',
    # When it is before `from`, on the next day. It must differ from `from`.
    'to': 'str',
    # The name of a time zone, such as `Europe/Berlin`.
    'zone': 'str',
})


class QuietHoursView(TypedDict):
    quiet_hours: NotRequired[QuietHours]


class Reason(TypedDict):
    reason: NotRequired[str]


class RecordedAnswer(TypedDict):
    # What was recorded for a question, as it was given.
    answers: NotRequired[list[UserQuestionAnswer]]
    declined: bool
    justification: NotRequired[str]
    outcome: Literal['allowed', 'denied', 'answered', 'declined', 'cancelled', 'expired']
    reason: NotRequired[str]
    request_id: str
    resolved_at_ms: int
    resolved_by: str
    runtime_payload: NotRequired[Any]
    value: NotRequired[Any]
    via: str
    # Whose credential it was, when that acted for `resolved_by`.
    via_principal: NotRequired[str]


class RecordedDecision(TypedDict):
    # What was recorded for the request before this call came.
    outcome: Literal['allowed', 'denied', 'answered', 'declined', 'cancelled', 'expired']
    request_id: str
    resolved_at_ms: int
    resolved_by: str
    via: str
    # Whose credential it was, when that acted for `resolved_by`.
    via_principal: NotRequired[str]


class Redact(TypedDict):
    # Either `event_ids` or `before_ms`.
    # With `before_ms`: only events after this one.
    after_event_id: NotRequired[str]
    # The events before the first one at or after this moment, 200 in a call.
    before_ms: NotRequired[int | None]
    # Numbers of events of the session.
    event_ids: NotRequired[list[str] | None]
    # On record in the audit's own log.
    reason: str


class Redacted(TypedDict):
    next_after_event_id: str | None
    # How many of the events of the call have no body now, those that had none before among them: a repeated call has the same
    # answer.
    redacted: int


class RedeemGrant(TypedDict):
    # The JWS, at most 64 KiB.
    grant: str
    idempotency_key: NotRequired[str]
    # Of the input that is about to run: the SHA-256 of its RFC 8785 form.
    input_digest: str


class Redemption(TypedDict):
    # The one time that a grant was redeemed; in a problem with `grant_redeemed` the first.
    # The fence of the claim under which it was redeemed.
    fence: str
    jti: str
    redeemed_at_ms: int
    # The principal of the worker.
    redeemed_by: str
    request_id: str
    run_id: str


class Release(TypedDict):
    # How many attempts have failed, this one included; one more than before when absent. It needs `last_error`.
    attempt: NotRequired[int]
    checkpoint: NotRequired[Any]
    # How long nobody can claim the run.
    delay_ms: NotRequired[int]
    fence: NotRequired[str]
    # Why the handler failed, when the run is to be retried.
    last_error: NotRequired[str]
    settled_after: NotRequired[str]


RememberChoice = TypedDict('RememberChoice', {
    # Of `prefix`: the words with which the commands start. Of `folder`: the folder, with a slash at its end.
    'about': 'NotRequired[str]',
    # The handles of the body's `also` whose call the rule would have decided in its session: open approvals that the caller
    # can read. Absent when there is none.
    'also': 'NotRequired[list[str]]',
    # The text of the rule for all sessions. Absent when there is none.
    'always': 'NotRequired[str]',
    # The `remember_as` of the decision.
    'as': "Literal['exact', 'command', 'prefix', 'folder', 'tool']",
    'examples': 'NotRequired[RuleExamples]',
    # The text of the rule for this session. Only with `session_id`.
    'session': 'NotRequired[str]',
})


class RequestExplanationDeadline(TypedDict):
    # Of an open request.
    at_ms: int
    # As `at_deadline` of the escalation says. Without one: `deny` for an approval, `decline` for a question of a sub-agent,
    # `cancel_run` for other questions.
    does: Literal['deny', 'decline', 'cancel_run', 'answer', 'keep']


class RequestExplanation(TypedDict):
    # Who is looking at the open request now, oldest first.
    acknowledgement: NotRequired[list[Acknowledgement]]
    # The service asks nobody for a credential.
    anyone: NotRequired[bool]
    # Of an open request.
    deadline: NotRequired[RequestExplanationDeadline]
    # The standing rule whose escalation the open request has.
    escalated_by: NotRequired[EscalationRule]
    handle: str
    kind: Literal['approval', 'question']
    # The principals with a credential that works whose allow or answer would be accepted now, sorted. Empty for a settled
    # request, and with `anyone`.
    may_decide: list[str]
    # How many others there are.
    may_decide_more: NotRequired[int]
    next: NotRequired[ExplainedNext]
    # Set if a decision would wait for a worker, as in a list.
    no_worker_since_ms: NotRequired[int]
    # Whom the steps of the escalation selected, and who got no message since. Without an escalation, who may decide and has
    # no verified address, once people were to be notified.
    not_reached: NotRequired[list[ExplainedNotReached]]
    # The notifications of people about the request, by the channels of the replica that answers. They have no addresses. Of a
    # settled request there are no pending ones.
    notified: NotRequired[list[ExplainedNotice]]
    # When people will be notified of the request, at the earliest after an acknowledgement has lapsed.
    notify_at_ms: NotRequired[int]
    # The moment of the explanation by the service's clock.
    now_ms: int
    request_id: str
    # The standing rules about the tool and the input of an open approval, those that apply first, then the newest. Absent for
    # a request with sensitive values, and with more than 10,000 rules or 8 MiB of them.
    rules: NotRequired[list[ExplainedRule]]
    # How many other such rules there are.
    rules_more: NotRequired[int]
    run_id: str
    session_id: str
    # When the state began.
    since_ms: int
    # Until when the caller snoozes the request, for the caller only. It may have passed.
    snoozed_until_ms: NotRequired[int]
    state: Literal['settled', 'over', 'waiting_for_people', 'nobody_can_decide', 'waiting_for_parent', 'queued_behind_run', 'no_worker', 'delayed', 'held', 'stuck']
    # The explanation in English.
    text: str
    you: NotRequired[ExplainedCaller]


class RequestViewRequesterExcluded(TypedDict):
    # Only in `GET /v1/requests/{handle}` and the reply of its acknowledgement, of an open approval: an allow by this caller
    # would be refused with `requester_excluded`. The caller may deny.
    # Why, for a person.
    detail: str


class RequestViewRun(TypedDict):
    kind: Literal['input', 'call', 'parent_clarification']
    run_id: str
    status: Literal['queued', 'running', 'waiting_for_approval', 'waiting_for_user_question', 'completed', 'failed', 'interrupted', 'cancelled']


class RequestView(TypedDict):
    # An approval or a question, open or settled, with its context.
    # Who is looking at the open request, oldest first. Those whose `until_ms` has passed may still be listed.
    acknowledgement: NotRequired[list[Acknowledgement]]
    agent_id: str
    # With `context`: settled requests of the session, oldest first, fewer when they have more than 256 KiB. Inputs are cut as
    # in a summary; schemas, pattern keys and metadata are left out. Absent when the read took too long.
    context: NotRequired[list[RequestView]]
    kind: Literal['approval', 'question']
    # Only of an open request: whether an allow or an answer by this caller would be accepted now.
    may_decide: NotRequired[bool]
    parent_channel_ids: NotRequired[list[str]]
    parent_project_ids: NotRequired[list[str]]
    # The parent of the session, when a child session asks.
    parent_session_id: NotRequired[str]
    recorded_decision: NotRequired[RecordedDecision]
    request: ApprovalRequest | UserQuestionRequest
    # Of a parent clarification: who asks. The members below are the same.
    requester_agent_id: NotRequired[str]
    requester_channel_ids: NotRequired[list[str]]
    # Only in `GET /v1/requests/{handle}` and the reply of its acknowledgement, of an open approval: an allow by this caller
    # would be refused with `requester_excluded`. The caller may deny.
    requester_excluded: NotRequired[RequestViewRequesterExcluded]
    requester_project_ids: NotRequired[list[str]]
    requester_run_id: NotRequired[str]
    requester_session_id: NotRequired[str]
    requester_tool_call_id: NotRequired[str]
    resolution: NotRequired[Resolution | RecordedAnswer]
    run: RequestViewRun
    run_id: str
    # Only in `GET /v1/requests/{handle}` of an open approval: how many other open approvals have its tool and input, of those
    # that the caller can read; 100 for 100 or more. Among the first 10,000 open approvals and 8 MiB. Absent when the count
    # took too long.
    same_as_open: NotRequired[int]
    session: NotRequired[SessionAbout]
    session_id: str
    # Until when the caller snoozes the request, for the caller only. It may have passed.
    snoozed_until_ms: NotRequired[int]


class Grant(TypedDict):
    # The end of the run's lease in seconds since the epoch; absent while nobody has one.
    exp: NotRequired[int]
    # The fence of the claim under which it was redeemed.
    fence: NotRequired[str]
    # The handle of the approval, in every claim the same.
    jti: str
    # When a worker was about to do it, absent until then. A worker that finds it in its claim must find out what ran.
    redeemed_at_ms: NotRequired[int]
    # The principal of that worker.
    redeemed_by: NotRequired[str]


class Resolution(TypedDict):
    # What was recorded for an approval: the decision as it was given, and who made it, when and by what way.
    behavior: Literal['allow', 'deny']
    grant: NotRequired[str | Grant]
    justification: NotRequired[str]
    outcome: Literal['allowed', 'denied', 'answered', 'declined', 'cancelled', 'expired']
    reason: NotRequired[str]
    request_id: str
    resolved_at_ms: int
    resolved_by: str
    rule: NotRequired[AppliedRule]
    # What the worker's runtime gets for a decision on another face, in that face's own words.
    runtime_payload: NotRequired[Any]
    updated_input: NotRequired[Any]
    via: str
    # Whose credential it was, when that acted for `resolved_by`.
    via_principal: NotRequired[str]


class ResolveApprovals(TypedDict):
    idempotency_key: NotRequired[str]
    resolutions: list[ApprovalResolution]


class Resume(TypedDict):
    # What a run goes on with: everything that was settled since it was suspended.
    approvals: list[SettledApproval]
    # The answer of the parent's session, when the run was parked for one.
    clarification: NotRequired[ClarificationAnswer]
    questions: list[SettledQuestion]
    suspension_id: str


class RetryRun(TypedDict):
    idempotency_key: NotRequired[str]


class RotateToken(TypedDict):
    # How long the old secret still works.
    grace_ms: NotRequired[int]


class RotateWebhook(TypedDict):
    # How long deliveries are signed with the present secret, too.
    grace_ms: NotRequired[int | None]


class Rule(TypedDict):
    # A standing decision.
    agent_id: NotRequired[str]
    created_at_ms: int
    created_by: str
    effect: Literal['allow', 'ask', 'deny', 'hint']
    # Of an `ask`: replaces the one of each request that the rule matches.
    escalation: NotRequired[Escalation]
    # Absent when it does not expire.
    expires_at_ms: NotRequired[int]
    # Of a `hint`: what is shown with each request that the rule matches.
    hint: NotRequired[Hint]
    # How many requests it has settled.
    hits: int
    match: RuleMatch
    max_uses: NotRequired[int]
    # For the agent.
    reason: NotRequired[str]
    revoked_at_ms: NotRequired[int]
    revoked_by: NotRequired[str]
    rule_id: str
    # Absent when it holds in all sessions.
    session_id: NotRequired[str]
    source_request_id: NotRequired[str]
    # The run of the request with whose decision it was written.
    source_run_id: NotRequired[str]
    # What the rule does in plain words.
    text: str
    tool_name: NotRequired[str]
    # How often it was used, up to `max_uses`: also for requests that it settled together with other rules, and ones that were
    # deleted since. Absent before the first use, and without `max_uses`.
    uses: NotRequired[int]
    # Whose credential it was, when that acted for `created_by`.
    via_principal: NotRequired[str]


class RuleExample(TypedDict):
    directory: NotRequired[str]
    input: Any
    pattern_keys: NotRequired[list[str]]
    tool_call_id: NotRequired[str]
    tool_name: str
    # For people; only of a call that the rule does not match.
    why_not: NotRequired[str]


class RuleExamples(TypedDict):
    # Made-up calls that a rule matches, and near ones that it does not, at most three of each; none of a rule for one input
    # above 4,096 bytes.
    matching: list[RuleExample]
    not_matching: list[RuleExample]


class RuleMatch(TypedDict):
    # Which calls are meant: all that it gives must hold, and it must give something.
    # The tool, whatever its input. Needs `tool_name`, and excludes the members above.
    any_input: NotRequired[bool]
    # An additional condition on the `directory` of the request: needs one of the others. An allow applies to exactly this
    # text. A deny or an ask also applies to directories below it, in any spelling, and to requests without a directory.
    directory: NotRequired[str]
    # The SHA-256 of the RFC 8785 form of the input. Needs `tool_name`.
    input_digest: NotRequired[str]
    # Globs for members of the input: `*` does not cross `/`, `**` does, `?` is one character. Needs `tool_name`.
    params: NotRequired[dict[str, Any]]
    # Of an allow: a request whose every key is allowed, by this rule or by several together, is allowed. Of a deny or ask: a
    # request that has any of them.
    pattern_keys: NotRequired[list[str]]
    # This one call. Needs `session_id`.
    tool_call_id: NotRequired[str]


class RulePage(TypedDict):
    items: list[Rule]
    pagination: Pagination


class RunEventEntryEvent(TypedDict):
    # What happened. The service writes `accepted`, `queued {position}`, `started`, `waiting_for_approval {request_ids,
    # requests, parent_session_id?, session?}`, `approval_resolved {resolutions}`, `grant_redeemed {request_id, jti,
    # tool_name, redeemed_at_ms, redeemed_by, fence}`, `waiting_for_user_question {request_ids, requests, parent_session_id?,
    # session?}`, `user_question_resolved {resolution}`, `user_question_answered {request_id, question_ids, answers,
    # justification?, resolved_by, via, open}` (some of several questions have their answers; `open` have none),
    # `parent_clarification_requested {request_id, parked, waiting_on}` (in the session that asks; its answer is a
    # `user_question_resolved`), `parent_clarification_resolved {requester_agent_id, requester_session_id, request_id,
    # declined, resolution}` (in the session that was asked), `output {output}`, `completed`, `failed {error}`, `interrupted
    # {reason?}`, `cancelled {reason?}` `run_retried` (a failed run goes on), `request_notified {request_id, step, to: [{who,
    # channels, why_not?}]}` (people are told of a request, or why not) `notification_failed {request_id, who, channel,
    # next_channel?}` (a message was given up; with `next_channel` it goes to the person's next address) and
    # `request_acknowledged {request_id, by, via_principal?, via, state, until_ms?}` (a person is looking at an open request,
    # or snoozes it with `state: snoozed`; with `state: none`, no longer). Workers add types of their own, any but these and
    # `snapshot` and `stream_gap`, which name frames of streams.
    type: str


class RunEventEntry(TypedDict):
    # Who caused it: the principal of the credential, or who is on record as having decided, or `system`.
    actor: NotRequired[str]
    agent_id: str
    # SHA-256 of the RFC 8785 form of `event` without its `type`. This and the two below are absent from events that were
    # written before there was a chain.
    body_digest: NotRequired[str]
    # What happened. The service writes `accepted`, `queued {position}`, `started`, `waiting_for_approval {request_ids,
    # requests, parent_session_id?, session?}`, `approval_resolved {resolutions}`, `grant_redeemed {request_id, jti,
    # tool_name, redeemed_at_ms, redeemed_by, fence}`, `waiting_for_user_question {request_ids, requests, parent_session_id?,
    # session?}`, `user_question_resolved {resolution}`, `user_question_answered {request_id, question_ids, answers,
    # justification?, resolved_by, via, open}` (some of several questions have their answers; `open` have none),
    # `parent_clarification_requested {request_id, parked, waiting_on}` (in the session that asks; its answer is a
    # `user_question_resolved`), `parent_clarification_resolved {requester_agent_id, requester_session_id, request_id,
    # declined, resolution}` (in the session that was asked), `output {output}`, `completed`, `failed {error}`, `interrupted
    # {reason?}`, `cancelled {reason?}` `run_retried` (a failed run goes on), `request_notified {request_id, step, to: [{who,
    # channels, why_not?}]}` (people are told of a request, or why not) `notification_failed {request_id, who, channel,
    # next_channel?}` (a message was given up; with `next_channel` it goes to the person's next address) and
    # `request_acknowledged {request_id, by, via_principal?, via, state, until_ms?}` (a person is looking at an open request,
    # or snoozes it with `state: snoozed`; with `state: none`, no longer). Workers add types of their own, any but these and
    # `snapshot` and `stream_gap`, which name frames of streams.
    event: RunEventEntryEvent
    # SHA-256 of the RFC 8785 form of `session_id`, `id`, `type`, `timestamp_ms`, `run_id`, `actor`, `body_digest` and `prev`.
    hash: NotRequired[str]
    # The event's number in its session.
    id: str
    # The hash of the event before it, empty in the first one of a chain.
    prev: NotRequired[str]
    run_id: str
    session_id: str
    timestamp_ms: int


class RunExplanationHeldBy(TypedDict):
    # The worker with the lease.
    # When the run last changed. A heartbeat changes it, and so do an event and a decision.
    last_heartbeat_ms: int
    lease_left_ms: int
    worker_id: str


class RunExplanationWaitingOn(TypedDict):
    # The question that the run waits for in its parent's session. Of a run that a worker has, it is a run that waits for
    # people in a session below. `explain` is absent when the question has not arrived, or the caller may not see that
    # session.
    explain: NotRequired[RunExplanation]
    relation: Literal['parent', 'child']
    # The question in the parent's session.
    request_id: NotRequired[str]
    run_id: str
    session_id: str


class RunExplanation(TypedDict):
    agent_id: str
    # How many other runs in sessions below wait for people. There may be more if it is at least 19.
    children_more: NotRequired[int]
    # When a delayed run can be claimed.
    claimable_at_ms: NotRequired[int]
    # Since when a worker could claim the run.
    claimable_since_ms: NotRequired[int]
    # The code of `holdpoint doctor` for a run that is stuck.
    finding: NotRequired[str]
    # The worker with the lease.
    held_by: NotRequired[RunExplanationHeldBy]
    # The moment of the explanation by the service's clock.
    now_ms: int
    # The run's pending and failed effects.
    owed: NotRequired[list[EffectView]]
    # How many runs of the session come first.
    queued_ahead: NotRequired[int]
    # The run before this one, with its own explanation, and so on up to 20 runs. It is absent when the caller may not see it.
    queued_behind: NotRequired[ExplainedRun]
    # The open approvals and questions.
    requests: NotRequired[list[RequestExplanation]]
    # How many other requests are open.
    requests_more: NotRequired[int]
    run_id: str
    session_id: str
    # When the state began.
    since_ms: int
    state: Literal['settled', 'over', 'waiting_for_people', 'nobody_can_decide', 'waiting_for_parent', 'queued_behind_run', 'no_worker', 'delayed', 'held', 'stuck']
    status: Literal['queued', 'running', 'waiting_for_approval', 'waiting_for_user_question', 'completed', 'failed', 'interrupted', 'cancelled']
    # The explanation in English.
    text: str
    # The question that the run waits for in its parent's session. Of a run that a worker has, it is a run that waits for
    # people in a session below. `explain` is absent when the question has not arrived, or the caller may not see that
    # session.
    waiting_on: NotRequired[RunExplanationWaitingOn]
    # Claims that wait for such a run at the replica that answers. Of a run that can be claimed.
    workers_waiting: NotRequired[int]


class RunPage(TypedDict):
    items: list[RunView]
    pagination: Pagination


class RunRequestSummary(TypedDict):
    # Who asked for the run, and how it begins.
    actor_id: str
    question_count: NotRequired[int]
    source_kind: str
    source_plugin: str
    # The first 160 characters of the input.
    text_preview: NotRequired[str]


class RunView(TypedDict):
    agent_id: str
    # Counts the claims since the last suspension.
    attempt: NotRequired[int]
    # Why it failed or was cancelled.
    error: NotRequired[str]
    # Counts the failed attempts of the handler since the last suspension.
    failed_attempts: NotRequired[int]
    finished_at_ms: NotRequired[int]
    kind: Literal['input', 'call', 'parent_clarification']
    # The error of the newest of them, or of the failure that was retried by hand.
    last_error: NotRequired[str]
    lease: NotRequired[Lease]
    metadata: NotRequired[dict[str, Any]]
    output: NotRequired[Any]
    # The newest output records, at most 100 and 4 MiB, of a run that is read by itself; empty in lists and in replies of
    # writes.
    outputs: list[OutputRecord]
    # How many output records there are.
    outputs_count: int
    # True when `outputs` has not all of them.
    outputs_truncated: NotRequired[bool]
    parent_run_id: NotRequired[str]
    pending_approval_ids: NotRequired[list[str]]
    pending_approvals: NotRequired[list[ApprovalRequest]]
    pending_question_ids: NotRequired[list[str]]
    pending_questions: NotRequired[list[UserQuestionRequest]]
    # Whose credential it was made with; absent for what the service made.
    principal: NotRequired[str]
    # Of a queued run: 1 goes next.
    queued_position: NotRequired[int]
    request: RunRequestSummary
    resume: NotRequired[Resume]
    run_id: str
    session_id: str
    # When it was claimed first.
    started_at_ms: NotRequired[int]
    status: Literal['queued', 'running', 'waiting_for_approval', 'waiting_for_user_question', 'completed', 'failed', 'interrupted', 'cancelled']
    submitted_at_ms: int
    updated_at_ms: int
    waiting_on: NotRequired[WaitingOn]


class SessionAbout(TypedDict):
    # How people recognise a session. It is what the caller says, and only shown.
    label: NotRequired[str]
    origin: NotRequired[SessionOrigin]


class SessionOrigin(TypedDict):
    # Where the agent works.
    # In bytes.
    directory: NotRequired[str]
    # In bytes.
    host: NotRequired[str]
    # Such as the name of the repository; in bytes.
    project: NotRequired[str]


class SessionPage(TypedDict):
    items: list[SessionSummary]
    pagination: Pagination


class SessionSnapshot(TypedDict):
    # The session as an agent with its open prompts, for clients that know sessions as running agents. It repeats members of
    # the SessionView.
    active_run_id: str | None
    agent: SnapshotAgent
    # Always 0.
    checkpoint_len: int
    # Always 0.
    journal_len: int
    # Always null.
    last_assistant_message: str | None
    # Always null.
    last_error: str | None
    pending_approvals: list[ApprovalRequest]
    pending_questions: list[UserQuestionRequest]
    queued_run_ids: list[str]
    status: Literal['idle', 'running', 'waiting_for_approval', 'waiting_for_user_question', 'ended']


class SessionSummary(TypedDict):
    agent_id: str
    created_at_ms: int
    label: NotRequired[str]
    origin: NotRequired[SessionOrigin]
    parent_session_id: NotRequired[str]
    pending_approvals: int
    pending_questions: int
    session_id: str
    status: Literal['idle', 'running', 'waiting_for_approval', 'waiting_for_user_question', 'ended']
    updated_at_ms: int


class SessionView(TypedDict):
    active_run: ActiveRun | None
    agent_id: str
    created_at_ms: int
    label: NotRequired[str]
    last_event_id: str
    metadata: NotRequired[dict[str, Any]]
    origin: NotRequired[SessionOrigin]
    # The newest output records of its runs, at most 100 and 4 MiB; empty in replies of writes.
    outputs: list[OutputRecord]
    # How many output records of its runs are kept; also in replies of writes.
    outputs_count: int
    # True when `outputs` has not all of them.
    outputs_truncated: NotRequired[bool]
    parent_session_id: NotRequired[str]
    pending_approvals: list[ApprovalRequest]
    pending_count: int
    # With those of parent clarifications that wait in the session, at most 100 of them.
    pending_questions: list[PendingQuestionView]
    # Whose credential it was made with.
    principal: NotRequired[str]
    # In the order in which they will go.
    queued_run_ids: list[str]
    session_id: str
    snapshot: SessionSnapshot
    status: Literal['idle', 'running', 'waiting_for_approval', 'waiting_for_user_question', 'ended']
    updated_at_ms: int


class SettledSettled(TypedDict):
    # An ApprovalRequest or a UserQuestionRequest.
    request: dict[str, Any]
    # A Resolution or an Answer.
    resolution: dict[str, Any]
    # Its place in the order of the run's decisions: a `settled_after` of this takes in this one and all before it.
    settled_number: str


class Settled(TypedDict):
    # What to ask with the next time.
    after: str
    # The run was cancelled or interrupted; stop.
    cancel_requested: bool
    # How many requests of the run are still open, without the questions to the parent's session that it does not wait for;
    # and one more if there are decisions that the next call returns.
    open: int
    # In the order of the decisions: approvals and questions.
    settled: list[SettledSettled]


class SettledApproval(TypedDict):
    request: ApprovalRequest
    resolution: Resolution


class SettledQuestion(TypedDict):
    request: UserQuestionRequest
    resolution: Answer


class SignIn(TypedDict):
    # Who is signed in, as `GET /v1/me` says it.
    # Absent for no bound.
    agent_ids: NotRequired[list[str]]
    expires_at_ms: NotRequired[int]
    groups: list[str]
    # The person whose token it is; absent for none. Decisions are recorded under this name.
    on_behalf_of: NotRequired[str]
    principal: str
    role: Literal['observer', 'agent', 'operator', 'admin']
    # On a loopback address alone: what the page calls with, as `Authorization: Session`.
    session: NotRequired[str]
    # Absent for no bound.
    session_prefixes: NotRequired[list[str]]
    token_id: NotRequired[str]
    # `open` where no credential is asked for.
    via: Literal['session', 'open']


class SnapshotAgent(TypedDict):
    conversation: SnapshotConversation
    id: str
    # Always null.
    parent: str | None
    spawned_at_ms: int
    # `completed` for a session that has ended.
    status: Literal['idle', 'running', 'waiting_for_approval', 'waiting_for_user_input', 'completed']
    # Always empty.
    subtasks: list[Any]


class SnapshotConversation(TypedDict):
    session_id: str
    thread_id: str


class StatusReply(TypedDict):
    status: Literal['live', 'ready']


class StreamTicket(TypedDict):
    expires_at_ms: int
    # What to send as `ticket` in the query of the stream.
    ticket: str


class Suspend(TypedDict):
    abandoned_after_ms: NotRequired[int]
    approvals: NotRequired[list[ApprovalRequest]]
    cancel_when_abandoned: NotRequired[bool]
    checkpoint: NotRequired[Any]
    fence: str
    hold: NotRequired[bool]
    idempotency_key: NotRequired[str]
    questions: NotRequired[list[UserQuestionRequest]]
    settled_after: NotRequired[str]
    suspension_id: NotRequired[str]


class SuspendReply(TypedDict):
    resume: NotRequired[Resume]
    run: RunView


class Suspension(TypedDict):
    # What to wait for; at least one request.
    # With `hold`, in place of `cancel_when_abandoned`: the run is cancelled once its worker has been silent for that long
    # after its lease, unless its requests are settled by then.
    abandoned_after_ms: NotRequired[int]
    approvals: NotRequired[list[ApprovalRequest]]
    # With `hold`: the run is cancelled once its worker has been silent for its lease and as long again, at least 30 s in a
    # run that was there before.
    cancel_when_abandoned: NotRequired[bool]
    checkpoint: NotRequired[Any]
    # The worker keeps its lease and waits in place.
    hold: NotRequired[bool]
    questions: NotRequired[list[UserQuestionRequest]]
    # The `after` up to which the checkpoint has taken in resolutions; when absent, only those that came with the claim, so
    # that a decision that nobody has read is handed over again.
    settled_after: NotRequired[str]
    suspension_id: NotRequired[str]


class TestChannelBody(TypedDict):
    address: str


class Token(TypedDict):
    # Empty for no bound.
    agent_ids: list[str]
    created_at_ms: int
    created_by: str
    expires_at_ms: NotRequired[int]
    groups: list[str]
    # The first characters of the secret's random part.
    hint: str
    # The minute of the last use, or `created_at_ms` if that is later. Uses at another replica appear within two seconds.
    last_used_at_ms: NotRequired[int]
    may_act_for: bool
    may_always: bool
    name: str
    # The person whose token it is; absent for none.
    on_behalf_of: NotRequired[str]
    principal: str
    revoked_at_ms: NotRequired[int]
    role: Literal['observer', 'agent', 'operator', 'admin']
    # Empty for no bound.
    session_prefixes: list[str]
    token_id: str


class TokenList(TypedDict):
    data: list[Token]
    next_cursor: str | None


class TokenSecret(TypedDict):
    # What to send as `Authorization` after `Bearer`.
    secret: NotRequired[str]
    # The key was used before; the secret was in the first reply.
    secret_shown: NotRequired[Literal[True]]
    token: Token


class UserQuestion(TypedDict):
    # Whether an answer in the person's own words is accepted. When absent: true without options, false with options. Always
    # present in replies.
    allow_freeform: NotRequired[bool]
    # `Question N` when absent.
    header: NotRequired[str]
    # `question-N` when absent.
    id: NotRequired[str]
    # Whether more than one option may be chosen.
    multi_select: NotRequired[bool]
    # Without options the answer is free text.
    options: NotRequired[list[QuestionOption]]
    question: str
    # As that of the request, for this question alone.
    sensitive: NotRequired[bool]


class UserQuestionAnswer(TypedDict):
    freeform_answer: NotRequired[str]
    question_id: str
    selected_option_ids: NotRequired[list[str]]
    # There is an answer, which is not shown. Ignored in a request.
    sensitive: NotRequired[bool]


class UserQuestionRequest(TypedDict):
    # One to 16 structured questions, answered together; or, with `response_schema` or a `kind` alone, one value.
    callback: NotRequired[Callback]
    created_at_ms: NotRequired[int]
    # Not for a question to a parent.
    escalation: NotRequired[Escalation]
    # The same counted from now; only in requests, and not together with `expires_at_ms`.
    expires_after_ms: NotRequired[int]
    # When the request expires. A question that expires ends the run as `cancelled`; a parent clarification is completed,
    # declined.
    expires_at_ms: NotRequired[int]
    # Identifies the request among all requests of all runs. Made by the service; ignored in a request.
    handle: NotRequired[str]
    hints: NotRequired[list[Hint]]
    # `question-request-<tool_call_id>` when absent.
    id: NotRequired[str]
    # Tells the one who shows a typed question how.
    kind: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]
    # Answers that another face gave to some of the questions, one by one. They count once there is one to each; an answer to
    # all goes before them. Made by the service; ignored in a request.
    partial_answers: NotRequired[list[UserQuestionAnswer]]
    payload: NotRequired[Any]
    questions: NotRequired[list[UserQuestion]]
    # A JSON Schema (2020-12) that the answer's `value` must match. Then `questions` is empty. With a `kind` and neither of
    # them it is `true`: any value.
    response_schema: NotRequired[dict[str, Any] | bool]
    # All answers are stored encrypted, shown as `{"sensitive": true}`, and in clear only in the Resume of the worker that
    # holds the run. Not for a question to a parent.
    sensitive: NotRequired[bool]
    tool_call_id: NotRequired[str]
    # The trace in which the request was raised (W3C Trace Context): the service's own span, or the call's `traceparent`
    # header. Absent if there was none. Set by the service; ignored in a request.
    traceparent: NotRequired[str]


class UserQuestionResolution(TypedDict):
    answers: NotRequired[list[UserQuestionAnswer]]
    # `true` refuses to answer. The run goes on and is told so.
    declined: NotRequired[bool]
    justification: NotRequired[str]
    request_id: str
    # The answer to a question that has a `response_schema`.
    value: NotRequired[Any]


class VerifyAddressBody(TypedDict):
    code: str


class VersionReply(TypedDict):
    name: Literal['holdpoint']
    version: str


class ViewedRequest(TypedDict):
    handle: str
    # Principals, at most 200 in the whole view.
    viewing: list[str]


class ViewingView(TypedDict):
    # Who has which requests open in their inbox, without the caller. It replaces the one before.
    requests: list[ViewedRequest]


class WaitingOn(TypedDict):
    # The clarification that a parked run waits for. The run has no open question of its own for it.
    request_id: str
    run_id: str
    session_id: str


class Webhook(TypedDict):
    # Only events of these agents.
    agent_ids: list[str]
    created_at_ms: int
    created_by: str
    description: str
    disabled_at_ms: NotRequired[int]
    # `gone` when the endpoint answered 410.
    disabled_reason: NotRequired[Literal['disabled', 'gone']]
    enabled: bool
    # Only events of these types.
    events: list[str]
    # `{type, timestamp, data}` as Standard Webhooks proposes, or a CloudEvents 1.0 event in structured JSON.
    format: Literal['standard', 'cloudevents']
    # Only events of these kinds. `run` is status changes, and who was notified of a request or is looking at it. Without
    # `events` and `kinds` nothing of kind `worker`, which is output and what workers append.
    kinds: list[Literal['approval', 'question', 'clarification', 'run', 'worker']]
    # Deliveries at once, of each replica; 4 unless it is given.
    max_concurrency: int
    # How long deliveries are signed with the secret before the last rotation, too.
    previous_until_ms: NotRequired[int]
    # Only events of sessions whose id begins with one of these.
    session_prefixes: list[str]
    updated_at_ms: int
    url: str
    webhook_id: str


class WebhookBody(TypedDict):
    # Only events of these agents.
    agent_ids: NotRequired[list[str] | None]
    description: NotRequired[str | None]
    # Whether it is delivered to; true unless it is given.
    enabled: NotRequired[bool | None]
    # Only events of these types. `kinds`, if given, must name the kind of each; for types that workers append it must name
    # `worker`.
    events: NotRequired[list[str] | None]
    # `{type, timestamp, data}` as Standard Webhooks proposes, or a CloudEvents 1.0 event in structured JSON.
    format: NotRequired[Literal['standard', 'cloudevents', None]]
    # Only events of these kinds. `run` is status changes, and who was notified of a request or is looking at it. Without
    # `events` and `kinds` nothing of kind `worker`, which is output and what workers append.
    kinds: NotRequired[list[Literal['approval', 'question', 'clarification', 'run', 'worker']] | None]
    # Deliveries at once, of each replica; 4 unless it is given.
    max_concurrency: NotRequired[int | None]
    # Only events of sessions whose id begins with one of these.
    session_prefixes: NotRequired[list[str] | None]
    # Where to post to. It begins with https://; http:// and addresses that are not public are for those that `--webhook-
    # allow` names.
    url: NotRequired[str | None]


class WebhookList(TypedDict):
    data: list[Webhook]


class WebhookReplay(TypedDict):
    # There are others; call again.
    more: bool
    replayed: int


class WebhookSecret(TypedDict):
    # `whsec_` and base64: the key of the signatures.
    secret: str
    webhook: Webhook


class WebhookTest(TypedDict):
    # The endpoint answered with a status of 200 to 299.
    delivered: bool
    duration_ms: int
    error: NotRequired[str]
    # The `webhook-id` of the call.
    message_id: str
    # Absent when there was no answer.
    status: NotRequired[int]


class Withdraw(TypedDict):
    fence: str
    reason: NotRequired[str]


class WorkersViewWorkers(TypedDict):
    leases: list[HeldLease]
    worker_id: str


class WorkersView(TypedDict):
    # True when 1,000 leases are shown and there are others.
    more: NotRequired[bool]
    # The moment of the view by the service's clock.
    now_ms: int
    workers: list[WorkersViewWorkers]
