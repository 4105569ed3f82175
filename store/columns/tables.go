package columns

import (
	"fmt"
	"maps"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

type (
	session = model.Session
	run     = model.Run
	request = model.Request
	event   = model.Event
	record  = model.IdempotencyRecord
	effect  = model.Effect
	message = model.Message
	rule    = rules.Rule
)

// Sessions is the table of sessions. Metadata may be large and seldom changes, as does about, and the
// life is set once: the engines write changes of these by a statement of their own.
var Sessions = newTable(Table[session]{Name: "sessions", Alias: "s", Columns: []Column[session]{
	text("session_id", func(s *session) *string { return &s.SessionID }, key),
	text("agent_id", func(s *session) *string { return &s.AgentID }, 0),
	text("parent_session_id", func(s *session) *string { return &s.ParentSessionID }, optional),
	jsonText("metadata", func(s *session) *api.JSON { return &s.Metadata }, optional),
	jsonText("about", func(s *session) *api.JSON { return &s.About }, optional),
	text("principal", func(s *session) *string { return &s.Principal }, optional),
	text("requesters", func(s *session) *string { return &s.Requesters }, optional|changes),
	text("active_run_id", func(s *session) *string { return &s.ActiveRunID }, optional|changes),
	integer("queued_count", func(s *session) *int64 { return &s.QueuedCount }, changes),
	integer("output_count", func(s *session) *int64 { return &s.OutputCount }, changes),
	integer("last_event_id", func(s *session) *int64 { return &s.LastEventID }, changes),
	text("last_event_hash", func(s *session) *string { return &s.LastEventHash }, optional|changes),
	text("life", func(s *session) *string { return &s.Life }, optional),
	integer("version", func(s *session) *int64 { return &s.Version }, changes),
	// The retention alone writes it.
	integer("first_kept_event_id", func(s *session) *int64 { return &s.FirstKeptEventID }, optional),
	integer("ended_at_ms", func(s *session) *int64 { return &s.EndedAtMs }, optional|changes),
	integer("created_at_ms", func(s *session) *int64 { return &s.CreatedAtMs }, 0),
	integer("updated_at_ms", func(s *session) *int64 { return &s.UpdatedAtMs }, changes),
}})

// Runs is the table of runs.
var Runs = newTable(Table[run]{
	Name: "runs", Alias: "r",
	// A retried run is open again.
	Closed: func(r *run) bool { return r.FinishedAtMs != 0 || r.Retries != 0 },
	Columns: []Column[run]{
		text("session_id", func(r *run) *string { return &r.SessionID }, key),
		text("run_id", func(r *run) *string { return &r.RunID }, key),
		text("agent_id", func(r *run) *string { return &r.AgentID }, 0),
		text("parent_run_id", func(r *run) *string { return &r.ParentRunID }, optional),
		text("kind", func(r *run) *string { return (*string)(&r.Kind) }, 0),
		text("status", func(r *run) *string { return (*string)(&r.Status) }, changes),
		text("source_plugin", func(r *run) *string { return &r.Request.SourcePlugin }, 0),
		text("source_kind", func(r *run) *string { return &r.Request.SourceKind }, 0),
		text("actor_id", func(r *run) *string { return &r.Request.ActorID }, 0),
		text("text_preview", func(r *run) *string { return &r.Request.TextPreview }, optional),
		integer("question_count", func(r *run) *int64 { return &r.Request.QuestionCount }, 0),
		jsonText("metadata", func(r *run) *api.JSON { return &r.Metadata }, optional),
		jsonText("requester", func(r *run) *api.JSON { return &r.Requester }, optional),
		text("principal", func(r *run) *string { return &r.Principal }, optional),
		text("payload_digest", func(r *run) *string { return &r.PayloadDigest }, 0),
		integer("submitted_at_ms", func(r *run) *int64 { return &r.SubmittedAtMs }, 0),
		integer("started_at_ms", func(r *run) *int64 { return &r.StartedAtMs }, optional|changes),
		integer("finished_at_ms", func(r *run) *int64 { return &r.FinishedAtMs }, optional|closes),
		integer("updated_at_ms", func(r *run) *int64 { return &r.UpdatedAtMs }, changes),
		integer("first_event_id", func(r *run) *int64 { return &r.FirstEventID }, 0),
		integer("last_event_id", func(r *run) *int64 { return &r.LastEventID }, changes),
		integer("attempt", func(r *run) *int64 { return &r.Attempt }, changes),
		integer("stalled_attempts", func(r *run) *int64 { return &r.StalledAttempts }, changes),
		integer("failed_attempts", func(r *run) *int64 { return &r.FailedAttempts }, changes),
		integer("retries", func(r *run) *int64 { return &r.Retries }, changes),
		text("last_error", func(r *run) *string { return &r.LastError }, optional|changes),
		integer("fence", func(r *run) *int64 { return &r.Fence }, changes),
		text("worker_id", func(r *run) *string { return &r.WorkerID }, optional|changes),
		text("holder_principal", func(r *run) *string { return &r.HolderPrincipal }, optional|changes),
		integer("lease_expires_at_ms", func(r *run) *int64 { return &r.LeaseExpiresAtMs }, optional|changes),
		text("lease_end", func(r *run) *string { return (*string)(&r.LeaseEnd) }, optional|changes),
		text("last_call_digest", func(r *run) *string { return &r.LastCallDigest }, optional|changes),
		boolean("attached", func(r *run) *bool { return &r.Attached }, changes),
		integer("claimable_at_ms", func(r *run) *int64 { return &r.ClaimableAtMs }, optional|changes),
		text("suspension_id", func(r *run) *string { return &r.SuspensionID }, optional|changes),
		integer("raised_count", func(r *run) *int64 { return &r.RaisedCount }, changes),
		integer("settled_count", func(r *run) *int64 { return &r.SettledCount }, changes),
		integer("resume_after", func(r *run) *int64 { return &r.ResumeAfter }, changes),
		integer("output_count", func(r *run) *int64 { return &r.OutputCount }, changes),
		text("error", func(r *run) *string { return &r.Error }, optional|changes),
		jsonText("output", func(r *run) *api.JSON { return &r.Output }, optional|changes),
		text("data_key", func(r *run) *string { return &r.DataKey }, optional|changes),
		boolean("secrets_erased", func(r *run) *bool { return &r.SecretsErased }, changes),
		jsonText("input", func(r *run) *api.JSON { return &r.Input }, large),
		checkpoint,
	},
})

// A checkpoint is only written if the run says that it was set.
var checkpoint = func() Column[run] {
	c := jsonText("checkpoint", func(r *run) *api.JSON { return &r.Checkpoint }, optional|changes|large)
	c.WrittenIf = func(r *run) bool { return r.CheckpointSet }
	return c
}()

// ShownRun returns where a run is scanned to whose place in the queue follows its columns.
func ShownRun(r *model.Run) []any { return append(Runs.Targets(r), &r.QueuedAhead) }

// Requests is the table of requests. An outcome is written once and never overwritten.
var Requests = newTable(Table[request]{
	Name: "requests", Alias: "q",
	Closed: func(q *request) bool { return !q.Open() }, UpdatesWhile: "outcome IS NULL",
	Columns: []Column[request]{
		text("session_id", func(q *request) *string { return &q.SessionID }, key),
		text("run_id", func(q *request) *string { return &q.RunID }, key),
		text("request_id", func(q *request) *string { return &q.RequestID }, key),
		text("handle", func(q *request) *string { return &q.Handle }, 0),
		text("suspension_id", func(q *request) *string { return &q.SuspensionID }, 0),
		text("suspension_digest", func(q *request) *string { return &q.SuspensionDigest }, 0),
		integer("number", func(q *request) *int64 { return &q.Number }, 0),
		text("kind", func(q *request) *string { return (*string)(&q.Kind) }, 0),
		jsonText("body", func(q *request) *api.JSON { return &q.Body }, 0),
		integer("due_at_ms", func(q *request) *int64 { return &q.DueAtMs }, optional|closes),
		integer("created_at_ms", func(q *request) *int64 { return &q.CreatedAtMs }, 0),
		text("outcome", func(q *request) *string { return (*string)(&q.Outcome) }, optional|closes),
		integer("settled_number", func(q *request) *int64 { return &q.SettledNumber }, optional|closes),
		jsonText("resolution", func(q *request) *api.JSON { return &q.Resolution }, optional|closes),
		integer("settled_at_ms", func(q *request) *int64 { return &q.SettledAtMs }, optional|closes),
		text("rule_id", func(q *request) *string { return &q.RuleID }, optional|closes),
		// Copied out of the resolution, so that a list is filtered by it.
		text("resolved_by", func(q *request) *string { return &q.ResolvedBy }, optional|closes),
		jsonText("partial_answers", func(q *request) *api.JSON { return &q.PartialAnswers }, optional|changes),
		jsonText("acknowledgement", func(q *request) *api.JSON { return &q.Acknowledgement }, optional|changes),
		jsonText("escalation_state", func(q *request) *api.JSON { return &q.EscalationState }, optional|changes),
		jsonText("sealed", func(q *request) *api.JSON { return &q.Sealed }, optional|changes),
		jsonText("redemption", func(q *request) *api.JSON { return &q.Redemption }, optional|apart),
	},
})

// PendingRequest returns where a request is scanned to that is followed by agent_id, kind
// and requester of its run, and about and parent_session_id of its session.
func PendingRequest(p *model.PendingRequest) []any {
	return append(Requests.Targets(&p.Request), &p.AgentID, (*string)(&p.RunKind), (*[]byte)(&p.Requester), (*[]byte)(&p.About), &p.ParentSessionID)
}

// DecidedRequest returns where a request is scanned to that is followed by agent_id, kind,
// requester, about and parent_session_id of its session, status and lease_expires_at_ms of its run.
func DecidedRequest(d *model.DecidedRequest) []any {
	return append(PendingRequest(&d.PendingRequest), (*string)(&d.RunStatus), &d.LeaseExpiresAtMs)
}

// Events is the table of events.
var Events = newTable(Table[event]{Name: "events", Alias: "e", Columns: []Column[event]{
	text("session_id", func(e *event) *string { return &e.SessionID }, key),
	integer("event_id", func(e *event) *int64 { return &e.EventID }, key),
	text("run_id", func(e *event) *string { return &e.RunID }, 0),
	text("agent_id", func(e *event) *string { return &e.AgentID }, 0),
	text("type", func(e *event) *string { return (*string)(&e.Type) }, 0),
	integer("timestamp_ms", func(e *event) *int64 { return &e.TimestampMs }, 0),
	jsonText("body", func(e *event) *api.JSON { return &e.Body }, 0),
	text("actor", func(e *event) *string { return &e.Actor }, 0),
	text("body_digest", func(e *event) *string { return &e.BodyDigest }, 0),
	text("prev", func(e *event) *string { return &e.Prev }, 0),
}})

// Records is the table of idempotency records.
var Records = newTable(Table[record]{Name: "idempotency_records", Alias: "i", Columns: []Column[record]{
	text("scope", func(i *record) *string { return &i.Scope }, key),
	text("operation", func(i *record) *string { return (*string)(&i.Operation) }, key),
	text("idempotency_key", func(i *record) *string { return &i.IdempotencyKey }, key),
	text("fingerprint", func(i *record) *string { return &i.Fingerprint }, 0),
	text("session_id", func(i *record) *string { return &i.SessionID }, 0),
	text("run_id", func(i *record) *string { return &i.RunID }, 0),
	integer("event_id", func(i *record) *int64 { return &i.EventID }, optional),
	integer("created_at_ms", func(i *record) *int64 { return &i.CreatedAtMs }, 0),
}})

// Effects is the table of effects. An effect's work never changes.
var Effects = newTable(Table[effect]{Name: "effects", Alias: "f", Columns: []Column[effect]{
	text("session_id", func(f *effect) *string { return &f.SessionID }, key),
	text("effect_id", func(f *effect) *string { return &f.EffectID }, key),
	text("run_id", func(f *effect) *string { return &f.RunID }, 0),
	text("kind", func(f *effect) *string { return (*string)(&f.Kind) }, 0),
	text("state", func(f *effect) *string { return (*string)(&f.State) }, changes),
	text("target_session_id", func(f *effect) *string { return &f.TargetSessionID }, 0),
	text("webhook_id", func(f *effect) *string { return &f.WebhookID }, 0),
	jsonText("payload", func(f *effect) *api.JSON { return &f.Payload }, 0),
	integer("created_at_ms", func(f *effect) *int64 { return &f.CreatedAtMs }, 0),
	integer("due_at_ms", func(f *effect) *int64 { return &f.DueAtMs }, optional|changes),
	integer("attempts", func(f *effect) *int64 { return &f.Attempts }, changes),
	text("last_error", func(f *effect) *string { return &f.LastError }, optional|changes),
	integer("finished_at_ms", func(f *effect) *int64 { return &f.FinishedAtMs }, optional|changes),
}})

// Messages is the table of messages. A message's content never changes.
var Messages = newTable(Table[message]{
	Name: "messages", Alias: "m",
	Closed: func(m *message) bool { return m.AcknowledgedAtMs != 0 },
	Columns: []Column[message]{
		text("session_id", func(m *message) *string { return &m.SessionID }, key),
		text("message_id", func(m *message) *string { return &m.MessageID }, key),
		text("run_id", func(m *message) *string { return &m.RunID }, 0),
		text("from_session_id", func(m *message) *string { return &m.FromSessionID }, 0),
		text("state", func(m *message) *string { return (*string)(&m.State) }, changes),
		text("subject", func(m *message) *string { return &m.Subject }, 0),
		jsonText("payload", func(m *message) *api.JSON { return &m.Payload }, 0),
		integer("created_at_ms", func(m *message) *int64 { return &m.CreatedAtMs }, 0),
		integer("delivery_attempts", func(m *message) *int64 { return &m.DeliveryAttempts }, changes),
		integer("lease_expires_at_ms", func(m *message) *int64 { return &m.LeaseExpiresAtMs }, optional|changes),
		text("last_error", func(m *message) *string { return &m.LastError }, optional|changes),
		integer("acknowledged_at_ms", func(m *message) *int64 { return &m.AcknowledgedAtMs }, optional|closes),
	},
})

// Rules is the table of rules. A rule's content never changes.
var Rules = newTable(Table[rule]{
	Name: "rules", Alias: "l",
	Closed: func(l *rule) bool { return l.RevokedAtMs != 0 },
	Columns: []Column[rule]{
		text("session_id", func(l *rule) *string { return &l.SessionID }, key),
		text("rule_id", func(l *rule) *string { return &l.RuleID }, key),
		text("agent_id", func(l *rule) *string { return &l.AgentID }, optional),
		text("tool_name", func(l *rule) *string { return &l.ToolName }, optional),
		{Name: "effect", Type: Text, target: func(l *rule) any { return (*string)(&l.Effect) }, Text: effectText},
		{
			Name: "match", Type: Text,
			target: func(l *rule) any { return (*matchText)(&l.Match) },
			Text:   func(l *rule) string { return textOfMatch(l.Effect, l.Match) },
		},
		// Copied out of the match, so that an index has it.
		{Name: "input_digest", Type: Text, flags: optional | unread, Text: func(l *rule) string {
			// Globs are not matched where a rule is found by the digest.
			if !l.Exact() {
				return ""
			}
			return l.Match.InputDigest
		}},
		text("reason", func(l *rule) *string { return &l.Reason }, optional),
		text("text", func(l *rule) *string { return &l.Text }, 0),
		text("created_by", func(l *rule) *string { return &l.CreatedBy }, 0),
		text("via_principal", func(l *rule) *string { return &l.ViaPrincipal }, optional),
		integer("created_at_ms", func(l *rule) *int64 { return &l.CreatedAtMs }, 0),
		integer("expires_at_ms", func(l *rule) *int64 { return &l.ExpiresAtMs }, optional),
		integer("max_uses", func(l *rule) *int64 { return &l.MaxUses }, optional),
		integer("uses", func(l *rule) *int64 { return &l.Uses }, changes),
		text("source_run_id", func(l *rule) *string { return &l.SourceRunID }, optional),
		text("source_request_id", func(l *rule) *string { return &l.SourceRequestID }, optional),
		ofRevoked(integer("revoked_at_ms", func(l *rule) *int64 { return &l.RevokedAtMs }, optional|closes)),
		ofRevoked(text("revoked_by", func(l *rule) *string { return &l.RevokedBy }, optional|closes)),
		text("payload_digest", func(l *rule) *string { return &l.PayloadDigest }, optional),
		{
			Name: "escalation", Type: Text, flags: optional,
			target: func(l *rule) any { return &escalationText{&l.Escalation} },
			Text:   func(l *rule) string { return l.EscalationText() },
		},
		{
			Name: "hint", Type: Text, flags: optional,
			target: func(l *rule) any { return &hintText{l} },
			Text:   func(l *rule) string { return l.HintText() },
		},
	},
})

// ofRevoked is only written by an update of a revoked rule. The rule of a session that does not exist yet is used without
// a lock, and may have been revoked by another transaction since it was read.
func ofRevoked(c Column[rule]) Column[rule] {
	c.WrittenIf = func(l *rule) bool { return l.RevokedAtMs != 0 }
	return c
}

// RuleRecord returns where a rule is scanned to that is followed by its hits.
func RuleRecord(l *rules.Record) []any { return append(Rules.Targets(&l.Rule), &l.Hits) }

// escalationText reads the escalation of a rule from its JSON text, which is empty for none.
type escalationText struct{ to **api.Escalation }

// Scan implements [database/sql.Scanner].
func (e *escalationText) Scan(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("escalation column holds %T", value)
	}
	if *e.to = nil; text == "" {
		return nil
	}
	*e.to = &api.Escalation{}
	if err := json.Unmarshal([]byte(text), *e.to); err != nil {
		return fmt.Errorf("escalation column: %w", err)
	}
	return nil
}

// hintText reads the hint of a rule from its JSON text, which is empty for none, and with it the effect that
// effectText stores as another.
type hintText struct{ of *rule }

// Scan implements [database/sql.Scanner].
func (h *hintText) Scan(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("hint column holds %T", value)
	}
	if h.of.Hint = nil; text == "" {
		return nil
	}
	h.of.Effect, h.of.Hint = api.RuleHint, &api.Hint{}
	if err := json.Unmarshal([]byte(text), h.of.Hint); err != nil {
		return fmt.Errorf("hint column: %w", err)
	}
	return nil
}

// effectText returns the effect as it is stored. A program from before there were hints knows three effects, and the
// schema has them: to it a hint is an ask, by which it asks people and allows nothing.
func effectText(l *rule) string {
	if l.Effect == api.RuleHint {
		return string(api.RuleAsk)
	}
	return string(l.Effect)
}

// directoryParam stands in the params of an allow for its directory. No caller can give a rule a param of this
// name. A program from before rules had directories would ignore an unknown member and allow the calls of
// all directories. It takes this one for a param that the tool's input lacks, and asks a person.
const directoryParam = "\x01directory"

// textOfMatch returns the canonical JSON of a match. Empty if there is none, which the schema
// rejects; every new rule has a valid match.
func textOfMatch(effect api.RuleEffect, match api.RuleMatch) string {
	if match.Directory != "" && effect == api.RuleAllow {
		params := map[string]string{directoryParam: match.Directory}
		maps.Copy(params, match.Params)
		match.Params, match.Directory = params, ""
	}
	text, err := document.Canonical(match)
	if err != nil {
		return ""
	}
	return string(text)
}

// matchText reads a match from its JSON text.
type matchText api.RuleMatch

// Scan implements [database/sql.Scanner].
func (m *matchText) Scan(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("match column holds %T", value)
	}
	if err := json.Unmarshal([]byte(text), (*api.RuleMatch)(m)); err != nil {
		return fmt.Errorf("match column: %w", err)
	}
	if directory, of := m.Params[directoryParam]; of {
		m.Directory = directory
		if delete(m.Params, directoryParam); len(m.Params) == 0 {
			m.Params = nil
		}
	}
	return nil
}
