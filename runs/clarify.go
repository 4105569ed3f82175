package runs

import (
	"cmp"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// AskClarification raises a question of a child's run to its parent's session
// (docs/spec/v1.md#ask-the-parent). It writes the request in the child's session and an effect,
// which creates the clarification's run in the parent's. [Ask] does both before it returns.
//
// Reply: Run, with the question even if a checkpoint includes its answer; Clarification; Effect (which creates the
// clarification's run); Existing when the run already asked the same. Errors: invalid_request; run_not_found; lease_lost;
// run_state_conflict; no_parent_session; ParentRefusal; mailbox_full; id_conflict when the run or
// the session's clarifications already used the request id with another payload.
//
// The digest of the question covers the members with a name in JSON.
type AskClarification struct {
	RunID   string                  `json:"-"`
	Fence   int64                   `json:"-"`
	Request api.UserQuestionRequest `json:"request"`
	// Park suspends the run until the answer and ends its lease.
	Park bool `json:"park,omitzero"`
	// Checkpoint is stored when the run is parked, and requires Park; see [api.Suspension].
	Checkpoint api.JSON `json:"checkpoint,omitzero"`
	// Project and channel ids of both sides. The service only shows them with the question
	// (docs/spec/v1.md#requester).
	RequesterProjectIDs []string `json:"requester_project_ids,omitempty"`
	RequesterChannelIDs []string `json:"requester_channel_ids,omitempty"`
	ParentProjectIDs    []string `json:"parent_project_ids,omitempty"`
	ParentChannelIDs    []string `json:"parent_channel_ids,omitempty"`
	// ParentRefusal is why the parent's session accepts no question, read by the caller before, or
	// nil. It does not refuse the repetition of an existing question.
	ParentRefusal *refusal.Error `json:"-"`

	digest             string
	clarificationRunID string
	suspensionID       string
}

// OpenClarification creates a clarification's run in the parent's session. The run starts in a
// waiting status and takes no slot. Only an AskClarification's effect issues this command; the
// run id makes it idempotent.
//
// Reply: Run; or Existing and ReplayRunID. Errors: session_not_found; session_ended;
// questions_full; id_conflict.
type OpenClarification struct {
	SessionID string
	RunID     string
	Request   api.UserQuestionRequest
	Requester api.Requester

	digest string
	raised raisedSuspension
}

// DeliverAnswer delivers the answer to a clarification to the child's session: as a message,
// and as the resolution with which a parked run resumes (docs/spec/v1.md#delivery). Only
// effects issue this command; the message id makes it idempotent.
//
// Reply: Messages has the message; Existing. Errors: session_not_found; run_not_found, even if a later
// run has the id; mailbox_full, unless a run is parked on the answer.
type DeliverAnswer struct {
	SessionID string
	RunID     string // the run that asked
	RequestID string
	// ClarificationRunID is the clarification's run. If it is empty, as in tests, any run with the id gets the answer.
	ClarificationRunID string

	FromSessionID string
	Message       api.JSON // payload of the message
	Resolution    api.JSON // an api.Resolution, as recorded in the parent's session
}

// Spec implements Command.
func (c *AskClarification) Spec() Spec {
	return Spec{
		Name: "AskClarification", Actions: works, Target: TargetNamed, Lease: Lease{c.RunID, c.Fence}, Adds: Adds{Prompts: 1},
		size: oneRow, suspends: &api.Suspension{Questions: []api.UserQuestionRequest{c.Request}, Checkpoint: c.Checkpoint},
	}
}

// Needs implements Command.
func (c *AskClarification) Needs() Needs {
	ids := validIDs(c.Request.ID)
	return Needs{RunID: c.RunID, RequestIDs: ids, SessionRequestIDs: ids, SessionRequestKind: model.KindClarification, CountMailbox: true}
}

func (c *AskClarification) prepare(call *Call, newID IDSource) error {
	document.AbsentNull(&c.Checkpoint)
	var faults refusal.Faults
	checkQuestionRequest(&c.Request, "/request", new(document.Work), &faults)
	if model.Sensitive(&c.Request) {
		faults.Add("/request/sensitive", "must not be given for a parent's question: its answer goes through a mailbox")
	}
	checkCallback(c.Request.Callback, "/request", nil, &faults)
	if c.Request.Escalation != nil {
		faults.Add("/request/escalation", "must not be given for a parent's question")
	}
	if len(model.MessageIDOf(c.Request.ID)) > api.MaxIDLength {
		faults.Add("/request/id", "must have at most %d characters in a clarification", api.MaxIDLength-len(model.MessageIDPrefix))
	}
	if c.Checkpoint != nil && !c.Park {
		faults.Add("/checkpoint", "needs park")
	}
	for _, list := range []struct {
		at  string
		ids []string
	}{
		{"/requester_project_ids", c.RequesterProjectIDs},
		{"/requester_channel_ids", c.RequesterChannelIDs},
		{"/parent_project_ids", c.ParentProjectIDs},
		{"/parent_channel_ids", c.ParentChannelIDs},
	} {
		if len(list.ids) > api.MaxContextIDs {
			faults.Add(list.at, "must have at most %d entries", api.MaxContextIDs)
			continue
		}
		for i, id := range list.ids {
			faults.RequiredText(fmt.Sprintf("%s/%d", list.at, i), id, api.MaxNameLength)
		}
	}
	if err := faults.Err(); err != nil {
		return err
	}
	var err error
	c.digest, err = digestOf(c)
	c.Request.Handle, c.Request.Traceparent = newID(PrefixHandle), call.Traceparent
	c.clarificationRunID = newID(PrefixRun)
	c.suspensionID = newID(PrefixSuspension)
	return err
}

func (c *AskClarification) decide(w *workingCopy) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if c.Fence != run.Fence || c.Fence == 0 {
		return Reply{}, w.checkHolder(run, c.Fence)
	}
	if w.session.ParentSessionID == "" {
		return Reply{}, refusal.New(api.CodeNoParentSession, "session %s has no parent session", run.SessionID)
	}
	if known := w.askedBefore(run, c.Request.ID); known != nil && !model.Terminal(run.Status) {
		if known.RunID != run.RunID || known.SuspensionDigest != c.digest || known.Kind != model.KindClarification {
			return Reply{}, refusal.New(api.CodeIDConflict, "request %s was used before by run %s with another payload", c.Request.ID, known.RunID)
		}
		body := known.Clarification()
		return Reply{
			Run: w.recordWith(run, known.SuspensionID), Clarification: &body.WaitingOn, Effect: c.openEffect(run, body.Request, body.WaitingOn),
			Existing: true,
		}, nil
	}
	if err := w.checkHolder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	if c.ParentRefusal != nil {
		return Reply{}, c.ParentRefusal
	}
	open := w.openRequests(run.RunID)
	if len(open) >= api.MaxOpenRequests {
		return Reply{}, refusal.Invalid(api.Fault{Pointer: "/request", Detail: "the run would have too many open requests"})
	}
	after := run.ResumeAfter
	if c.startsResume(run) {
		after = resumeAfter(run, nil)
	}
	if err := cmp.Or(checkOpenBytes(run, open, &c.Request), w.checkResume(run, after, 1), w.checkMailbox(len(`{}`))); err != nil {
		return Reply{}, err
	}
	on, effect := c.ask(w, run)
	return Reply{Run: w.recordOf(run), Clarification: &on, Effect: effect}, nil
}

// openEffect returns the effect that creates the clarification's run in the parent's session.
func (c *AskClarification) openEffect(run *model.Run, question api.UserQuestionRequest, on api.WaitingOn) *model.Effect {
	return &model.Effect{
		SessionID: run.SessionID, EffectID: model.EffectID(api.EffectOpenClarification, on.RunID), RunID: run.RunID,
		Kind: api.EffectOpenClarification, TargetSessionID: on.SessionID,
		Payload: document.Encode(openClarificationPayload{RunID: on.RunID, Request: question, Requester: c.requester(run, question)}),
	}
}

func (c *AskClarification) requester(run *model.Run, question api.UserQuestionRequest) api.Requester {
	return api.Requester{
		RequesterAgentID: run.AgentID, RequesterSessionID: run.SessionID, RequesterRunID: run.RunID,
		RequesterToolCallID: question.ToolCallID,
		RequesterProjectIDs: c.RequesterProjectIDs, RequesterChannelIDs: c.RequesterChannelIDs,
		ParentProjectIDs: c.ParentProjectIDs, ParentChannelIDs: c.ParentChannelIDs,
	}
}

// startsResume reports whether the clarification includes earlier resolutions, as a suspension may.
func (c *AskClarification) startsResume(run *model.Run) bool {
	return c.Park && (c.Checkpoint != nil || !run.Attached)
}

// askedBefore returns the run's request with that id, or else another run's clarification with
// that id: the messages with the two answers would have the same id.
func (w *workingCopy) askedBefore(run *model.Run, requestID string) *model.Request {
	if request := w.request(run.RunID, requestID); request != nil {
		return request
	}
	return w.newestOf(requestID, model.KindClarification, func(*model.Run) bool { return true })
}

// ask writes the child's side of a clarification, and the effect that creates the parent's side.
func (c *AskClarification) ask(w *workingCopy, run *model.Run) (api.WaitingOn, *model.Effect) {
	question := c.Request
	question.CreatedAtMs = w.nowMs
	question.ExpiresAtMs, question.ExpiresAfterMs = w.deadline(question.ExpiresAtMs, question.ExpiresAfterMs), nil
	on := api.WaitingOn{SessionID: w.session.ParentSessionID, RunID: c.clarificationRunID, RequestID: question.ID}

	if c.Park {
		if c.Checkpoint != nil {
			w.storeCheckpoint(run, c.Checkpoint)
		}
		if c.startsResume(run) {
			run.ResumeAfter = resumeAfter(run, nil)
		}
		run.SuspensionID = c.suspensionID
		run.Attempt = 0
		run.FailedAttempts, run.LastError = 0, ""
		run.ClaimableAtMs = 0
		w.endLease(run, model.LeaseSuspended, c.digest)
	}
	run.StalledAttempts = 0
	// Callers see the handle of the request in the parent's session. This one only fills the required
	// column.
	handle := question.Handle
	question.Handle = ""
	w.addRequest(&model.Request{
		SessionID: run.SessionID, RunID: run.RunID, RequestID: question.ID, Handle: handle,
		SuspensionID: c.suspensionID, SuspensionDigest: c.digest,
		Number: run.RaisedCount + 1, Kind: model.KindClarification, CreatedAtMs: w.nowMs,
		Body: document.Encode(model.Clarification{Request: question, WaitingOn: on, Parked: c.Park}),
	})
	run.RaisedCount++
	w.emit(run, api.EventParentClarificationRequested, clarificationRequestedEvent{
		api.EventParentClarificationRequested, question.ID, c.Park, on,
	})
	if c.Park {
		w.emit(run, api.EventWaitingForUserQuestion, parkedEvent{
			api.EventWaitingForUserQuestion, []string{}, []api.UserQuestionRequest{}, on,
		})
	}
	w.updateWaiting(run)
	effect := c.openEffect(run, question, on)
	w.enqueueEffect(effect)
	return on, effect
}

// Spec implements Command.
func (c *OpenClarification) Spec() Spec {
	return Spec{Name: "OpenClarification", Actions: works, Unleased: true, Target: TargetElsewhere, Settles: true, size: oneRow}
}

// Needs implements Command.
func (c *OpenClarification) Needs() Needs {
	return Needs{SessionID: c.SessionID, ChosenRunID: c.RunID, CountClarifications: true}
}

func (c *OpenClarification) prepare(_ *Call, newID IDSource) error {
	c.Request.Handle = ""
	var err error
	c.digest, err = digestOf(openClarificationPayload{c.RunID, c.Request, c.Requester})
	c.Request.Handle = newID(PrefixHandle)
	c.raised = raisedSuspension{
		Suspension: &api.Suspension{SuspensionID: c.RunID, Questions: []api.UserQuestionRequest{c.Request}}, digest: c.digest,
	}
	return cmp.Or(err, c.raised.makeForms())
}

func (c *OpenClarification) decide(w *workingCopy) (Reply, error) {
	if existing := w.state.Runs[c.RunID]; existing != nil {
		if existing.PayloadDigest != c.digest || existing.SessionID != c.SessionID {
			return Reply{}, refusal.New(api.CodeIDConflict, "run %s exists with another payload", c.RunID)
		}
		return Reply{Existing: true, ReplayRunID: c.RunID}, nil
	}
	switch {
	case w.session == nil:
		return Reply{}, refusal.UnknownSession(c.SessionID)
	case w.session.EndedAtMs != 0:
		return Reply{}, refusal.New(api.CodeSessionEnded, "session %s has ended", c.SessionID)
	}
	run := c.run(w.session.AgentID, w.nowMs)
	if err := w.checkClarifications(2 * len(run.Input)); err != nil {
		return Reply{}, err
	}
	w.addRun(run)
	w.emit(run, api.EventAccepted, plainEvent{api.EventAccepted})
	run.SuspensionID = c.RunID
	w.raiseRequests(run, &c.raised)
	w.expireDue(run)
	return Reply{Run: w.recordOf(run)}, nil
}

// run returns the clarification's run as it is when it is opened.
func (c *OpenClarification) run(agentID string, nowMs int64) *model.Run {
	return &model.Run{
		RunID: c.RunID, SessionID: c.SessionID, AgentID: agentID,
		Kind: api.KindParentClarification, Status: api.StatusWaitingForUserQuestion,
		Request: api.RunRequestSummary{
			SourcePlugin: api.DefaultSourcePlugin, SourceKind: string(api.KindParentClarification),
			ActorID:       cmp.Or(c.Requester.RequesterAgentID, model.DefaultAgentID),
			TextPreview:   clarificationPreview(c.Request),
			QuestionCount: int64(len(c.Request.Questions)),
		},
		Requester: document.Encode(c.Requester), PayloadDigest: c.digest, Input: document.Encode(c.Request),
		SubmittedAtMs: nowMs, StartedAtMs: nowMs, UpdatedAtMs: nowMs,
	}
}

// Spec implements Command.
func (c *DeliverAnswer) Spec() Spec {
	return Spec{Name: "DeliverAnswer", size: oneRow}
}

// Needs implements Command.
func (c *DeliverAnswer) Needs() Needs {
	return Needs{
		SessionID: c.SessionID, RunID: c.RunID, RequestIDs: validIDs(c.RequestID),
		MessageID: model.MessageIDOf(c.RequestID), CountMailbox: true,
	}
}

func (c *DeliverAnswer) prepare(*Call, IDSource) error { return nil }

func (c *DeliverAnswer) decide(w *workingCopy) (Reply, error) {
	if w.session == nil {
		return Reply{}, refusal.UnknownSession(c.SessionID)
	}
	messageID := model.MessageIDOf(c.RequestID)
	if known := w.message(messageID); known != nil {
		return Reply{Messages: []model.Message{*known}, Existing: true}, nil
	}
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	request := w.request(c.RunID, c.RequestID)
	asked := request != nil && request.Kind == model.KindClarification && request.Clarification().WaitingOn.RunID == c.ClarificationRunID
	if c.ClarificationRunID != "" && !asked {
		// The run that asked is deleted, and a later run with its id has asked nothing, or something else.
		return Reply{}, refusal.UnknownRun(c.RunID)
	}
	// A run that is parked on the answer always gets it: claiming the run acknowledges the message.
	if parked := request != nil && request.Open() && request.Parked(); !parked {
		if err := w.checkMailbox(len(c.Message)); err != nil {
			return Reply{}, err
		}
	}
	message := &model.Message{
		SessionID: c.SessionID, MessageID: messageID, RunID: c.RunID, FromSessionID: c.FromSessionID,
		State: api.MessagePending, Subject: subjectAnswer, Payload: c.Message, CreatedAtMs: w.nowMs,
	}
	if w.childIsOver(c.RunID) {
		message.State, message.LastError = api.MessageDeadLetter, childIsClosed
	}
	w.changes.NewMessages = append(w.changes.NewMessages, message)

	if model.Terminal(run.Status) {
		return Reply{Messages: []model.Message{*message}}, nil
	}
	if request != nil && request.Open() && request.Kind == model.KindClarification {
		var resolution api.Resolution
		document.DecodeStored(c.Resolution, &resolution)
		_, value := w.settleRequest(run, request, resolution)
		w.emitAnswered(run, value)
		w.updateWaiting(run)
	}
	return Reply{Messages: []model.Message{*message}}, nil
}
