package runs

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
)

// createRunBody is what identifies the call that makes a run: its members as they
// were given, without the key and without what the service fills in.
type createRunBody struct {
	RunID        string        `json:"run_id,omitempty"`
	Kind         RunKind       `json:"kind,omitempty"`
	Input        JSON          `json:"input"`
	AgentID      string        `json:"agent_id,omitempty"`
	ParentRunID  string        `json:"parent_run_id,omitempty"`
	Metadata     JSON          `json:"metadata,omitzero"`
	SourcePlugin string        `json:"source_plugin,omitempty"`
	SourceKind   string        `json:"source_kind,omitempty"`
	ActorID      string        `json:"actor_id,omitempty"`
	Claim        *ClaimOptions `json:"claim,omitempty"`
	Suspend      *Suspension   `json:"suspend,omitempty"`
}

// Needs implements Command.
func (c *CreateRun) Needs() Needs {
	needs := Needs{SessionID: c.SessionID, Record: c.recordKey()}
	if c.runIDGiven {
		needs.ChosenRunID = c.RunID
	}
	if c.Suspend != nil {
		needs.Rules, needs.RuleDigests = len(c.Suspend.Approvals) > 0, c.suspending.inputDigests
	}
	return needs
}

func (c *CreateRun) recordKey() *RecordKey {
	if c.SessionGiven {
		return recordKey(OperationCreateRun, c.SessionID, c.Key)
	}
	return recordKey(OperationCreateRun, "caller/"+c.Caller, c.Key)
}

func (c *CreateRun) prepare(newID IDSource) error {
	c.leaveOutDefaults()
	var faults faultList
	faults.optionalID("/session_id", c.SessionID)
	faults.optionalID("/run_id", c.RunID)
	faults.optionalID("/agent_id", c.AgentID)
	faults.optionalID("/parent_run_id", c.ParentRunID)
	if c.Kind != "" {
		faults.add("/kind", "must be %q", KindInput)
	}
	if c.Input == nil {
		faults.add("/input", "is required")
	}
	faults.object("/metadata", c.Metadata)
	faults.text("/source_plugin", c.SourcePlugin, MaxNameLength)
	faults.text("/source_kind", c.SourceKind, MaxNameLength)
	faults.text("/actor_id", c.ActorID, MaxNameLength)
	if c.Claim != nil {
		faults.id("/claim/worker_id", c.Claim.WorkerID)
		faults.lease("/claim/lease_ms", c.Claim.LeaseMs)
	}
	if c.Suspend != nil && c.Suspend.Hold && c.Claim == nil {
		faults.add("/suspend/hold", "needs a claim")
	}
	if c.Suspend != nil {
		checkSuspension(c.Suspend, "/suspend", &faults)
	}
	if err := cmp.Or(faults.err(), prepareKey(&c.Key)); err != nil {
		return err
	}
	// The body is taken before ids are filled in: the very same call must look the
	// same the next time.
	var err error
	c.canonical, err = canonicalBody(createRunBody{
		RunID: c.RunID, Kind: c.Kind, Input: c.Input, AgentID: c.AgentID, ParentRunID: c.ParentRunID,
		Metadata: c.Metadata, SourcePlugin: c.SourcePlugin, SourceKind: c.SourceKind, ActorID: c.ActorID,
		Claim: c.Claim, Suspend: c.Suspend,
	})
	if err != nil {
		return err
	}
	if c.Suspend != nil {
		if c.suspending, err = prepareSuspension(c.Suspend, newID); err != nil {
			return err
		}
	}
	c.runIDGiven = c.RunID != ""
	c.RunID = cmp.Or(c.RunID, newID(PrefixRun))
	c.SessionID = cmp.Or(c.SessionID, newID(PrefixSession))
	c.Kind = KindInput
	c.preview = textPreview(c.Input)
	return nil
}

// leaveOutDefaults makes a member that is given with its default the same as one
// that is left out (decisions.md 29).
func (c *CreateRun) leaveOutDefaults() {
	absentNull(&c.Metadata)
	if c.Kind == KindInput {
		c.Kind = ""
	}
	if c.SourcePlugin == DefaultSourcePlugin {
		c.SourcePlugin = ""
	}
	if c.SourceKind == DefaultSourceKind {
		c.SourceKind = ""
	}
	if c.Claim != nil && c.Claim.LeaseMs == DefaultLeaseMs {
		c.Claim.LeaseMs = 0
	}
}

func (c *CreateRun) decide(w *work) (Reply, error) {
	reply, done, err := w.lookUp(c.recordKey(), c.target(), c.canonical)
	if done {
		return reply, err
	}
	digest := fingerprint(OperationCreateRun, "", c.canonical)
	if existing, there := w.state.Runs[c.RunID]; there && c.runIDGiven {
		if existing.PayloadDigest != digest || c.SessionGiven && existing.SessionID != c.SessionID {
			return Reply{}, newError(CodeIDConflict, "run %s exists with another payload", c.RunID)
		}
		return Reply{Existing: true, ReplayRunID: c.RunID}, nil
	}
	if err := c.admit(w); err != nil {
		return Reply{}, err
	}
	if w.session == nil {
		w.makeSession(c.SessionID, c.AgentID, "", nil)
	}
	run := &Run{
		RunID: c.RunID, SessionID: c.SessionID, AgentID: cmp.Or(c.AgentID, w.session.AgentID),
		ParentRunID: c.ParentRunID, Kind: c.Kind, Status: StatusQueued,
		Request: RunRequestSummary{
			SourcePlugin: cmp.Or(c.SourcePlugin, DefaultSourcePlugin),
			SourceKind:   cmp.Or(c.SourceKind, DefaultSourceKind),
			ActorID:      cmp.Or(c.ActorID, c.Caller, DefaultActorID),
			TextPreview:  c.preview,
		},
		Metadata: c.Metadata, PayloadDigest: digest,
		SubmittedAtMs: w.nowMs, UpdatedAtMs: w.nowMs, QueuedAhead: w.session.QueuedCount, Input: c.Input,
	}
	w.addRun(run)
	w.emit(run, EventAccepted, plainEvent{EventAccepted})
	if c.Key != "" {
		w.record(*c.recordKey(), fingerprint(OperationCreateRun, c.target(), c.canonical), run.RunID)
	}
	if c.Claim == nil && c.Suspend == nil {
		w.enqueue(run)
		return Reply{Run: w.recordOf(run)}, nil
	}
	return c.startAtOnce(w, run)
}

// target is what the fingerprint of a keyed call names: the session, when the
// caller named it.
func (c *CreateRun) target() string {
	if c.SessionGiven {
		return c.SessionID
	}
	return "-"
}

// admit checks that the session takes this run now.
func (c *CreateRun) admit(w *work) error {
	if w.session == nil {
		return nil
	}
	if w.session.EndedAtMs != 0 {
		return newError(CodeSessionEnded, "session %s has ended", c.SessionID)
	}
	if active := w.activeRun(); active != nil {
		w.expireDue(active)
	}
	busy := w.session.ActiveRunID != "" || w.session.QueuedCount > 0
	switch {
	case busy && c.Inline:
		return newError(CodeSessionBusy, "session %s has a run that is active or queued", c.SessionID)
	case busy && (c.Claim != nil || c.Suspend != nil):
		return newError(CodeRunNotClaimable, "session %s has a run that is active or queued", c.SessionID)
	}
	return nil
}

// startAtOnce lets the caller run what it made, or wait with it, in the same
// transaction (v1-work.md "Runs").
func (c *CreateRun) startAtOnce(w *work, run *Run) (Reply, error) {
	w.start(run)
	if c.Claim != nil {
		w.lease(run, c.Claim.WorkerID, c.Claim.LeaseMs)
	}
	if c.Suspend != nil {
		w.suspend(run, &c.suspending)
	}
	record := w.recordOf(run)
	// A suspension without hold leaves the lease only to one who needs not wait.
	if c.Claim == nil || c.Suspend != nil && !c.Suspend.Hold && run.LeaseExpiresAtMs == 0 {
		return Reply{Run: record}, nil
	}
	claim := record.ClaimOf()
	return Reply{Run: record, Claim: &claim}, nil
}

type queuedEvent struct {
	Type     EventType `json:"type"`
	Position int64     `json:"position"`
}

// enqueue puts a new run at the end of its session's queue.
func (w *work) enqueue(run *Run) {
	w.session.QueuedCount++
	w.emit(run, EventQueued, queuedEvent{EventQueued, run.QueuedAhead + 1})
	w.promote()
}

// start gives a queued run the session's slot.
func (w *work) start(run *Run) {
	w.move(run, StatusRunning)
	run.StartedAtMs = w.nowMs
	run.ClaimableAtMs = w.nowMs
	w.session.ActiveRunID = run.RunID
	w.emit(run, EventStarted, plainEvent{EventStarted})
}

const previewLength = 160

// textPreview is the beginning of a run's input for lists: of the text itself when
// the input is one, else of its compact JSON.
func textPreview(input JSON) string {
	var text string
	if KindOf(input) != '"' || json.Unmarshal(input, &text) != nil {
		compact, err := CompactJSON(input)
		if err != nil || KindOf(input) == 'n' {
			return ""
		}
		text = string(compact)
	}
	return shorten(text)
}

// shorten cuts a text to what a list shows of it.
func shorten(text string) string {
	shown := 0
	for at := range text {
		if shown == previewLength {
			return previewText(text[:at]) + "…"
		}
		shown++
	}
	return previewText(text)
}

// previewText makes a text fit for a column of its own, which cannot hold what a
// JSON text can: the character NUL.
func previewText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
}

// digestOf identifies a payload, so that the very same call is known again.
func digestOf(value any) (string, error) {
	digest, err := Digest(value)
	if err != nil {
		return "", invalid(Fault{Detail: "has no canonical JSON form"})
	}
	return digest, nil
}
