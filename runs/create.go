package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// CreateRun creates a run, and its session when that does not exist
// (docs/spec/v1.md#create-a-run).
//
// A run of [api.KindCall] bypasses the queue: it requires Suspend, and neither waits for other
// runs of its session nor blocks them.
//
// Reply: Run, and Claim when the caller holds a lease afterwards. That needs Claim; Suspend
// without Hold ends the lease, unless rules settle everything. Or Existing or Replayed, which
// set ReplayRunID and leave Run nil. Errors: invalid_request; invalid_idempotency_key;
// idempotency_conflict; id_conflict; session_ended; session_busy (Inline); run_not_claimable
// (Claim or Suspend while another run is active or queued, except for calls); queue_full
// (MaxQueuedRuns queued runs or open calls, or MaxQueuedBytes).
type CreateRun struct {
	SessionID string // generated when empty
	RunID     string // generated when empty
	Kind      api.RunKind
	Input     api.JSON
	// CallersInput is the original input if the API layer has extended it. The fingerprint covers
	// it. Nil means Input.
	CallersInput api.JSON
	AgentID      string // the session's when empty
	ParentRunID  string
	Metadata     api.JSON
	SourcePlugin string
	SourceKind   string
	ActorID      string
	// Session labels the session. The fingerprint does not cover it, because it does not affect the
	// run.
	Session *api.SessionAbout
	Claim   *api.ClaimOptions
	Suspend *api.Suspension
	// ReviewRequestIDs is as in Suspend.
	ReviewRequestIDs []string
	// Inline refuses to queue: no other run may be active or queued.
	Inline bool
	// Key is the caller's idempotency key, empty for none. SessionGiven says whether the caller
	// named the session. Without it the key is unique per Principal and Caller
	// (docs/spec/v1.md#key-scope).
	Key          string
	SessionGiven bool
	Caller       string
	// SessionPrefix begins the session's id when it is generated.
	SessionPrefix string
	// Principal is the caller's principal. A RunID that another principal has used is id_conflict,
	// whatever the payload.
	Principal string
	// OnBehalfOf is the person whose token the caller used, "" for none.
	OnBehalfOf string

	runIDGiven  bool
	sessionMade bool
	countQueue  bool // set if the decision needs CountQueue
	canonical   []byte
	preview     string
	suspending  raisedSuspension
}

// createRunBody is the body that the call's fingerprint covers: the members as given, without
// the key and the members that the service fills in.
type createRunBody struct {
	RunID        string            `json:"run_id,omitempty"`
	Kind         api.RunKind       `json:"kind,omitempty"`
	Input        api.JSON          `json:"input"`
	AgentID      string            `json:"agent_id,omitempty"`
	ParentRunID  string            `json:"parent_run_id,omitempty"`
	Metadata     api.JSON          `json:"metadata,omitzero"`
	SourcePlugin string            `json:"source_plugin,omitempty"`
	SourceKind   string            `json:"source_kind,omitempty"`
	ActorID      string            `json:"actor_id,omitempty"`
	Claim        *api.ClaimOptions `json:"claim,omitempty"`
	// Suspend is the canonical form of the suspension.
	Suspend api.JSON `json:"suspend,omitzero"`
}

// Spec implements Command.
func (c *CreateRun) Spec() Spec {
	label, origin := givenAbout(c.Session)
	spec := Spec{
		Name: "CreateRun", Actions: chats, Target: TargetNew, AgentID: c.AgentID,
		size: Size{Rows: 1, NewRows: 1, Bytes: len(c.Input) + len(c.Metadata) + aboutBytes(label, origin)}, suspends: c.Suspend,
		raised: c.raised(), above: &c.suspending.above, countQueue: &c.countQueue,
	}
	switch {
	case c.Suspend != nil:
		spec.Adds.Prompts = int64(len(c.Suspend.Approvals) + len(c.Suspend.Questions))
		spec.ExcludesRequester = excludesRequester(c.Suspend)
	case c.Claim == nil:
		spec.Adds.Queued = 1
	}
	return spec
}

// Needs implements Command.
func (c *CreateRun) Needs() Needs {
	needs := Needs{SessionID: c.SessionID, NewSession: c.sessionMade, Record: c.recordKey(), CountQueue: c.countQueue}
	if c.runIDGiven {
		needs.ChosenRunID = c.RunID
	}
	needs.CountCalls = c.Kind == api.KindCall
	if c.Suspend != nil {
		needs.Rules, needs.RuleDigests = len(c.Suspend.Approvals) > 0, c.suspending.inputDigests
	}
	return needs
}

func (c *CreateRun) recordKey() *model.RecordKey {
	if c.SessionGiven {
		return recordKey(model.OperationCreateRun, c.SessionID, c.Key)
	}
	return recordKey(model.OperationCreateRun, CallerScope(c.Principal, c.Caller), c.Key)
}

func (c *CreateRun) prepare(call *Call, newID IDSource) error {
	if call.Caller != nil {
		c.Principal, c.OnBehalfOf, c.SessionPrefix = call.Caller.Principal, call.Caller.OnBehalfOf, reads.SessionPrefixFor(call.Caller)
	}
	c.leaveOutDefaults()
	var faults refusal.Faults
	faults.OptionalID("/session_id", c.SessionID)
	faults.OptionalID("/run_id", c.RunID)
	faults.OptionalID("/agent_id", c.AgentID)
	faults.OptionalID("/parent_run_id", c.ParentRunID)
	switch {
	case c.Kind != "" && c.Kind != api.KindCall:
		faults.Add("/kind", "must be %q or %q", api.KindInput, api.KindCall)
	case c.Kind == api.KindCall && c.Suspend == nil:
		faults.Add("/suspend", "is required for a call")
	}
	if c.Input == nil {
		faults.Add("/input", "is required")
	}
	faults.Object("/metadata", c.Metadata)
	faults.Text("/source_plugin", c.SourcePlugin, api.MaxNameLength)
	faults.Text("/source_kind", c.SourceKind, api.MaxNameLength)
	faults.Text("/actor_id", c.ActorID, api.MaxNameLength)
	label, origin := givenAbout(c.Session)
	checkAbout("/session", label, origin, &faults)
	if c.Claim != nil {
		faults.ID("/claim/worker_id", c.Claim.WorkerID)
		faults.Lease("/claim/lease_ms", c.Claim.LeaseMs)
	}
	if c.Suspend != nil && c.Suspend.Hold && c.Claim == nil {
		faults.Add("/suspend/hold", "needs a claim")
	}
	if c.Suspend != nil {
		checkSuspension(c.Suspend, "/suspend", &faults)
		checkCallbacks(c.Suspend, "/suspend", call.CheckCallback, &faults)
	}
	if err := cmp.Or(faults.Err(), prepareKey(&c.Key)); err != nil {
		return err
	}
	// The body is encoded before ids are filled in, so that a repeated call has the same
	// fingerprint.
	given := c.Input
	if c.CallersInput != nil {
		given = c.CallersInput
	}
	var err error
	var suspend api.JSON
	if c.Suspend != nil {
		if suspend, err = canonicalBody(c.Suspend); err != nil {
			return err
		}
	}
	c.canonical, err = canonicalBody(createRunBody{
		RunID: c.RunID, Kind: c.Kind, Input: given, AgentID: c.AgentID, ParentRunID: c.ParentRunID,
		Metadata: c.Metadata, SourcePlugin: c.SourcePlugin, SourceKind: c.SourceKind, ActorID: c.ActorID,
		Claim: c.Claim, Suspend: suspend,
	})
	if err != nil {
		return err
	}
	if c.Suspend != nil {
		if c.suspending, err = prepareSuspension(c.Suspend, suspend, call, newID); err != nil {
			return err
		}
		if err := c.seal(call.Sealer); err != nil {
			return err
		}
		c.Suspend.SuspensionID = cmp.Or(c.Suspend.SuspensionID, newID(PrefixSuspension))
	}
	c.runIDGiven = c.RunID != ""
	c.RunID = cmp.Or(c.RunID, newID(PrefixRun))
	if c.SessionID == "" {
		c.SessionID, c.sessionMade = c.SessionPrefix+newID(PrefixSession), true
	}
	c.Kind = cmp.Or(c.Kind, api.KindInput)
	c.preview = textPreview(given)
	return nil
}

// seal encrypts sensitive values under a new data key, because the run does not exist yet.
func (c *CreateRun) seal(sealer Sealer) error {
	if c.suspending.secrets == nil {
		return nil
	}
	if sensitiveInputs(c.Suspend) || len(c.suspending.secrets.callbacks) > 0 {
		c.canonical = document.Encode(sealer.Fingerprint(c.canonical))
	}
	return cannotSeal(c.suspending.seal(sealer.NewDataKey()))
}

// leaveOutDefaults clears members that were given with their default value, so they equal absent
// ones (docs/spec/v1.md#fingerprint).
func (c *CreateRun) leaveOutDefaults() {
	document.AbsentNull(&c.Metadata)
	if c.Kind == api.KindInput {
		c.Kind = ""
	}
	if c.SourcePlugin == api.DefaultSourcePlugin {
		c.SourcePlugin = ""
	}
	if c.SourceKind == api.DefaultSourceKind {
		c.SourceKind = ""
	}
	if c.Claim != nil && c.Claim.LeaseMs == api.DefaultLeaseMs {
		c.Claim.LeaseMs = 0
	}
}

func (c *CreateRun) raised() *raisedSuspension {
	if c.Suspend == nil || len(c.Suspend.Approvals) == 0 {
		return nil
	}
	return &c.suspending
}

func (c *CreateRun) decide(w *workingCopy) (Reply, error) {
	reply, done, err := w.findRecord(c.recordKey(), c.target(), c.canonical, nil)
	if done {
		return reply, err
	}
	digest := fingerprint(model.OperationCreateRun, "", c.canonical)
	if existing, there := w.state.Runs[c.RunID]; there && c.runIDGiven {
		if existing.Principal != "" && existing.Principal != c.Principal || existing.PayloadDigest != digest || c.SessionGiven && existing.SessionID != c.SessionID {
			return Reply{}, refusal.RunIDTaken(c.RunID)
		}
		return Reply{Existing: true, ReplayRunID: c.RunID}, nil
	}
	if c.runIDGiven && w.named(c.RunID) != nil {
		return Reply{}, nameTaken(c.RunID)
	}
	if err := c.admit(w); err != nil {
		return Reply{}, err
	}
	if c.Suspend != nil {
		if err := w.checkEscalations(c.Suspend, "/suspend"); err != nil {
			return Reply{}, err
		}
	}
	if err := cmp.Or(w.checkMatched(c.raised()), w.checkRaisedAncestors(c.raised(), c.ParentRunID)); err != nil {
		return Reply{}, err
	}
	if w.session == nil {
		w.makeSession(model.Session{SessionID: c.SessionID, AgentID: c.AgentID, Principal: c.Principal})
	}
	if label, origin := givenAbout(c.Session); label != nil || origin != nil {
		w.session.About, _ = mergeAbout(w.session.About, label, origin)
	}
	run := &model.Run{
		RunID: c.RunID, SessionID: c.SessionID, AgentID: cmp.Or(c.AgentID, w.session.AgentID),
		ParentRunID: c.ParentRunID, Kind: c.Kind, Status: api.StatusQueued,
		Request: api.RunRequestSummary{
			SourcePlugin: cmp.Or(c.SourcePlugin, api.DefaultSourcePlugin),
			SourceKind:   cmp.Or(c.SourceKind, api.DefaultSourceKind),
			ActorID:      cmp.Or(c.ActorID, c.Caller, api.DefaultActorID),
			TextPreview:  c.preview,
		},
		Metadata: c.Metadata, Principal: c.Principal, PayloadDigest: digest,
		SubmittedAtMs: w.nowMs, UpdatedAtMs: w.nowMs, QueuedAhead: w.session.QueuedCount, Input: c.Input,
	}
	w.addRun(run)
	w.noteRequesters(c.Principal, c.OnBehalfOf, c.Caller)
	w.emit(run, api.EventAccepted, plainEvent{api.EventAccepted})
	if c.runIDGiven {
		w.writeRecord(model.NameKey(run.RunID), digest, run.RunID)
	}
	if c.Key != "" {
		w.writeRecord(*c.recordKey(), fingerprint(model.OperationCreateRun, c.target(), c.canonical), run.RunID)
	}
	if c.Claim == nil && c.Suspend == nil {
		w.enqueue(run)
		return Reply{Run: w.recordOf(run)}, nil
	}
	return c.startAtOnce(w, run)
}

// target returns the fingerprint's target: the session when the caller named it, else "-".
func (c *CreateRun) target() string {
	if c.SessionGiven {
		return c.SessionID
	}
	return "-"
}

// admit checks that the session accepts this run now. It expires the active run's due requests,
// which may end that run.
func (c *CreateRun) admit(w *workingCopy) error {
	if w.session == nil {
		return nil
	}
	if w.session.EndedAtMs != 0 {
		return refusal.New(api.CodeSessionEnded, "session %s has ended", c.SessionID)
	}
	if c.Kind == api.KindCall {
		return w.checkCalls(c.Suspend)
	}
	if active := w.activeRun(); active != nil {
		w.expireDue(active)
	}
	busy := w.session.ActiveRunID != "" || w.session.QueuedCount > 0
	switch {
	case busy && c.Inline:
		return refusal.New(api.CodeSessionBusy, "session %s has a run that is active or queued", c.SessionID)
	case busy && (c.Claim != nil || c.Suspend != nil):
		return refusal.New(api.CodeRunNotClaimable, "session %s has a run that is active or queued", c.SessionID)
	case w.session.QueuedCount >= api.MaxQueuedRuns:
		return refusal.New(api.CodeQueueFull, "session %s has %d queued runs, as many as it may", c.SessionID, w.session.QueuedCount)
	}
	return c.checkQueueBytes(w)
}

// checkQueueBytes returns queue_full when a new run exceeds the queue's byte limit.
func (c *CreateRun) checkQueueBytes(w *workingCopy) error {
	if w.session.QueuedCount < uncountedRuns {
		return nil
	}
	queued := w.state.Queued
	if queued == nil {
		if queued = w.countQueue(); queued == nil {
			return errCountQueue
		}
	}
	if bytes := queued.Bytes + int64(len(c.Input)+len(c.Metadata)); bytes > api.MaxQueuedBytes {
		return refusal.New(api.CodeQueueFull, "the queued runs of session %s would have %d bytes; at most %d are allowed", c.SessionID, bytes, api.MaxQueuedBytes)
	}
	return nil
}

// startAtOnce claims or suspends the new run in the same transaction
// (docs/spec/v1.md#claim-and-suspend-on-creation).
func (c *CreateRun) startAtOnce(w *workingCopy, run *model.Run) (Reply, error) {
	w.startRun(run)
	if c.Claim != nil {
		w.grantLease(run, c.Claim.WorkerID, c.Principal, c.OnBehalfOf, c.Claim.LeaseMs)
	}
	if c.Suspend != nil {
		w.suspend(run, &c.suspending)
		w.oweReviews(run, c.Suspend, c.ReviewRequestIDs)
	}
	record := w.recordOf(run)
	// A suspension without hold ends the lease, unless rules settled everything.
	if c.Claim == nil || c.Suspend != nil && !c.Suspend.Hold && run.LeaseExpiresAtMs == 0 {
		return Reply{Run: record}, nil
	}
	return Reply{Run: record, Claim: new(record.ClaimOf())}, nil
}
