// Generated from openapi.json by "npm run types"; do not edit.

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AcknowledgedReply: {
            acknowledged: boolean;
            message_id: components["schemas"]["ID"];
        };
        /** @description A person who is looking at an open request. It counts until `until_ms`. */
        Acknowledgement: {
            at_ms: components["schemas"]["TimeMs"];
            by: string;
            /** @enum {string} */
            state: "acknowledged";
            until_ms: components["schemas"]["TimeMs"];
            /** @description Whose credential it was, when that acted for `by`. */
            via_principal?: string;
        };
        AcknowledgementBody: {
            /**
             * @description `none` takes an acknowledgement or a snooze back.
             * @enum {string}
             */
            state: "acknowledged" | "snoozed" | "none";
            /**
             * Format: int64
             * @description When it lapses: at most 4 hours from now. When absent, an acknowledgement of the caller stays as it is, and a new one lapses after 30 minutes. Required with `snoozed`, at most 7 days from now. Not with `none`.
             */
            until_ms?: number;
        };
        ActiveRun: {
            run_id: components["schemas"]["ID"];
        };
        AddRule: {
            /** @description Only for this agent. */
            agent_id?: components["schemas"]["ID"];
            /** @description `allow` when absent. */
            effect?: components["schemas"]["RuleEffect"];
            /** @description Only with the effect `ask`: replaces the one of each request that the rule matches. At most 4096 bytes; with a name, steps or `at_deadline`. */
            escalation?: components["schemas"]["Escalation"];
            /**
             * Format: int64
             * @description The same counted from now, 0 for never; not together with `expires_at_ms`. As long as the session, or 30 days without one, when neither is given.
             */
            expires_after_ms?: number;
            /** Format: int64 */
            expires_at_ms?: number;
            /** @description Required with the effect `hint`, and refused with others: what is shown with each request that the rule matches. */
            hint?: components["schemas"]["Hint"];
            idempotency_key?: components["schemas"]["IdempotencyKey"];
            match: components["schemas"]["RuleMatch"];
            /** @description It ends after so many decisions. Needs `session_id`. */
            max_uses?: number;
            /** @description For the agent. */
            reason?: string;
            rule_id?: components["schemas"]["ID"];
            /** @description Only in this session, which need not be there yet. In all when absent. */
            session_id?: components["schemas"]["ID"];
            tool_name?: string;
        };
        Address: {
            /** @description It is shown to its owner alone. */
            address: string;
            address_id: components["schemas"]["ID"];
            channel: string;
            created_at_ms: components["schemas"]["TimeMs"];
            /** @description When its code was given; absent before, and then it gets no messages. */
            verified_at_ms?: components["schemas"]["TimeMs"];
        };
        AddressBody: {
            /** @description What the channel takes: of e-mail the address of a mailbox. */
            address: string;
            /** @description The name of a channel of the service. */
            channel: string;
            /** @description The person whose address it is, such as `user:ada`; the caller if absent. Only an admin may add one for another person. */
            principal?: string;
        };
        AddressChannel: {
            /** @enum {string} */
            kind: "email" | "http" | "slack";
            name: string;
        };
        AddressList: {
            /** @description The channels to which you can add an address. */
            channels: components["schemas"]["AddressChannel"][];
            data: components["schemas"]["Address"][];
        };
        /** @description At least one member. */
        AmendSession: {
            /** @description Replaces the label; an empty one removes it. */
            label?: components["schemas"]["SessionLabel"];
            /** @description Merged into the session's metadata: null removes a member, any other value replaces it whole. */
            metadata?: components["schemas"]["Metadata"];
            /** @description Replaces the origin as a whole; an empty one removes it. */
            origin?: components["schemas"]["SessionOrigin"];
        };
        /** @description What was recorded for a question, in the form that a worker hands to its model. */
        Answer: {
            answers: components["schemas"]["LabelledAnswer"][];
            declined: boolean;
            justification: string | null;
            outcome: components["schemas"]["Outcome"];
            reason?: string;
            request_id: components["schemas"]["ID"];
            resolved_at_ms: components["schemas"]["TimeMs"];
            resolved_by: string;
            /** @description What the worker's runtime gets for an answer on another face, in that face's own words. */
            runtime_payload?: components["schemas"]["Any"];
            /** @description Of an answered question: a compact JWS (EdDSA, `typ` `holdpoint-answer+jwt`) about `answers` and `value`, which only the holder of the fence is shown, in claims, in `…/resume` and in a suspension that was settled at once. docs/spec/v1.md has the claims. */
            signature?: string;
            /** @description One line a question: `question: labels or text`. */
            summary: string;
            value?: components["schemas"]["Any"];
            via: components["schemas"]["Via"];
            /** @description Whose credential it was, when that acted for `resolved_by`. */
            via_principal?: string;
        };
        AnswerQuestion: {
            idempotency_key?: components["schemas"]["IdempotencyKey"];
            resolution: components["schemas"]["UserQuestionResolution"];
        };
        /** @description Any JSON value. */
        Any: unknown;
        AppendEvents: {
            /** @description Of together at most 512 KiB. More is 413 `append_too_large`: send several calls, each with a key of its own. */
            events: ({
                type: components["schemas"]["ID"];
            } & {
                [key: string]: unknown;
            })[];
            fence: components["schemas"]["Sequence"];
            idempotency_key?: components["schemas"]["IdempotencyKey"];
        };
        /** @description The rule that made the decision, or that was written with it. */
        AppliedRule: {
            rule_id: components["schemas"]["ID"];
            text: string;
        };
        ApprovalPage: {
            items: components["schemas"]["PendingApprovalView"][];
            pagination: components["schemas"]["Pagination"];
        };
        /** @description A tool call that waits for a decision. */
        ApprovalRequest: {
            callback?: components["schemas"]["Callback"];
            created_at_ms?: components["schemas"]["TimeMs"];
            /** @description What the person is shown. */
            description?: string;
            /** @description The directory in which the call would run, if the input does not say so. An allow rule that a decision creates applies in this directory only, unless it is for the whole tool. */
            directory?: string;
            escalation?: components["schemas"]["Escalation"];
            /** @description None of those who asked may allow it: who made or held a run of the session or of those above, by the own credential, through a gateway, or by a rule. They may deny and cancel. 422 `requester_exclusion_needs_auth` where no credential is asked for. */
            exclude_requester?: boolean;
            /**
             * Format: int64
             * @description The same counted from now; only in requests, and not together with `expires_at_ms`.
             */
            expires_after_ms?: number;
            /**
             * Format: int64
             * @description When the request expires. An approval that expires is denied to the worker, and the run goes on.
             */
            expires_at_ms?: number;
            /** @description Identifies the request among all requests of all runs. Made by the service; ignored in a request. */
            handle?: string;
            /** @description At most 8 of the agent's side. In a view, at most 8 of rules stand before them. */
            hints?: components["schemas"]["Hint"][];
            id: components["schemas"]["ID"];
            input: components["schemas"]["Any"];
            /**
             * Format: int64
             * @description In a summary: how long the JSON form of a cut input is. Ignored in a request.
             */
            input_bytes?: number;
            /** @description `sha256:` and the hexadecimal SHA-256 of the RFC 8785 form of `input`; with `sensitive_paths` it is `hmac-sha256:` and an HMAC with a key that is deleted when the run is over. Made by the service; ignored in a request. */
            input_digest?: string;
            /**
             * Format: int64
             * @description How many members `input` has when it is an object with several: a view that shows one of them, such as a command line, says how many more there are. Made by the service; ignored in a request.
             */
            input_members?: number;
            /** @description A JSON Schema (2020-12) that `updated_input` must match. */
            input_schema?: {
                [key: string]: unknown;
            } | boolean;
            /** @description In a summary: `input` is a text with the first 4 KiB of the JSON form of the input, and `GET /v1/requests/{handle}` has it whole. Ignored in a request. */
            input_truncated?: boolean;
            metadata?: components["schemas"]["Metadata"];
            pattern_keys?: string[];
            /** @description Why the agent asks. Always there in replies, empty when none was given. */
            reason?: string;
            /** @description Always there in replies, empty when none was given. */
            scope?: string;
            /** @description JSON Pointers into `input`: what they name is stored encrypted, shown as `{"sensitive": true}` everywhere, and in clear only in the Resume of the worker that holds the run. They hold for `updated_input`, too: there `{"sensitive": true}` stands for the value as it was. One that names nothing is refused. */
            sensitive_paths?: string[];
            tool_call_id: string;
            tool_name: string;
            /** @description The trace in which the request was raised (W3C Trace Context): the service's own span, or the call's `traceparent` header. Absent if there was none. Set by the service; ignored in a request. */
            traceparent?: string;
        };
        ApprovalResolution: {
            behavior: components["schemas"]["Behavior"];
            /** @description That of the request that was decided about. When the open request has another: 409 `approval_changed`. */
            handle?: string;
            /** @description That of the request that was decided about. When the open request has another: 409 `approval_changed`. */
            input_digest?: components["schemas"]["InputDigest"];
            /** @description For the record. */
            justification?: string;
            /** @description For the agent. */
            reason?: string;
            /**
             * @description Writes a rule with the decision, for this session or for all: for the tool with exactly this input. Not together with `updated_input`.
             * @enum {string}
             */
            remember?: "session" | "always";
            /**
             * @description What the rule is about. `exact`: the tool with exactly this input. `command`: the tool with this command, whatever its description and time limit. `prefix`: the tool with commands that start with the same words. `folder`: the tool with files in the same folder or below it. `tool`: every call of the tool, with `remember: session` alone. Needs `remember`.
             * @default exact
             * @enum {string}
             */
            remember_as?: "exact" | "command" | "prefix" | "folder" | "tool";
            /**
             * Format: int64
             * @description How long the rule lasts, in ms; 0 for no expiry. If absent: as long as the session, or 30 days for all sessions.
             */
            remember_for_ms?: number;
            request_id: string;
            /** @description Replaces the whole input of the tool call. Kept on a deny, without effect. */
            updated_input?: components["schemas"]["Any"];
        };
        AskParent: {
            /** @description Stored with `park`, and only then. */
            checkpoint?: components["schemas"]["Any"];
            fence: components["schemas"]["Sequence"];
            parent_channel_ids?: string[];
            parent_project_ids?: string[];
            /**
             * @description The run waits for the answer; its lease ends.
             * @default false
             */
            park?: boolean;
            /** @description Its id is used once in the run, and once among the questions that the session's runs ask the parent; at most 172 characters. */
            request: components["schemas"]["UserQuestionRequest"];
            requester_channel_ids?: string[];
            requester_project_ids?: string[];
        };
        AskParentReply: {
            /** @description The run in the parent's session. */
            clarification: components["schemas"]["RunView"];
            /** @description The run that asks. */
            run: components["schemas"]["RunView"];
        };
        AuditEntry: {
            /** @description Who did it: a principal, who decided, what vouches for whom a token stands (`oidc`, `certificate`), or `system`. */
            actor: string;
            body_digest: string;
            event: components["schemas"]["AuditEvent"];
            hash: string;
            /** @description The number of the line, from 1 without gaps. */
            id: string;
            /** @description The `hash` of the line before; empty in the first. */
            prev: string;
            /** Format: int64 */
            timestamp_ms: number;
        };
        /** @description What happened. Members that do not apply are absent. */
        AuditEvent: {
            address_id?: string;
            agent_ids?: string[];
            /** @description The token that the actor showed. */
            by_token_id?: string;
            channel?: string;
            effect?: string;
            /** @description The events that were redacted. */
            event_ids?: string[];
            /** Format: int64 */
            expires_at_ms?: number;
            /** Format: int64 */
            grace_ms?: number;
            /** @description Of a new token, as `session_prefixes`, `agent_ids`, `may_act_for`, `may_always` and `expires_at_ms`: what it may do and reach. Lines of an older version are without them. */
            groups?: string[];
            /** @description The host of a webhook's URL. */
            host?: string;
            key_id?: string;
            /** @description The hash of the first event of a session that was deleted. */
            life?: string;
            may_act_for?: boolean;
            may_always?: boolean;
            name?: string;
            on_behalf_of?: string;
            principal?: string;
            reason?: string;
            role?: string;
            rule_id?: string;
            /** @description Of a rule: its session, or `*`. Of an export: its session. */
            session_id?: string;
            session_prefixes?: string[];
            /** Format: int64 */
            since_ms?: number;
            /** @description What a rule says, at most 1,000 bytes of it. */
            text?: string;
            token_id?: string;
            /** @enum {string} */
            type: "token_created" | "token_rotated" | "token_revoked" | "signed_in" | "signed_out" | "rule_created" | "rule_revoked" | "webhook_created" | "webhook_changed" | "webhook_rotated" | "webhook_disabled" | "webhook_rewrapped" | "webhook_removed" | "address_added" | "address_verified" | "address_removed" | "link_locked" | "press_refused" | "key_added" | "events_redacted" | "session_deleted" | "audit_exported";
            /** @description By which way: as in `GET /v1/me`, `database` for the command line with `--database`, or, for a rule, as in a resolution. */
            via?: string;
            /** @description Whose credential it was, when the actor is somebody for whom it may act. */
            via_principal?: string;
            webhook_id?: string;
        };
        AuditList: {
            data: components["schemas"]["AuditEntry"][];
            next_cursor: string | null;
        };
        /** @enum {string} */
        Behavior: "allow" | "deny";
        /** @description Where what becomes of the request is posted to, at least once, by the rules of webhooks: for those who run no worker. It is kept encrypted, which takes a key of the service (422 `secrets_not_configured`), and is in no reply, event or list. Not for a question to a parent. */
        Callback: {
            /** @description Sent as `Authorization: Bearer`, and the key of the signature. */
            token: string;
            /**
             * Format: uri
             * @description As that of a webhook: `https`, a public address unless `--callback-allow` names it, without user, password and fragment.
             */
            url: string;
        };
        CancelQuestion: {
            idempotency_key?: components["schemas"]["IdempotencyKey"];
            justification?: string;
        };
        ChannelList: {
            data: {
                /** @description Messages that were given up. */
                failed: number;
                /** @enum {string} */
                kind: "email" | "http" | "push" | "slack";
                /** @description Why one of them failed, or why no presses of buttons arrive at this replica. */
                last_error?: string;
                /**
                 * @description What the links in its messages lead to. Absent for the channel to browsers, whose messages open the inbox.
                 * @enum {string}
                 */
                links?: "sign_in" | "code" | "none";
                name: string;
                /** @description Messages that are not sent or withdrawn yet. */
                pending: number;
            }[];
        };
        ChannelTest: {
            delivered: boolean;
            /** @description Why it was not. */
            error?: string;
        };
        /** @description What a worker is handed with a run. */
        Claim: {
            attempt: number;
            checkpoint?: components["schemas"]["Any"];
            input: components["schemas"]["Any"];
            lease: components["schemas"]["ClaimedLease"];
            resume?: components["schemas"]["Resume"];
            run: components["schemas"]["RunView"];
        };
        ClaimRun: {
            lease_ms?: components["schemas"]["LeaseMs"];
            worker_id: components["schemas"]["ID"];
        };
        ClaimRuns: {
            /** @description The agents whose runs are wanted; all when empty or absent. A caller of role agent must name them, unless its token is bound to some. */
            agent_ids?: components["schemas"]["ID"][];
            lease_ms?: components["schemas"]["LeaseMs"];
            /** @default 1 */
            max_runs?: number;
            /**
             * @description How long the reply is held while there is nothing to do.
             * @default 0
             */
            wait_ms?: number;
            worker_id: components["schemas"]["ID"];
        };
        ClaimedLease: {
            expires_at_ms: components["schemas"]["TimeMs"];
            /** @description Every later call of the holder shows it. */
            fence: components["schemas"]["Sequence"];
            worker_id: components["schemas"]["ID"];
        };
        ClaimsReply: {
            claims: components["schemas"]["Claim"][];
        };
        /** @description What became of a question to the parent's session. */
        ClarificationAnswer: {
            answers: components["schemas"]["LabelledAnswer"][];
            declined: boolean;
            justification: string | null;
            request_id: components["schemas"]["ID"];
            /** @description What the worker's runtime gets for an answer on another face, in that face's own words. */
            runtime_payload?: components["schemas"]["Any"];
            /** @description One line a question: `question: labels or text`. */
            summary: string;
            /** @description Where in a trace the question was asked, as in the question itself. Absent when the call was in none. */
            traceparent?: string;
            value?: components["schemas"]["Any"];
        };
        Complete: {
            fence: components["schemas"]["Sequence"];
            output?: components["schemas"]["Any"];
        };
        CreateRun: {
            actor_id?: string;
            /** @description The session's when absent. */
            agent_id?: components["schemas"]["ID"];
            /** @description The caller runs it itself; the reply is a Claim. */
            claim?: {
                lease_ms?: components["schemas"]["LeaseMs"];
                worker_id: components["schemas"]["ID"];
            };
            /** @description Another name of `input`. */
            content?: components["schemas"]["Any"];
            idempotency_key?: components["schemas"]["IdempotencyKey"];
            input?: components["schemas"]["Any"];
            /**
             * @description `input` when absent. A `call` needs `suspend`.
             * @enum {string}
             */
            kind?: "input" | "call";
            metadata?: components["schemas"]["Metadata"];
            run_id?: components["schemas"]["ID"];
            /** @description Labels the session. Members given here replace the session's, absent ones stay. A repeated call does not change the session again. */
            session?: components["schemas"]["SessionAbout"];
            /** @description A new session is made when absent. */
            session_id?: components["schemas"]["ID"];
            source_kind?: string;
            source_plugin?: string;
            /** @description The run waits at once; the reply is the RunView, or with `hold` the Claim. */
            suspend?: components["schemas"]["Suspension"];
        } & (unknown | unknown);
        CreateSession: {
            /** @description `default` when absent. */
            agent_id?: components["schemas"]["ID"];
            idempotency_key?: components["schemas"]["IdempotencyKey"];
            metadata?: components["schemas"]["Metadata"];
            parent_session_id?: components["schemas"]["ID"];
            session_id?: components["schemas"]["ID"];
        };
        CreateSessionRun: {
            /** @description The caller when absent. */
            actor_id?: string;
            /** @description The session's when absent. */
            agent_id?: components["schemas"]["ID"];
            /** @description Another name of `input`. */
            content?: components["schemas"]["Any"];
            idempotency_key?: components["schemas"]["IdempotencyKey"];
            input?: components["schemas"]["Any"];
            /** @enum {string} */
            kind?: "input";
            metadata?: components["schemas"]["Metadata"];
            run_id?: components["schemas"]["ID"];
            /** @description `api` when absent. */
            source_kind?: string;
            /** @description `daemon` when absent. */
            source_plugin?: string;
        } & (unknown | unknown);
        CreateStreamTicket: {
            /** @description That of a stream, as `/v1/runs/{run_id}/stream`. */
            path: string;
        };
        CreateToken: {
            /** @description The token reaches only sessions and runs of these agents. Refused for an admin. */
            agent_ids?: components["schemas"]["ID"][] | null;
            /**
             * Format: int64
             * @description Counts from now.
             */
            expires_after_ms?: number;
            /**
             * Format: int64
             * @description Not together with expires_after_ms.
             */
            expires_at_ms?: number;
            groups?: string[];
            /** @description `X-Actor` is recorded as the person who decided, together with the principal. */
            may_act_for?: boolean;
            /** @description An operator may write rules of all sessions. */
            may_always?: boolean;
            name: string;
            /** @description The person whose token it is. Decisions name the person as `resolved_by` and the principal as `via_principal`, and `exclude_requester` treats the two as one. Not together with `may_act_for`. */
            on_behalf_of?: string;
            /** @description `agent:` or `user:` and the name when absent; required if the name has other characters. */
            principal?: components["schemas"]["Principal"];
            role: components["schemas"]["Role"];
            /** @description The token reaches only sessions whose id begins with one of these, of 100 characters at most. Refused for an admin. */
            session_prefixes?: components["schemas"]["ID"][] | null;
        };
        DecisionPage: {
            items: components["schemas"]["RequestView"][];
            pagination: components["schemas"]["Pagination"];
        };
        /** @description The answer to a question that nobody answered in time, only with `at_deadline: answer`. It is checked like an answer by a person. Not for sensitive questions. */
        DefaultAnswer: {
            answers?: components["schemas"]["UserQuestionAnswer"][];
            value?: components["schemas"]["Any"];
        };
        EffectPage: {
            items: components["schemas"]["EffectView"][];
            pagination: components["schemas"]["Pagination"];
        };
        /**
         * @description `failed`: given up; an admin may have it tried again.
         * @enum {string}
         */
        EffectState: "pending" | "done" | "failed";
        /** @description A delivery from a decision in one session to another session. */
        EffectView: {
            /** @description The agent of the session. Absent if you cannot read the session. */
            agent_id?: components["schemas"]["ID"];
            attempts: number;
            created_at_ms: components["schemas"]["TimeMs"];
            /** @description When the next attempt is due; absent if the effect is not pending. */
            due_at_ms?: components["schemas"]["TimeMs"];
            effect_id: components["schemas"]["ID"];
            /** @description When it was done or given up. */
            finished_at_ms?: components["schemas"]["TimeMs"];
            /**
             * @description `open_clarification` brings a question to the parent's session, `deliver_answer` its answer to the child's; `review_approval` shows an approval to the review hook; `drain_session` ends what was left of a session that was ended or interrupted; `cancel_abandoned` watches over a worker that may be gone; `deliver_webhook` posts an event to a webhook, or what became of a request to its callback; `advance_request` tells people of a request that is open for a while; `notify` sends a message to a person.
             * @enum {string}
             */
            kind: "open_clarification" | "deliver_answer" | "review_approval" | "drain_session" | "cancel_abandoned" | "deliver_webhook" | "advance_request" | "notify";
            /** @description Of the last attempt that failed. */
            last_error?: string;
            /** @description The run of the decision. */
            run_id: components["schemas"]["ID"];
            /** @description Absent if the session has no name or you cannot read it. */
            session?: components["schemas"]["SessionAbout"];
            /** @description The session of the decision. */
            session_id: components["schemas"]["ID"];
            state: components["schemas"]["EffectState"];
            /** @description The agent of the target, if that is another session that you can read. */
            target_agent_id?: components["schemas"]["ID"];
            /** @description As `session`, of a target that is another session. */
            target_session?: components["schemas"]["SessionAbout"];
            /** @description The session in which it takes place. */
            target_session_id: components["schemas"]["ID"];
            /** @description The webhook that it posts to, `callback` for the callback of a request, `notify.` and the channel for a message to a person; absent when it posts nowhere. */
            webhook_id?: components["schemas"]["ID"];
        };
        /** @description What happens while a request is open. Without `steps`, everyone who may decide is notified once. */
        Escalation: {
            /**
             * @description What the deadline does, with outcome `expired`. Approvals: `deny` (default) or `keep`. Questions: `cancel_run` (default), `decline`, `answer` with `default_answer` (the run continues with either), or `keep`. `keep` leaves the request open, and people may still decide. No deadline allows.
             * @enum {string}
             */
            at_deadline?: "deny" | "cancel_run" | "decline" | "answer" | "keep";
            readonly by_rule?: components["schemas"]["EscalationRule"];
            /** @description A calendar of the service, whose working time counts for the steps. Needs `steps`. Without it, all time counts. */
            calendar?: string;
            default_answer?: components["schemas"]["DefaultAnswer"];
            /** @description An escalation of the service, of which the request gets a copy. With it, no other member is given in a request. */
            name?: string;
            /** @description In the order of `after_ms`. At most 100 messages are sent about a request, to all people together. A service that notifies nobody ignores them. */
            steps?: components["schemas"]["EscalationStep"][];
        };
        /** @description The standing rule whose escalation the request has, instead of its own. The service sets it. */
        EscalationRule: {
            /** @description The escalation that the rule names, if the service did not have it when the request was raised. The default escalation applies instead. */
            missing_name?: string;
            rule_id: components["schemas"]["ID"];
        };
        /** @description Notifies people while the request is open. */
        EscalationStep: {
            /**
             * Format: int64
             * @description Counts from when the request was raised. Default 0.
             */
            after_ms?: number;
            /** @description People who may decide as well from the moment the step is done, with the selectors of `notify`. It grants neither a role nor reach. It does not lift `exclude_requester`. Requests cannot name their deciders yet, so it adds nobody. */
            also_from?: string[];
            /**
             * Format: int64
             * @description Repeats the step.
             */
            every_ms?: number;
            /** @description `user:NAME` (a principal), `group:NAME`, `role:operator` or `role:admin`, as the credentials say when the step is due, or `oncall:NAME`, those whom this on-call source of the service then names. Only people who may decide the request get a message. */
            notify: string[];
            /**
             * Format: int64
             * @description How often the step notifies in all, with `every_ms`. When absent, until the request is settled or has had 100 messages.
             */
            times?: number;
            /** @description Ignores the calendar and quiet hours. */
            urgent?: boolean;
        };
        EventsReply: {
            last_event_id: components["schemas"]["Sequence"];
        };
        ExplainRules: {
            agent_id?: components["schemas"]["ID"];
            /** @description Handles of requests. Each of the `choices` says which of them its rule would have decided, had it been there when they were raised. Others than open approvals, those with sensitive values, and what cannot be read within a second and 4 MiB are left out. */
            also?: string[];
            /** @description The directory of the call. */
            directory?: string;
            /**
             * @description Of the decision whose rules `remember` shows.
             * @default allow
             * @enum {string}
             */
            effect?: "allow" | "deny";
            input: components["schemas"]["Any"];
            /** @description The `input_digest` of the approval. Required with `sensitive_paths`, and ignored without. */
            input_digest?: string;
            pattern_keys?: string[];
            /**
             * Format: int64
             * @description How long the rules that `remember` shows would last, in ms; 0 for no expiry; if absent as long as the session, or 30 days for all sessions.
             */
            remember_for_ms?: number;
            /** @description The `sensitive_paths` of an approval whose `input` shows `{"sensitive": true}` in the place of values. `remember` then has the rules that a decision about this approval can write: for exactly this input, by its digest, and for the tool. */
            sensitive_paths?: string[];
            /** @description Without it only the rules for all sessions are asked. */
            session_id?: components["schemas"]["ID"];
            tool_call_id?: string;
            tool_name: string;
        };
        /**
         * @description Why a run or a request does not go on. Of a request: `settled`, `waiting_for_people`, or `nobody_can_decide` when a person has to decide and nobody may. Of a run: `over`, the two for open requests, `waiting_for_parent`, `queued_behind_run`, `no_worker` (it can be claimed, and no worker has claimed it), `delayed` (it failed, and can be claimed after a pause), `held` by a worker, or `stuck`.
         *
         * @enum {string}
         */
        ExplainState: "settled" | "over" | "waiting_for_people" | "nobody_can_decide" | "waiting_for_parent" | "queued_behind_run" | "no_worker" | "delayed" | "held" | "stuck";
        /** @description Whether an allow or an answer of the caller would be accepted now. */
        ExplainedCaller: {
            /** @description The code of the refusal, such as `forbidden` or `requester_excluded`. */
            code?: string;
            may_decide: boolean;
        };
        /** @description The next step of the request's escalation. */
        ExplainedNext: {
            at_ms: components["schemas"]["TimeMs"];
            /** @enum {string} */
            does: "notify";
            step: number;
            /** @description The selectors of the step. */
            who: string[];
        };
        ExplainedNotReached: {
            /** @description A principal or a selector of the step. */
            who: string;
            /**
             * @description As in the event `request_notified`. `nobody`: the selector fits nobody who may decide.
             * @enum {string}
             */
            why_not: "no_address" | "may_not_decide" | "too_many_messages" | "on_call_failed" | "nobody_on_call" | "nobody";
        };
        ExplainedNotice: {
            /** @description With `pending`: the message waits while the person is looking at their inbox. */
            at_inbox?: boolean;
            /** @description When the state began. */
            at_ms: components["schemas"]["TimeMs"];
            attempts: number;
            channel: string;
            /** @description The error of the last attempt. Only an admin sees the reason. */
            error?: string;
            /** @description When the next attempt may start. */
            next_at_ms?: components["schemas"]["TimeMs"];
            /** @description The channel of the next address, with `moved`. */
            next_channel?: string;
            /**
             * @description `failed`: the service gave up, and the person has no other address. `moved`: it gave up at this address, and the message goes to the next one. `withdrawn`: the channel has put the outcome in the place of the message, or removed it, because the request was settled. `skipped`: there was no message of its own: because of a flood another one counts it, a newer one took its place, or the person could no longer decide.
             * @enum {string}
             */
            state: "pending" | "sent" | "failed" | "moved" | "withdrawn" | "skipped";
            /** @description A principal. */
            who: string;
        };
        ExplainedRule: {
            applies: boolean;
            effect: components["schemas"]["RuleEffect"];
            rule_id: components["schemas"]["ID"];
            text: string;
            why_not?: string;
        };
        ExplainedRun: {
            explain?: components["schemas"]["RunExplanation"];
            run_id: components["schemas"]["ID"];
            status: components["schemas"]["RunStatus"];
        };
        Explanation: {
            /**
             * @description `ask` if no rule applies, too.
             * @enum {string}
             */
            decision: "allow" | "ask" | "deny";
            /** @description The text of the rule that an allow with `remember` would write for this call. */
            remember?: {
                always?: string;
                /** @description The rules that the decision can write for this call, by `remember_as`; the narrowest first. */
                choices?: components["schemas"]["RememberChoice"][];
                /** @description Of either rule, which match the same calls. */
                examples?: components["schemas"]["RuleExamples"];
                /** @description Only with `session_id`. */
                session?: string;
            };
            rules: {
                applies: boolean;
                effect: components["schemas"]["RuleEffect"];
                rule_id: components["schemas"]["ID"];
                text: string;
                why_not?: string;
            }[];
        };
        Fail: {
            error: string;
            fence: components["schemas"]["Sequence"];
        };
        Fault: {
            detail: string;
            /** @description RFC 6901 pointer of the member. */
            pointer: string;
        };
        /** @description Of an allowed approval, whose holder may do what was approved: a compact JWS (EdDSA, `typ` `holdpoint-grant+jwt`), which only the holder of the fence is shown, in claims, in `…/resume` and in a suspension that was allowed at once, until it was redeemed. Everywhere else an object. docs/security.md has the claims. */
        Grant: string | {
            /**
             * Format: int64
             * @description The end of the run's lease in seconds since the epoch; absent while nobody has one.
             */
            exp?: number;
            /** @description The fence of the claim under which it was redeemed. */
            fence?: string;
            /** @description The handle of the approval, in every claim the same. */
            jti: string;
            /** @description When a worker was about to do it, absent until then. A worker that finds it in its claim must find out what ran. */
            redeemed_at_ms?: components["schemas"]["TimeMs"];
            /** @description The principal of that worker. */
            redeemed_by?: string;
        };
        Heartbeat: {
            checkpoint?: components["schemas"]["Any"];
            fence: components["schemas"]["Sequence"];
            lease_ms?: components["schemas"]["LeaseMs"];
            settled_after?: string;
        };
        HeartbeatReply: {
            /** @description The run was cancelled or interrupted; stop. */
            cancel_requested: boolean;
            expires_at_ms: components["schemas"]["TimeMs"];
        };
        /** @description A lease in force, and the run that is held. */
        HeldLease: {
            agent_id: components["schemas"]["ID"];
            attempt?: number;
            /** @description When the lease ends, unless there is a heartbeat. */
            expires_at_ms: components["schemas"]["TimeMs"];
            /** @description Whose credential the run was claimed with. */
            holder_principal?: string;
            run_id: components["schemas"]["ID"];
            /** @description Absent if the session has no name or you cannot read it. */
            session?: components["schemas"]["SessionAbout"];
            session_id: components["schemas"]["ID"];
            /** @description When the run was claimed first. */
            started_at_ms?: components["schemas"]["TimeMs"];
            status: components["schemas"]["RunStatus"];
            /** @description When the run last changed: a heartbeat, an event, or a decision about it. */
            updated_at_ms: components["schemas"]["TimeMs"];
        };
        /** @description A remark for the person who decides, of the agent's side or of a standing rule. The service decides nothing by it. */
        Hint: {
            /** @enum {string} */
            level: "info" | "warn" | "danger";
            /** @description The rule that made it; absent for the agent's side. Refused from a caller. */
            readonly rule_id?: components["schemas"]["ID"];
            /** @description In bytes. */
            text: string;
        };
        /** @description An opaque id. */
        ID: string;
        /** @description The key of this call; see "Idempotency". */
        IdempotencyKey: string;
        /** @description What is open in all sessions, the oldest first. */
        InboxView: {
            /** @description How many approvals are open in all, even if `more` is true. */
            approvals_count: number;
            /** @description True when others are open, which the lists have. */
            more?: boolean;
            /** @description The moment of the view by the service's clock. */
            now_ms: components["schemas"]["TimeMs"];
            pending_approvals: components["schemas"]["PendingApprovalView"][];
            pending_questions: components["schemas"]["PendingQuestionView"][];
            questions_count: number;
        };
        /** @description The SHA-256 of the RFC 8785 form of the input, as in `match.input_digest` of a rule. */
        InputDigest: string;
        InterruptReply: {
            /** @description Whether a run was active or a parent clarification waited. */
            interrupted: boolean;
            session: components["schemas"]["SessionView"];
            snapshot: components["schemas"]["SessionSnapshot"];
        };
        Issuer: {
            /** @description Its host. */
            name?: string;
            /** @description Where a browser begins, with `return_to` in the query. */
            start_path?: string;
        };
        KeySet: {
            /** @description The replica that answers signs with a key that is lost when it ends, because it has no `--signing-key-file`. Do not pin it. Absent for `false`. */
            ephemeral?: boolean;
            keys: components["schemas"]["PublicKey"][];
        };
        LabelledAnswer: {
            freeform_answer?: string;
            header: string;
            question: string;
            question_id: string;
            selected_option_ids: string[];
            selected_options: components["schemas"]["QuestionOption"][];
            /** @description There is an answer, which is not shown here. */
            sensitive?: boolean;
        };
        /** @description A lease as everybody may see it, without its fence. */
        Lease: {
            expires_at_ms: components["schemas"]["TimeMs"];
            /** @description Whose credential the run was claimed with. */
            holder_principal?: string;
            worker_id: components["schemas"]["ID"];
        };
        /**
         * Format: int64
         * @description How long the lease lasts, in ms; 30,000 when absent.
         */
        LeaseMs: number;
        Me: {
            /** @description Absent for no bound. */
            agent_ids?: string[];
            expires_at_ms?: components["schemas"]["TimeMs"];
            groups: string[];
            /** @description The person whose token it is; absent for none. Decisions are recorded under this name. */
            on_behalf_of?: string;
            principal: string;
            role: components["schemas"]["Role"];
            /** @description Absent for no bound. */
            session_prefixes?: string[];
            token_id?: components["schemas"]["ID"];
            /**
             * @description How that is known; `session` for a browser that is signed in, `oidc` for an ID token, `certificate` for that of a client, `open` where no credential is asked for.
             * @enum {string}
             */
            via: "token" | "session" | "oidc" | "certificate" | "open";
        };
        /** @description A message to a session. */
        MessageView: {
            created_at_ms: components["schemas"]["TimeMs"];
            /** @description How often it was read since it was delivered or replayed. */
            delivery_attempts: number;
            from_session_id: components["schemas"]["ID"];
            /** @description Why it is a dead letter. */
            last_error?: string;
            message_id: components["schemas"]["ID"];
            /** @description Of `clarification_answer`: `type`, which is `parent_clarification_answer`, and the members of ClarificationAnswer. */
            payload: components["schemas"]["Any"];
            /** @enum {string} */
            state: "pending" | "dead_letter";
            /** @description `clarification_answer` for the answer of a parent's session. */
            subject: string;
        };
        /** @description Anything the caller wants to find again. */
        Metadata: {
            [key: string]: unknown;
        };
        /** @description Nothing is read from it. */
        Nothing: {
            [key: string]: unknown;
        };
        /** @enum {string} */
        Outcome: "allowed" | "denied" | "answered" | "declined" | "cancelled" | "expired";
        OutputEntry: {
            content: string;
            created_at_ms: components["schemas"]["TimeMs"];
            /** @description The number in the session's log, as decimal text. */
            event_id: string;
            parts?: components["schemas"]["Any"][];
            /** @description The content was taken out. */
            redacted?: boolean;
            run_id: components["schemas"]["ID"];
            session_id: components["schemas"]["ID"];
        };
        OutputPage: {
            items: components["schemas"]["OutputEntry"][];
            /** @description The `after` of the next page; null on the last. */
            next_after: string | null;
        };
        OutputRecord: {
            content: string;
            created_at_ms: components["schemas"]["TimeMs"];
            parts?: components["schemas"]["Any"][];
            /** @description The content was taken out. */
            redacted?: boolean;
            run_id: components["schemas"]["ID"];
            session_id: components["schemas"]["ID"];
        };
        Pagination: {
            has_more: boolean;
            limit: number;
            next_cursor: string | null;
            order: string;
            total_count: number;
        };
        /** @description The approval that is open now, for `approval_changed`. */
        PendingApprovalRef: {
            handle: string;
            input_digest: components["schemas"]["InputDigest"];
            request_id: components["schemas"]["ID"];
        };
        PendingApprovalView: {
            /** @description Who is looking at the open request, oldest first. Those whose `until_ms` has passed may still be listed. */
            acknowledgement?: components["schemas"]["Acknowledgement"][];
            agent_id: components["schemas"]["ID"];
            explain?: components["schemas"]["PendingExplanation"];
            /** @description Whether an allow or an answer by this caller would be accepted now, as of the read. Absent in the view of a session, for a caller with an invalid `X-Actor`, when the read took too long or, for a snapshot, failed, and of an approval that excludes its requesters in a session with more than seven others above it, or after 4 MiB of requesters. */
            may_decide?: boolean;
            /** @description The parent of the session, when a child session asks. */
            parent_session_id?: components["schemas"]["ID"];
            request: components["schemas"]["ApprovalRequest"];
            run_id: components["schemas"]["ID"];
            session?: components["schemas"]["SessionAbout"];
            session_id: components["schemas"]["ID"];
            /** @description Until when the caller snoozes the request, for the caller only. It may have passed. */
            snoozed_until_ms?: components["schemas"]["TimeMs"];
        };
        /** @description What to know about an open request besides its deadline, in one line. The lists of requests have it where there is something to say; the stream and a session's view do not. */
        PendingExplanation: {
            next?: components["schemas"]["ExplainedNext"];
            /** @description Set if a decision would wait for a worker: none has asked for runs of the agent since then, and none has one. It is absent when a worker is there, when the run needs none, and when that is not known, for example because the worker may ask another replica. */
            no_worker_since_ms?: components["schemas"]["TimeMs"];
            /** @description The people to whom the steps of the escalation have written. The explanation of the request says whether a message has arrived. */
            notified?: string[];
            /** @description The line in English. */
            text: string;
        };
        PendingQuestionView: {
            /** @description Who is looking at the open request, oldest first. Those whose `until_ms` has passed may still be listed. */
            acknowledgement?: components["schemas"]["Acknowledgement"][];
            agent_id: components["schemas"]["ID"];
            explain?: components["schemas"]["PendingExplanation"];
            /** @description Whether an allow or an answer by this caller would be accepted now, as of the read. Absent in the view of a session, for a caller with an invalid `X-Actor`, when the read took too long or, for a snapshot, failed, and of an approval that excludes its requesters in a session with more than seven others above it, or after 4 MiB of requesters. */
            may_decide?: boolean;
            parent_channel_ids?: string[];
            parent_project_ids?: string[];
            /** @description The parent of the session, when a child session asks. Absent in a session's own view. */
            parent_session_id?: components["schemas"]["ID"];
            request: components["schemas"]["UserQuestionRequest"];
            /** @description Of a parent clarification: who asks. The members below are the same. */
            requester_agent_id?: components["schemas"]["ID"];
            requester_channel_ids?: string[];
            requester_project_ids?: string[];
            requester_run_id?: components["schemas"]["ID"];
            requester_session_id?: components["schemas"]["ID"];
            requester_tool_call_id?: string;
            run_id?: components["schemas"]["ID"];
            run_kind?: components["schemas"]["RunKind"];
            /** @description Absent in a session's own view. */
            session?: components["schemas"]["SessionAbout"];
            session_id: components["schemas"]["ID"];
            /** @description Until when the caller snoozes the request, for the caller only. It may have passed. */
            snoozed_until_ms?: components["schemas"]["TimeMs"];
        };
        PresenceBody: {
            /** @description The handle of the request that the caller has open, with `visible: true`; empty for none. Absent leaves what a call before said. */
            viewing?: string;
            visible: boolean;
        };
        /** @description Who calls. */
        Principal: string;
        Problem: {
            /**
             * @description The stable name of the error.
             * @enum {string}
             */
            code: "bad_request" | "route_not_found" | "method_not_allowed" | "id_conflict" | "payload_too_large" | "unsupported_media_type" | "invalid_request" | "internal_error" | "service_unavailable" | "origin_not_allowed" | "host_not_allowed" | "unauthenticated" | "invalid_token" | "forbidden" | "requester_excluded" | "requester_exclusion_needs_auth" | "token_not_found" | "token_state_conflict" | "last_admin_token" | "sign_in_failed" | "no_issuer" | "issuer_unavailable" | "webhook_not_found" | "too_many_webhooks" | "address_not_found" | "too_many_addresses" | "too_many_codes" | "address_code_wrong" | "address_taken" | "channel_not_found" | "channel_unknown" | "channel_unavailable" | "link_not_found" | "link_code_wrong" | "rate_limited" | "too_many_calls" | "too_many_streams" | "too_many_bytes" | "too_many_prompts" | "too_many_queued_runs" | "too_many_stored_bytes" | "storage_reserved" | "session_not_found" | "session_busy" | "session_ended" | "no_parent_session" | "queue_full" | "questions_full" | "mailbox_full" | "run_not_found" | "request_not_found" | "request_settled" | "run_state_conflict" | "event_needed" | "run_not_claimable" | "lease_lost" | "suspension_too_large" | "append_too_large" | "secrets_not_configured" | "approval_state_conflict" | "approval_batch_empty" | "approval_duplicate_resolution" | "approval_request_not_pending" | "approval_changed" | "invalid_grant" | "grant_mismatch" | "grant_expired" | "grant_redeemed" | "question_state_conflict" | "question_expired" | "question_resolution_conflict" | "question_request_mismatch" | "question_declined_with_answers" | "question_duplicate_answer" | "question_answer_missing" | "question_single_select_violation" | "question_duplicate_option" | "question_option_not_found" | "question_answer_empty" | "question_unknown_answer" | "rule_not_found" | "too_many_rules" | "message_not_found" | "effect_not_found" | "invalid_idempotency_key" | "idempotency_conflict" | "invalid_limit" | "invalid_filter" | "invalid_cursor" | "invalid_event_cursor" | "event_cursor_reset";
            /** @description One sentence about this occurrence. */
            detail: string;
            /** @enum {string} */
            domain: "api" | "cors" | "auth" | "webhooks" | "notifications" | "limits" | "sessions" | "runs" | "approvals" | "grants" | "questions" | "rules" | "mailbox" | "effects" | "idempotency" | "pagination" | "events";
            /** @description The members at fault, for `invalid_request` and `append_too_large`. */
            errors?: components["schemas"]["Fault"][];
            /** @description The oldest event of the session that is kept, for `event_cursor_reset`. */
            first_kept_event_id?: string;
            /** @description How many tries of the code are left, for `address_code_wrong`, and for `link_code_wrong` after a wrong code. */
            left?: number;
            pending_approval?: components["schemas"]["PendingApprovalRef"];
            recorded_decision?: components["schemas"]["RecordedDecision"];
            redemption?: components["schemas"]["Redemption"];
            status: number;
            title: string;
            type: string;
        };
        /** @description A JWK (RFC 8037) of an Ed25519 key. */
        PublicKey: {
            /** @enum {string} */
            alg: "EdDSA";
            /** @enum {string} */
            crv: "Ed25519";
            /** @description The RFC 7638 thumbprint of the key. */
            kid: string;
            /** @enum {string} */
            kty: "OKP";
            /** @enum {string} */
            use: "sig";
            /** @description The key in base64url. */
            x: string;
        };
        PushBody: {
            /** @description The URL of the browser at its push service. */
            endpoint: string;
            keys: {
                /** @description A secret of 16 bytes in base64url. */
                auth: string;
                /** @description The public key of the browser: 65 bytes in base64url. */
                p256dh: string;
            };
        };
        PushView: {
            /** @description Their `address` is the endpoint. */
            data: components["schemas"]["Address"][];
            /** @description Absent when the service cannot send to browsers. */
            public_key?: string;
        };
        QuestionOption: {
            description?: string;
            /** @description `option-N` when absent. */
            id?: string;
            /** @description The id when absent. */
            label?: string;
            preview?: string;
        };
        QuestionPage: {
            items: components["schemas"]["PendingQuestionView"][];
            pagination: components["schemas"]["Pagination"];
        };
        /** @description Times of the day at which a person gets no messages. */
        QuietHours: {
            from: string;
            /** @description When it is before `from`, on the next day. It must differ from `from`. */
            to: string;
            /** @description The name of a time zone, such as `Europe/Berlin`. */
            zone: string;
        };
        QuietHoursView: {
            quiet_hours?: components["schemas"]["QuietHours"];
        };
        Reason: {
            reason?: string;
        };
        /** @description What was recorded for a question, as it was given. */
        RecordedAnswer: {
            answers?: components["schemas"]["UserQuestionAnswer"][];
            declined: boolean;
            justification?: string;
            outcome: components["schemas"]["Outcome"];
            reason?: string;
            request_id: components["schemas"]["ID"];
            resolved_at_ms: components["schemas"]["TimeMs"];
            resolved_by: string;
            runtime_payload?: components["schemas"]["Any"];
            value?: components["schemas"]["Any"];
            via: components["schemas"]["Via"];
            /** @description Whose credential it was, when that acted for `resolved_by`. */
            via_principal?: string;
        };
        /** @description What was recorded for the request before this call came. */
        RecordedDecision: {
            outcome: components["schemas"]["Outcome"];
            request_id: components["schemas"]["ID"];
            resolved_at_ms: components["schemas"]["TimeMs"];
            resolved_by: string;
            via: components["schemas"]["Via"];
            /** @description Whose credential it was, when that acted for `resolved_by`. */
            via_principal?: string;
        };
        /** @description Either `event_ids` or `before_ms`. */
        Redact: {
            /** @description With `before_ms`: only events after this one. */
            after_event_id?: string;
            /**
             * Format: int64
             * @description The events before the first one at or after this moment, 200 in a call.
             */
            before_ms?: number | null;
            /** @description Numbers of events of the session. */
            event_ids?: string[] | null;
            /** @description On record in the audit's own log. */
            reason: string;
        };
        Redacted: {
            next_after_event_id: string | null;
            /**
             * Format: int64
             * @description How many of the events of the call have no body now, those that had none before among them: a repeated call has the same answer.
             */
            redacted: number;
        };
        RedeemGrant: {
            /** @description The JWS, at most 64 KiB. */
            grant: string;
            idempotency_key?: components["schemas"]["IdempotencyKey"];
            /** @description Of the input that is about to run: the SHA-256 of its RFC 8785 form. */
            input_digest: string;
        };
        /** @description The one time that a grant was redeemed; in a problem with `grant_redeemed` the first. */
        Redemption: {
            /** @description The fence of the claim under which it was redeemed. */
            fence: string;
            jti: string;
            redeemed_at_ms: components["schemas"]["TimeMs"];
            /** @description The principal of the worker. */
            redeemed_by: string;
            request_id: components["schemas"]["ID"];
            run_id: components["schemas"]["ID"];
        };
        Release: {
            /** @description How many attempts have failed, this one included; one more than before when absent. It needs `last_error`. */
            attempt?: number;
            checkpoint?: components["schemas"]["Any"];
            /** @description How long nobody can claim the run. */
            delay_ms?: number;
            fence?: components["schemas"]["Sequence"];
            /** @description Why the handler failed, when the run is to be retried. */
            last_error?: string;
            settled_after?: string;
        };
        RememberChoice: {
            /** @description Of `prefix`: the words with which the commands start. Of `folder`: the folder, with a slash at its end. */
            about?: string;
            /** @description The handles of the body's `also` whose call the rule would have decided in its session: open approvals that the caller can read. Absent when there is none. */
            also?: string[];
            /** @description The text of the rule for all sessions. Absent when there is none. */
            always?: string;
            /**
             * @description The `remember_as` of the decision.
             * @enum {string}
             */
            as: "exact" | "command" | "prefix" | "folder" | "tool";
            examples?: components["schemas"]["RuleExamples"];
            /** @description The text of the rule for this session. Only with `session_id`. */
            session?: string;
        };
        RequestExplanation: {
            /** @description Who is looking at the open request now, oldest first. */
            acknowledgement?: components["schemas"]["Acknowledgement"][];
            /** @description The service asks nobody for a credential. */
            anyone?: boolean;
            /** @description Of an open request. */
            deadline?: {
                at_ms: components["schemas"]["TimeMs"];
                /**
                 * @description As `at_deadline` of the escalation says. Without one: `deny` for an approval, `decline` for a question of a sub-agent, `cancel_run` for other questions.
                 * @enum {string}
                 */
                does: "deny" | "decline" | "cancel_run" | "answer" | "keep";
            };
            /** @description The standing rule whose escalation the open request has. */
            escalated_by?: components["schemas"]["EscalationRule"];
            handle: components["schemas"]["ID"];
            /** @enum {string} */
            kind: "approval" | "question";
            /** @description The principals with a credential that works whose allow or answer would be accepted now, sorted. Empty for a settled request, and with `anyone`. */
            may_decide: string[];
            /** @description How many others there are. */
            may_decide_more?: number;
            next?: components["schemas"]["ExplainedNext"];
            /** @description Set if a decision would wait for a worker, as in a list. */
            no_worker_since_ms?: components["schemas"]["TimeMs"];
            /** @description Whom the steps of the escalation selected, and who got no message since. Without an escalation, who may decide and has no verified address, once people were to be notified. */
            not_reached?: components["schemas"]["ExplainedNotReached"][];
            /** @description The notifications of people about the request, by the channels of the replica that answers. They have no addresses. Of a settled request there are no pending ones. */
            notified?: components["schemas"]["ExplainedNotice"][];
            /** @description When people will be notified of the request, at the earliest after an acknowledgement has lapsed. */
            notify_at_ms?: components["schemas"]["TimeMs"];
            /** @description The moment of the explanation by the service's clock. */
            now_ms: components["schemas"]["TimeMs"];
            request_id: components["schemas"]["ID"];
            /** @description The standing rules about the tool and the input of an open approval, those that apply first, then the newest. Absent for a request with sensitive values, and with more than 10,000 rules or 8 MiB of them. */
            rules?: components["schemas"]["ExplainedRule"][];
            /** @description How many other such rules there are. */
            rules_more?: number;
            run_id: components["schemas"]["ID"];
            session_id: components["schemas"]["ID"];
            /** @description When the state began. */
            since_ms: components["schemas"]["TimeMs"];
            /** @description Until when the caller snoozes the request, for the caller only. It may have passed. */
            snoozed_until_ms?: components["schemas"]["TimeMs"];
            state: components["schemas"]["ExplainState"];
            /** @description The explanation in English. */
            text: string;
            you?: components["schemas"]["ExplainedCaller"];
        };
        /** @description An approval or a question, open or settled, with its context. */
        RequestView: {
            /** @description Who is looking at the open request, oldest first. Those whose `until_ms` has passed may still be listed. */
            acknowledgement?: components["schemas"]["Acknowledgement"][];
            agent_id: components["schemas"]["ID"];
            /** @description With `context`: settled requests of the session, oldest first, fewer when they have more than 256 KiB. Inputs are cut as in a summary; schemas, pattern keys and metadata are left out. Absent when the read took too long. */
            context?: components["schemas"]["RequestView"][];
            /** @enum {string} */
            kind: "approval" | "question";
            /** @description Only of an open request: whether an allow or an answer by this caller would be accepted now. */
            may_decide?: boolean;
            parent_channel_ids?: string[];
            parent_project_ids?: string[];
            /** @description The parent of the session, when a child session asks. */
            parent_session_id?: components["schemas"]["ID"];
            recorded_decision?: components["schemas"]["RecordedDecision"];
            request: components["schemas"]["ApprovalRequest"] | components["schemas"]["UserQuestionRequest"];
            /** @description Of a parent clarification: who asks. The members below are the same. */
            requester_agent_id?: components["schemas"]["ID"];
            requester_channel_ids?: string[];
            /** @description Only in `GET /v1/requests/{handle}` and the reply of its acknowledgement, of an open approval: an allow by this caller would be refused with `requester_excluded`. The caller may deny. */
            requester_excluded?: {
                /** @description Why, for a person. */
                detail: string;
            };
            requester_project_ids?: string[];
            requester_run_id?: components["schemas"]["ID"];
            requester_session_id?: components["schemas"]["ID"];
            requester_tool_call_id?: string;
            resolution?: components["schemas"]["Resolution"] | components["schemas"]["RecordedAnswer"];
            run: {
                kind: components["schemas"]["RunKind"];
                run_id: components["schemas"]["ID"];
                status: components["schemas"]["RunStatus"];
            };
            run_id: components["schemas"]["ID"];
            /** @description Only in `GET /v1/requests/{handle}` of an open approval: how many other open approvals have its tool and input, of those that the caller can read; 100 for 100 or more. Among the first 10,000 open approvals and 8 MiB. Absent when the count took too long. */
            same_as_open?: number;
            session?: components["schemas"]["SessionAbout"];
            session_id: components["schemas"]["ID"];
            /** @description Until when the caller snoozes the request, for the caller only. It may have passed. */
            snoozed_until_ms?: components["schemas"]["TimeMs"];
        };
        /** @description What was recorded for an approval: the decision as it was given, and who made it, when and by what way. */
        Resolution: {
            behavior: components["schemas"]["Behavior"];
            grant?: components["schemas"]["Grant"];
            justification?: string;
            outcome: components["schemas"]["Outcome"];
            reason?: string;
            request_id: components["schemas"]["ID"];
            resolved_at_ms: components["schemas"]["TimeMs"];
            resolved_by: string;
            rule?: components["schemas"]["AppliedRule"];
            /** @description What the worker's runtime gets for a decision on another face, in that face's own words. */
            runtime_payload?: components["schemas"]["Any"];
            updated_input?: components["schemas"]["Any"];
            via: components["schemas"]["Via"];
            /** @description Whose credential it was, when that acted for `resolved_by`. */
            via_principal?: string;
        };
        ResolveApprovals: {
            idempotency_key?: components["schemas"]["IdempotencyKey"];
            resolutions: components["schemas"]["ApprovalResolution"][];
        };
        /** @description What a run goes on with: everything that was settled since it was suspended. */
        Resume: {
            approvals: components["schemas"]["SettledApproval"][];
            /** @description The answer of the parent's session, when the run was parked for one. */
            clarification?: components["schemas"]["ClarificationAnswer"];
            questions: components["schemas"]["SettledQuestion"][];
            suspension_id: components["schemas"]["ID"];
        };
        RetryRun: {
            idempotency_key?: components["schemas"]["IdempotencyKey"];
        };
        /**
         * @description What a credential may do: docs/security.md.
         * @enum {string}
         */
        Role: "observer" | "agent" | "operator" | "admin";
        RotateToken: {
            /**
             * Format: int64
             * @description How long the old secret still works.
             */
            grace_ms?: number;
        };
        RotateWebhook: {
            /** @description How long deliveries are signed with the present secret, too. */
            grace_ms?: number | null;
        };
        /** @description A standing decision. */
        Rule: {
            agent_id?: components["schemas"]["ID"];
            created_at_ms: components["schemas"]["TimeMs"];
            created_by: string;
            effect: components["schemas"]["RuleEffect"];
            /** @description Of an `ask`: replaces the one of each request that the rule matches. */
            escalation?: components["schemas"]["Escalation"];
            /** @description Absent when it does not expire. */
            expires_at_ms?: components["schemas"]["TimeMs"];
            /** @description Of a `hint`: what is shown with each request that the rule matches. */
            hint?: components["schemas"]["Hint"];
            /** @description How many requests it has settled. */
            hits: number;
            match: components["schemas"]["RuleMatch"];
            max_uses?: number;
            /** @description For the agent. */
            reason?: string;
            revoked_at_ms?: components["schemas"]["TimeMs"];
            revoked_by?: string;
            rule_id: components["schemas"]["ID"];
            /** @description Absent when it holds in all sessions. */
            session_id?: components["schemas"]["ID"];
            source_request_id?: components["schemas"]["ID"];
            /** @description The run of the request with whose decision it was written. */
            source_run_id?: components["schemas"]["ID"];
            /** @description What the rule does in plain words. */
            text: string;
            tool_name?: string;
            /** @description How often it was used, up to `max_uses`: also for requests that it settled together with other rules, and ones that were deleted since. Absent before the first use, and without `max_uses`. */
            uses?: number;
            /** @description Whose credential it was, when that acted for `created_by`. */
            via_principal?: string;
        };
        /**
         * @description `hint` decides nothing: it shows a remark to the people who decide.
         * @enum {string}
         */
        RuleEffect: "allow" | "ask" | "deny" | "hint";
        RuleExample: {
            directory?: string;
            input: components["schemas"]["Any"];
            pattern_keys?: string[];
            tool_call_id?: string;
            tool_name: string;
            /** @description For people; only of a call that the rule does not match. */
            why_not?: string;
        };
        /** @description Made-up calls that a rule matches, and near ones that it does not, at most three of each; none of a rule for one input above 4,096 bytes. */
        RuleExamples: {
            matching: components["schemas"]["RuleExample"][];
            not_matching: components["schemas"]["RuleExample"][];
        };
        /** @description Which calls are meant: all that it gives must hold, and it must give something. */
        RuleMatch: {
            /** @description The tool, whatever its input. Needs `tool_name`, and excludes the members above. */
            any_input?: boolean;
            /** @description An additional condition on the `directory` of the request: needs one of the others. An allow applies to exactly this text. A deny or an ask also applies to directories below it, in any spelling, and to requests without a directory. */
            directory?: string;
            /** @description The SHA-256 of the RFC 8785 form of the input. Needs `tool_name`. */
            input_digest?: string;
            /** @description Globs for members of the input: `*` does not cross `/`, `**` does, `?` is one character. Needs `tool_name`. */
            params?: {
                [key: string]: string;
            };
            /** @description Of an allow: a request whose every key is allowed, by this rule or by several together, is allowed. Of a deny or ask: a request that has any of them. */
            pattern_keys?: string[];
            /** @description This one call. Needs `session_id`. */
            tool_call_id?: string;
        };
        RulePage: {
            items: components["schemas"]["Rule"][];
            pagination: components["schemas"]["Pagination"];
        };
        RunEventEntry: {
            /** @description Who caused it: the principal of the credential, or who is on record as having decided, or `system`. */
            actor?: string;
            agent_id: components["schemas"]["ID"];
            /** @description SHA-256 of the RFC 8785 form of `event` without its `type`. This and the two below are absent from events that were written before there was a chain. */
            body_digest?: string;
            /** @description What happened. The service writes `accepted`, `queued {position}`, `started`, `waiting_for_approval {request_ids, requests, parent_session_id?, session?}`, `approval_resolved {resolutions}`, `grant_redeemed {request_id, jti, tool_name, redeemed_at_ms, redeemed_by, fence}`, `waiting_for_user_question {request_ids, requests, parent_session_id?, session?}`, `user_question_resolved {resolution}`, `user_question_answered {request_id, question_ids, answers, justification?, resolved_by, via, open}` (some of several questions have their answers; `open` have none), `parent_clarification_requested {request_id, parked, waiting_on}` (in the session that asks; its answer is a `user_question_resolved`), `parent_clarification_resolved {requester_agent_id, requester_session_id, request_id, declined, resolution}` (in the session that was asked), `output {output}`, `completed`, `failed {error}`, `interrupted {reason?}`, `cancelled {reason?}` `run_retried` (a failed run goes on), `request_notified {request_id, step, to: [{who, channels, why_not?}]}` (people are told of a request, or why not) `notification_failed {request_id, who, channel, next_channel?}` (a message was given up; with `next_channel` it goes to the person's next address) and `request_acknowledged {request_id, by, via_principal?, via, state, until_ms?}` (a person is looking at an open request, or snoozes it with `state: snoozed`; with `state: none`, no longer). Workers add types of their own, any but these and `snapshot` and `stream_gap`, which name frames of streams.
             *      */
            event: {
                type: string;
            } & {
                [key: string]: unknown;
            };
            /** @description SHA-256 of the RFC 8785 form of `session_id`, `id`, `type`, `timestamp_ms`, `run_id`, `actor`, `body_digest` and `prev`. */
            hash?: string;
            /** @description The event's number in its session. */
            id: components["schemas"]["Sequence"];
            /** @description The hash of the event before it, empty in the first one of a chain. */
            prev?: string;
            run_id: components["schemas"]["ID"];
            session_id: components["schemas"]["ID"];
            timestamp_ms: components["schemas"]["TimeMs"];
        };
        RunExplanation: {
            agent_id: components["schemas"]["ID"];
            /** @description How many other runs in sessions below wait for people. There may be more if it is at least 19. */
            children_more?: number;
            /** @description When a delayed run can be claimed. */
            claimable_at_ms?: components["schemas"]["TimeMs"];
            /** @description Since when a worker could claim the run. */
            claimable_since_ms?: components["schemas"]["TimeMs"];
            /** @description The code of `holdpoint doctor` for a run that is stuck. */
            finding?: string;
            /** @description The worker with the lease. */
            held_by?: {
                /** @description When the run last changed. A heartbeat changes it, and so do an event and a decision. */
                last_heartbeat_ms: components["schemas"]["TimeMs"];
                lease_left_ms: number;
                worker_id: components["schemas"]["ID"];
            };
            /** @description The moment of the explanation by the service's clock. */
            now_ms: components["schemas"]["TimeMs"];
            /** @description The run's pending and failed effects. */
            owed?: components["schemas"]["EffectView"][];
            /** @description How many runs of the session come first. */
            queued_ahead?: number;
            /** @description The run before this one, with its own explanation, and so on up to 20 runs. It is absent when the caller may not see it. */
            queued_behind?: components["schemas"]["ExplainedRun"];
            /** @description The open approvals and questions. */
            requests?: components["schemas"]["RequestExplanation"][];
            /** @description How many other requests are open. */
            requests_more?: number;
            run_id: components["schemas"]["ID"];
            session_id: components["schemas"]["ID"];
            /** @description When the state began. */
            since_ms: components["schemas"]["TimeMs"];
            state: components["schemas"]["ExplainState"];
            status: components["schemas"]["RunStatus"];
            /** @description The explanation in English. */
            text: string;
            /** @description The question that the run waits for in its parent's session. Of a run that a worker has, it is a run that waits for people in a session below. `explain` is absent when the question has not arrived, or the caller may not see that session. */
            waiting_on?: {
                explain?: components["schemas"]["RunExplanation"];
                /** @enum {string} */
                relation: "parent" | "child";
                /** @description The question in the parent's session. */
                request_id?: components["schemas"]["ID"];
                run_id: components["schemas"]["ID"];
                session_id: components["schemas"]["ID"];
            };
            /** @description Claims that wait for such a run at the replica that answers. Of a run that can be claimed. */
            workers_waiting?: number;
        };
        /**
         * @description What made a run: a caller's input, one call of an agent that waits for a person, or a question of a child's run. A resume never changes it.
         * @enum {string}
         */
        RunKind: "input" | "call" | "parent_clarification";
        RunPage: {
            items: components["schemas"]["RunView"][];
            pagination: components["schemas"]["Pagination"];
        };
        /** @description Who asked for the run, and how it begins. */
        RunRequestSummary: {
            actor_id: string;
            question_count?: number;
            source_kind: string;
            source_plugin: string;
            /** @description The first 160 characters of the input. */
            text_preview?: string;
        };
        /**
         * @description The last four are final. A run that waits for both kinds shows `waiting_for_user_question`.
         * @enum {string}
         */
        RunStatus: "queued" | "running" | "waiting_for_approval" | "waiting_for_user_question" | "completed" | "failed" | "interrupted" | "cancelled";
        RunView: {
            agent_id: components["schemas"]["ID"];
            /** @description Counts the claims since the last suspension. */
            attempt?: number;
            /** @description Why it failed or was cancelled. */
            error?: string;
            /** @description Counts the failed attempts of the handler since the last suspension. */
            failed_attempts?: number;
            finished_at_ms?: components["schemas"]["TimeMs"];
            kind: components["schemas"]["RunKind"];
            /** @description The error of the newest of them, or of the failure that was retried by hand. */
            last_error?: string;
            lease?: components["schemas"]["Lease"];
            metadata?: components["schemas"]["Metadata"];
            output?: components["schemas"]["Any"];
            /** @description The newest output records, at most 100 and 4 MiB, of a run that is read by itself; empty in lists and in replies of writes. */
            outputs: components["schemas"]["OutputRecord"][];
            /** @description How many output records there are. */
            outputs_count: number;
            /** @description True when `outputs` has not all of them. */
            outputs_truncated?: boolean;
            parent_run_id?: components["schemas"]["ID"];
            pending_approval_ids?: components["schemas"]["ID"][];
            pending_approvals?: components["schemas"]["ApprovalRequest"][];
            pending_question_ids?: components["schemas"]["ID"][];
            pending_questions?: components["schemas"]["UserQuestionRequest"][];
            /** @description Whose credential it was made with; absent for what the service made. */
            principal?: string;
            /** @description Of a queued run: 1 goes next. */
            queued_position?: number;
            request: components["schemas"]["RunRequestSummary"];
            resume?: components["schemas"]["Resume"];
            run_id: components["schemas"]["ID"];
            session_id: components["schemas"]["ID"];
            /** @description When it was claimed first. */
            started_at_ms?: components["schemas"]["TimeMs"];
            status: components["schemas"]["RunStatus"];
            submitted_at_ms: components["schemas"]["TimeMs"];
            updated_at_ms: components["schemas"]["TimeMs"];
            waiting_on?: components["schemas"]["WaitingOn"];
        };
        /** @description A number that the service wrote, as decimal text. */
        Sequence: string;
        /** @description How people recognise a session. It is what the caller says, and only shown. */
        SessionAbout: {
            label?: components["schemas"]["SessionLabel"];
            origin?: components["schemas"]["SessionOrigin"];
        };
        /** @description A name of the session for people, at most 80 characters. */
        SessionLabel: string;
        /** @description Where the agent works. */
        SessionOrigin: {
            /** @description In bytes. */
            directory?: string;
            /** @description In bytes. */
            host?: string;
            /** @description Such as the name of the repository; in bytes. */
            project?: string;
        };
        SessionPage: {
            items: components["schemas"]["SessionSummary"][];
            pagination: components["schemas"]["Pagination"];
        };
        /** @description The session as an agent with its open prompts, for clients that know sessions as running agents. It repeats members of the SessionView. */
        SessionSnapshot: {
            active_run_id: string | null;
            agent: components["schemas"]["SnapshotAgent"];
            /** @description Always 0. */
            checkpoint_len: number;
            /** @description Always 0. */
            journal_len: number;
            /** @description Always null. */
            last_assistant_message: string | null;
            /** @description Always null. */
            last_error: string | null;
            pending_approvals: components["schemas"]["ApprovalRequest"][];
            pending_questions: components["schemas"]["UserQuestionRequest"][];
            queued_run_ids: components["schemas"]["ID"][];
            status: components["schemas"]["SessionStatus"];
        };
        /**
         * @description The status of the active run, else `idle`, or `ended`.
         * @enum {string}
         */
        SessionStatus: "idle" | "running" | "waiting_for_approval" | "waiting_for_user_question" | "ended";
        SessionSummary: {
            agent_id: components["schemas"]["ID"];
            created_at_ms: components["schemas"]["TimeMs"];
            label?: components["schemas"]["SessionLabel"];
            origin?: components["schemas"]["SessionOrigin"];
            parent_session_id?: components["schemas"]["ID"];
            pending_approvals: number;
            pending_questions: number;
            session_id: components["schemas"]["ID"];
            status: components["schemas"]["SessionStatus"];
            updated_at_ms: components["schemas"]["TimeMs"];
        };
        SessionView: {
            active_run: components["schemas"]["ActiveRun"] | null;
            agent_id: components["schemas"]["ID"];
            created_at_ms: components["schemas"]["TimeMs"];
            label?: components["schemas"]["SessionLabel"];
            last_event_id: components["schemas"]["Sequence"];
            metadata?: components["schemas"]["Metadata"];
            origin?: components["schemas"]["SessionOrigin"];
            /** @description The newest output records of its runs, at most 100 and 4 MiB; empty in replies of writes. */
            outputs: components["schemas"]["OutputRecord"][];
            /** @description How many output records of its runs are kept; also in replies of writes. */
            outputs_count: number;
            /** @description True when `outputs` has not all of them. */
            outputs_truncated?: boolean;
            parent_session_id?: components["schemas"]["ID"];
            pending_approvals: components["schemas"]["ApprovalRequest"][];
            pending_count: number;
            /** @description With those of parent clarifications that wait in the session, at most 100 of them. */
            pending_questions: components["schemas"]["PendingQuestionView"][];
            /** @description Whose credential it was made with. */
            principal?: string;
            /** @description In the order in which they will go. */
            queued_run_ids: components["schemas"]["ID"][];
            session_id: components["schemas"]["ID"];
            snapshot: components["schemas"]["SessionSnapshot"];
            status: components["schemas"]["SessionStatus"];
            updated_at_ms: components["schemas"]["TimeMs"];
        };
        Settled: {
            /** @description What to ask with the next time. */
            after: components["schemas"]["Sequence"];
            /** @description The run was cancelled or interrupted; stop. */
            cancel_requested: boolean;
            /** @description How many requests of the run are still open, without the questions to the parent's session that it does not wait for; and one more if there are decisions that the next call returns. */
            open: number;
            /** @description In the order of the decisions: approvals and questions. */
            settled: {
                /** @description An ApprovalRequest or a UserQuestionRequest. */
                request: {
                    [key: string]: unknown;
                };
                /** @description A Resolution or an Answer. */
                resolution: {
                    [key: string]: unknown;
                };
                /** @description Its place in the order of the run's decisions: a `settled_after` of this takes in this one and all before it. */
                settled_number: components["schemas"]["Sequence"];
            }[];
        };
        SettledApproval: {
            request: components["schemas"]["ApprovalRequest"];
            resolution: components["schemas"]["Resolution"];
        };
        SettledQuestion: {
            request: components["schemas"]["UserQuestionRequest"];
            resolution: components["schemas"]["Answer"];
        };
        /** @description Who is signed in, as `GET /v1/me` says it. */
        SignIn: {
            /** @description Absent for no bound. */
            agent_ids?: string[];
            expires_at_ms?: components["schemas"]["TimeMs"];
            groups: string[];
            /** @description The person whose token it is; absent for none. Decisions are recorded under this name. */
            on_behalf_of?: string;
            principal: string;
            role: components["schemas"]["Role"];
            /** @description On a loopback address alone: what the page calls with, as `Authorization: Session`. */
            session?: string;
            /** @description Absent for no bound. */
            session_prefixes?: string[];
            token_id?: components["schemas"]["ID"];
            /**
             * @description `open` where no credential is asked for.
             * @enum {string}
             */
            via: "session" | "open";
        };
        SnapshotAgent: {
            conversation: components["schemas"]["SnapshotConversation"];
            id: components["schemas"]["ID"];
            /** @description Always null. */
            parent: string | null;
            spawned_at_ms: components["schemas"]["TimeMs"];
            /**
             * @description `completed` for a session that has ended.
             * @enum {string}
             */
            status: "idle" | "running" | "waiting_for_approval" | "waiting_for_user_input" | "completed";
            /** @description Always empty. */
            subtasks: components["schemas"]["Any"][];
        };
        SnapshotConversation: {
            session_id: components["schemas"]["ID"];
            thread_id: components["schemas"]["ID"];
        };
        StatusReply: {
            /** @enum {string} */
            status: "live" | "ready";
        };
        StreamTicket: {
            /** Format: int64 */
            expires_at_ms: number;
            /** @description What to send as `ticket` in the query of the stream. */
            ticket: string;
        };
        Suspend: {
            /** Format: int64 */
            abandoned_after_ms?: number;
            approvals?: components["schemas"]["ApprovalRequest"][];
            /** @default false */
            cancel_when_abandoned?: boolean;
            checkpoint?: components["schemas"]["Any"];
            fence: components["schemas"]["Sequence"];
            /** @default false */
            hold?: boolean;
            idempotency_key?: components["schemas"]["IdempotencyKey"];
            questions?: components["schemas"]["UserQuestionRequest"][];
            settled_after?: string;
            suspension_id?: components["schemas"]["ID"];
        };
        SuspendReply: {
            resume?: components["schemas"]["Resume"];
            run: components["schemas"]["RunView"];
        };
        /** @description What to wait for; at least one request. */
        Suspension: {
            /**
             * Format: int64
             * @description With `hold`, in place of `cancel_when_abandoned`: the run is cancelled once its worker has been silent for that long after its lease, unless its requests are settled by then.
             */
            abandoned_after_ms?: number;
            approvals?: components["schemas"]["ApprovalRequest"][];
            /**
             * @description With `hold`: the run is cancelled once its worker has been silent for its lease and as long again, at least 30 s in a run that was there before.
             * @default false
             */
            cancel_when_abandoned?: boolean;
            checkpoint?: components["schemas"]["Any"];
            /**
             * @description The worker keeps its lease and waits in place.
             * @default false
             */
            hold?: boolean;
            questions?: components["schemas"]["UserQuestionRequest"][];
            /** @description The `after` up to which the checkpoint has taken in resolutions; when absent, only those that came with the claim, so that a decision that nobody has read is handed over again. */
            settled_after?: string;
            suspension_id?: components["schemas"]["ID"];
        };
        TestChannelBody: {
            address: string;
        };
        /**
         * Format: int64
         * @description Milliseconds since the epoch.
         */
        TimeMs: number;
        Token: {
            /** @description Empty for no bound. */
            agent_ids: string[];
            created_at_ms: components["schemas"]["TimeMs"];
            created_by: string;
            expires_at_ms?: components["schemas"]["TimeMs"];
            groups: string[];
            /** @description The first characters of the secret's random part. */
            hint: string;
            /** @description The minute of the last use, or `created_at_ms` if that is later. Uses at another replica appear within two seconds. */
            last_used_at_ms?: components["schemas"]["TimeMs"];
            may_act_for: boolean;
            may_always: boolean;
            name: string;
            /** @description The person whose token it is; absent for none. */
            on_behalf_of?: string;
            principal: string;
            revoked_at_ms?: components["schemas"]["TimeMs"];
            role: components["schemas"]["Role"];
            /** @description Empty for no bound. */
            session_prefixes: string[];
            token_id: components["schemas"]["ID"];
        };
        TokenList: {
            data: components["schemas"]["Token"][];
            next_cursor: string | null;
        };
        TokenSecret: {
            /** @description What to send as `Authorization` after `Bearer`. */
            secret?: string;
            /**
             * @description The key was used before; the secret was in the first reply.
             * @constant
             */
            secret_shown?: true;
            token: components["schemas"]["Token"];
        };
        UserQuestion: {
            /** @description Whether an answer in the person's own words is accepted. When absent: true without options, false with options. Always present in replies. */
            allow_freeform?: boolean;
            /** @description `Question N` when absent. */
            header?: string;
            /** @description `question-N` when absent. */
            id?: components["schemas"]["ID"];
            /**
             * @description Whether more than one option may be chosen.
             * @default false
             */
            multi_select?: boolean;
            /** @description Without options the answer is free text. */
            options?: components["schemas"]["QuestionOption"][];
            question: string;
            /** @description As that of the request, for this question alone. */
            sensitive?: boolean;
        };
        UserQuestionAnswer: {
            freeform_answer?: string;
            question_id: string;
            selected_option_ids?: string[];
            /** @description There is an answer, which is not shown. Ignored in a request. */
            sensitive?: boolean;
        };
        /** @description One to 16 structured questions, answered together; or, with `response_schema` or a `kind` alone, one value. */
        UserQuestionRequest: {
            callback?: components["schemas"]["Callback"];
            created_at_ms?: components["schemas"]["TimeMs"];
            /** @description Not for a question to a parent. */
            escalation?: components["schemas"]["Escalation"];
            /**
             * Format: int64
             * @description The same counted from now; only in requests, and not together with `expires_at_ms`.
             */
            expires_after_ms?: number;
            /**
             * Format: int64
             * @description When the request expires. A question that expires ends the run as `cancelled`; a parent clarification is completed, declined.
             */
            expires_at_ms?: number;
            /** @description Identifies the request among all requests of all runs. Made by the service; ignored in a request. */
            handle?: string;
            hints?: components["schemas"]["Hint"][];
            /** @description `question-request-<tool_call_id>` when absent. */
            id?: components["schemas"]["ID"];
            /** @description Tells the one who shows a typed question how. */
            kind?: string;
            metadata?: components["schemas"]["Metadata"];
            /** @description Answers that another face gave to some of the questions, one by one. They count once there is one to each; an answer to all goes before them. Made by the service; ignored in a request. */
            partial_answers?: components["schemas"]["UserQuestionAnswer"][];
            payload?: components["schemas"]["Any"];
            questions?: components["schemas"]["UserQuestion"][];
            /** @description A JSON Schema (2020-12) that the answer's `value` must match. Then `questions` is empty. With a `kind` and neither of them it is `true`: any value. */
            response_schema?: {
                [key: string]: unknown;
            } | boolean;
            /** @description All answers are stored encrypted, shown as `{"sensitive": true}`, and in clear only in the Resume of the worker that holds the run. Not for a question to a parent. */
            sensitive?: boolean;
            tool_call_id?: string;
            /** @description The trace in which the request was raised (W3C Trace Context): the service's own span, or the call's `traceparent` header. Absent if there was none. Set by the service; ignored in a request. */
            traceparent?: string;
        };
        UserQuestionResolution: {
            answers?: components["schemas"]["UserQuestionAnswer"][];
            /**
             * @description `true` refuses to answer. The run goes on and is told so.
             * @default false
             */
            declined?: boolean;
            justification?: string;
            request_id: string;
            /** @description The answer to a question that has a `response_schema`. */
            value?: components["schemas"]["Any"];
        };
        VerifyAddressBody: {
            code: string;
        };
        VersionReply: {
            /** @constant */
            name: "holdpoint";
            version: string;
        };
        /** @description By what way it was settled: `api`, `api:` and the `X-Via` of the call, `clock` (a deadline), `worker` (withdrawn), `run_ended`, `cancel`, `interrupt`, `session_end`, `rule:` and the id of a rule, or the name of another face (`hermes`, `codex`, `timbal`, `relay`). Other ways may be added. */
        Via: string;
        ViewedRequest: {
            handle: components["schemas"]["ID"];
            /** @description Principals, at most 200 in the whole view. */
            viewing: string[];
        };
        /**
         * @description Who has which requests open in their inbox, without the caller. It replaces the one before.
         * @example {
         *       "requests": [
         *         {
         *           "handle": "h_01",
         *           "viewing": [
         *             "user:ben"
         *           ]
         *         }
         *       ]
         *     }
         */
        ViewingView: {
            requests: components["schemas"]["ViewedRequest"][];
        };
        /** @description The clarification that a parked run waits for. The run has no open question of its own for it. */
        WaitingOn: {
            request_id: components["schemas"]["ID"];
            run_id: components["schemas"]["ID"];
            session_id: components["schemas"]["ID"];
        };
        Webhook: {
            /** @description Only events of these agents. */
            agent_ids: components["schemas"]["ID"][];
            created_at_ms: components["schemas"]["TimeMs"];
            created_by: string;
            description: string;
            disabled_at_ms?: components["schemas"]["TimeMs"];
            /**
             * @description `gone` when the endpoint answered 410.
             * @enum {string}
             */
            disabled_reason?: "disabled" | "gone";
            enabled: boolean;
            /** @description Only events of these types. */
            events: components["schemas"]["ID"][];
            /**
             * @description `{type, timestamp, data}` as Standard Webhooks proposes, or a CloudEvents 1.0 event in structured JSON.
             * @enum {string}
             */
            format: "standard" | "cloudevents";
            /** @description Only events of these kinds. `run` is status changes, and who was notified of a request or is looking at it. Without `events` and `kinds` nothing of kind `worker`, which is output and what workers append. */
            kinds: ("approval" | "question" | "clarification" | "run" | "worker")[];
            /** @description Deliveries at once, of each replica; 4 unless it is given. */
            max_concurrency: number;
            /** @description How long deliveries are signed with the secret before the last rotation, too. */
            previous_until_ms?: components["schemas"]["TimeMs"];
            /** @description Only events of sessions whose id begins with one of these. */
            session_prefixes: components["schemas"]["ID"][];
            updated_at_ms: components["schemas"]["TimeMs"];
            url: string;
            webhook_id: components["schemas"]["ID"];
        };
        WebhookBody: {
            /** @description Only events of these agents. */
            agent_ids?: components["schemas"]["ID"][] | null;
            description?: string | null;
            /** @description Whether it is delivered to; true unless it is given. */
            enabled?: boolean | null;
            /** @description Only events of these types. `kinds`, if given, must name the kind of each; for types that workers append it must name `worker`. */
            events?: components["schemas"]["ID"][] | null;
            /**
             * @description `{type, timestamp, data}` as Standard Webhooks proposes, or a CloudEvents 1.0 event in structured JSON.
             * @enum {string|null}
             */
            format?: "standard" | "cloudevents" | null;
            /** @description Only events of these kinds. `run` is status changes, and who was notified of a request or is looking at it. Without `events` and `kinds` nothing of kind `worker`, which is output and what workers append. */
            kinds?: ("approval" | "question" | "clarification" | "run" | "worker")[] | null;
            /** @description Deliveries at once, of each replica; 4 unless it is given. */
            max_concurrency?: number | null;
            /** @description Only events of sessions whose id begins with one of these. */
            session_prefixes?: components["schemas"]["ID"][] | null;
            /** @description Where to post to. It begins with https://; http:// and addresses that are not public are for those that `--webhook-allow` names. */
            url?: string | null;
        };
        WebhookList: {
            data: components["schemas"]["Webhook"][];
        };
        WebhookReplay: {
            /** @description There are others; call again. */
            more: boolean;
            replayed: number;
        };
        WebhookSecret: {
            /** @description `whsec_` and base64: the key of the signatures. */
            secret: string;
            webhook: components["schemas"]["Webhook"];
        };
        WebhookTest: {
            /** @description The endpoint answered with a status of 200 to 299. */
            delivered: boolean;
            duration_ms: number;
            error?: string;
            /** @description The `webhook-id` of the call. */
            message_id: string;
            /** @description Absent when there was no answer. */
            status?: number;
        };
        Withdraw: {
            fence: components["schemas"]["Sequence"];
            reason?: string;
        };
        WorkersView: {
            /** @description True when 1,000 leases are shown and there are others. */
            more?: boolean;
            /** @description The moment of the view by the service's clock. */
            now_ms: components["schemas"]["TimeMs"];
            workers: {
                leases: components["schemas"]["HeldLease"][];
                worker_id: components["schemas"]["ID"];
            }[];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
