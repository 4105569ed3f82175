package runs

import (
	"cmp"
	"fmt"
)

// askBody is what identifies the question of a child.
type askBody struct {
	Request             UserQuestionRequest `json:"request"`
	Park                bool                `json:"park,omitzero"`
	Checkpoint          JSON                `json:"checkpoint,omitzero"`
	RequesterProjectIDs []string            `json:"requester_project_ids,omitempty"`
	RequesterChannelIDs []string            `json:"requester_channel_ids,omitempty"`
	ParentProjectIDs    []string            `json:"parent_project_ids,omitempty"`
	ParentChannelIDs    []string            `json:"parent_channel_ids,omitempty"`
}

// Needs implements Command.
func (c *AskClarification) Needs() Needs {
	ids := validIDs(c.Request.ID)
	return Needs{RunID: c.RunID, RequestIDs: ids, SessionRequestIDs: ids}
}

func (c *AskClarification) prepare(newID IDSource) error {
	absentNull(&c.Checkpoint)
	var faults faultList
	checkQuestionRequest(&c.Request, "/request", &faults)
	if len(MessageIDOf(c.Request.ID)) > MaxIDLength {
		faults.add("/request/id", "must have at most %d characters in a clarification", MaxIDLength-len(messageIDOfAnswer))
	}
	if c.Checkpoint != nil && !c.Park {
		faults.add("/checkpoint", "needs park")
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
		if len(list.ids) > MaxContextIDs {
			faults.add(list.at, "must have at most %d entries", MaxContextIDs)
			continue
		}
		for i, id := range list.ids {
			faults.requiredText(fmt.Sprintf("%s/%d", list.at, i), id, MaxNameLength)
		}
	}
	if err := faults.err(); err != nil {
		return err
	}
	var err error
	c.digest, err = digestOf(askBody{
		c.Request, c.Park, c.Checkpoint,
		c.RequesterProjectIDs, c.RequesterChannelIDs, c.ParentProjectIDs, c.ParentChannelIDs,
	})
	c.Request.Handle = newID(PrefixHandle)
	c.clarificationRunID = newID(PrefixRun)
	c.suspensionID = newID(PrefixSuspension)
	return err
}

func (c *AskClarification) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if c.Fence != run.Fence || c.Fence == 0 {
		return Reply{}, w.holder(run, c.Fence)
	}
	if w.session.ParentSessionID == "" {
		return Reply{}, newError(CodeNoParentSession, "session %s has no parent session", run.SessionID)
	}
	if known := w.askedBefore(run, c.Request.ID); known != nil && !Terminal(run.Status) {
		if known.RunID != run.RunID || known.SuspensionDigest != c.digest || known.Kind != KindClarification {
			return Reply{}, newError(CodeIDConflict, "request %s was used before by run %s with another payload", c.Request.ID, known.RunID)
		}
		body := known.Clarification()
		reply := c.reply(w, run, body.Request, body.WaitingOn)
		reply.Existing = true
		return reply, nil
	}
	if err := w.holder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	if c.ParentRefusal != nil {
		return Reply{}, c.ParentRefusal
	}
	if len(w.open(run.RunID)) >= MaxOpenRequests {
		return Reply{}, invalid(Fault{Pointer: "/request", Detail: "the run would have too many open requests"})
	}
	question, on := c.ask(w, run)
	return c.reply(w, run, question, on), nil
}

func (c *AskClarification) reply(w *work, run *Run, question UserQuestionRequest, on WaitingOn) Reply {
	return Reply{Run: w.recordOf(run), Clarification: &on, Open: &OpenClarification{
		SessionID: on.SessionID, RunID: on.RunID, Request: question, Requester: c.requester(run, question),
	}}
}

func (c *AskClarification) requester(run *Run, question UserQuestionRequest) Requester {
	return Requester{
		RequesterAgentID: run.AgentID, RequesterSessionID: run.SessionID, RequesterRunID: run.RunID,
		RequesterToolCallID: question.ToolCallID,
		RequesterProjectIDs: c.RequesterProjectIDs, RequesterChannelIDs: c.RequesterChannelIDs,
		ParentProjectIDs: c.ParentProjectIDs, ParentChannelIDs: c.ParentChannelIDs,
	}
}

// askedBefore returns the request of that id that the run has, or else another run's
// clarification of that id: the message with its answer would have the same id.
func (w *work) askedBefore(run *Run, requestID string) *Request {
	if request := w.request(run.RunID, requestID); request != nil {
		return request
	}
	return w.newestInSession(requestID, KindClarification)
}

// ask makes the child's side of a clarification and the effect that makes the
// parent's.
func (c *AskClarification) ask(w *work, run *Run) (UserQuestionRequest, WaitingOn) {
	question := c.Request
	question.CreatedAtMs = w.nowMs
	question.ExpiresAtMs, question.ExpiresAfterMs = w.deadline(question.ExpiresAtMs, question.ExpiresAfterMs), nil
	on := WaitingOn{SessionID: w.session.ParentSessionID, RunID: c.clarificationRunID, RequestID: question.ID}

	if c.Park {
		if c.Checkpoint != nil {
			w.checkpoint(run, c.Checkpoint)
		}
		if c.Checkpoint != nil || !run.Attached {
			w.takeIn(run, nil)
		}
		run.SuspensionID = c.suspensionID
		run.Attempt = 0
		run.ClaimableAtMs = 0
		w.endLease(run, LeaseSuspended, c.digest)
	}
	run.StalledAttempts = 0
	// The handle that everybody may use is the one of the request in the parent's
	// session.
	handle := question.Handle
	question.Handle = ""
	w.addRequest(&Request{
		SessionID: run.SessionID, RunID: run.RunID, RequestID: question.ID, Handle: handle,
		SuspensionID: c.suspensionID, SuspensionDigest: c.digest,
		Number: run.RaisedCount + 1, Kind: KindClarification, CreatedAtMs: w.nowMs,
		Body: encode(Clarification{Request: question, WaitingOn: on, Parked: c.Park}),
	})
	run.RaisedCount++
	w.emit(run, EventParentClarificationRequested, clarificationRequestedEvent{
		EventParentClarificationRequested, question.ID, c.Park, on,
	})
	if c.Park {
		w.emit(run, EventWaitingForUserQuestion, parkedEvent{
			EventWaitingForUserQuestion, []string{}, []UserQuestionRequest{}, on,
		})
	}
	w.waitOrGoOn(run)
	w.owe(&Effect{
		SessionID: run.SessionID, EffectID: effectID(EffectOpenClarification, on.RunID), RunID: run.RunID,
		Kind: EffectOpenClarification, TargetSessionID: on.SessionID,
		Payload: encode(openClarificationPayload{RunID: on.RunID, Request: question, Requester: c.requester(run, question)}),
	})
	return question, on
}

// Needs implements Command.
func (c *OpenClarification) Needs() Needs {
	return Needs{SessionID: c.SessionID, ChosenRunID: c.RunID}
}

func (c *OpenClarification) prepare(newID IDSource) error {
	c.Request.Handle = ""
	var err error
	c.digest, err = digestOf(openClarificationPayload{c.RunID, c.Request, c.Requester})
	c.Request.Handle = newID(PrefixHandle)
	return err
}

func (c *OpenClarification) decide(w *work) (Reply, error) {
	if existing := w.state.Runs[c.RunID]; existing != nil {
		if existing.PayloadDigest != c.digest || existing.SessionID != c.SessionID {
			return Reply{}, newError(CodeIDConflict, "run %s exists with another payload", c.RunID)
		}
		return Reply{Existing: true, ReplayRunID: c.RunID}, nil
	}
	switch {
	case w.session == nil:
		return Reply{}, UnknownSession(c.SessionID)
	case w.session.EndedAtMs != 0:
		return Reply{}, newError(CodeSessionEnded, "session %s has ended", c.SessionID)
	}
	run := &Run{
		RunID: c.RunID, SessionID: c.SessionID, AgentID: w.session.AgentID,
		Kind: KindParentClarification, Status: StatusWaitingForUserQuestion,
		Request: RunRequestSummary{
			SourcePlugin: DefaultSourcePlugin, SourceKind: string(KindParentClarification),
			ActorID:       cmp.Or(c.Requester.RequesterAgentID, DefaultAgentID),
			TextPreview:   clarificationPreview(c.Request),
			QuestionCount: int64(len(c.Request.Questions)),
		},
		Requester: encode(c.Requester), PayloadDigest: c.digest, Input: encode(c.Request),
		SubmittedAtMs: w.nowMs, StartedAtMs: w.nowMs, UpdatedAtMs: w.nowMs,
	}
	w.addRun(run)
	w.emit(run, EventAccepted, plainEvent{EventAccepted})
	run.SuspensionID = c.RunID
	w.raise(run, &raisedSuspension{
		Suspension: &Suspension{SuspensionID: c.RunID, Questions: []UserQuestionRequest{c.Request}}, digest: c.digest,
	})
	w.expireDue(run)
	return Reply{Run: w.recordOf(run)}, nil
}

// Needs implements Command.
func (c *DeliverAnswer) Needs() Needs {
	return Needs{
		SessionID: c.SessionID, RunID: c.RunID, RequestIDs: validIDs(c.RequestID),
		MessageID: MessageIDOf(c.RequestID),
	}
}

func (c *DeliverAnswer) prepare(IDSource) error { return nil }

func (c *DeliverAnswer) decide(w *work) (Reply, error) {
	if w.session == nil {
		return Reply{}, UnknownSession(c.SessionID)
	}
	messageID := MessageIDOf(c.RequestID)
	if known := w.message(messageID); known != nil {
		return Reply{Messages: []Message{*known}, Existing: true}, nil
	}
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	message := &Message{
		SessionID: c.SessionID, MessageID: messageID, RunID: c.RunID, FromSessionID: c.FromSessionID,
		State: MessagePending, Subject: subjectAnswer, Payload: c.Message, CreatedAtMs: w.nowMs,
	}
	if w.childIsOver() {
		message.State, message.LastError = MessageDeadLetter, childIsClosed
	}
	w.changes.NewMessages = append(w.changes.NewMessages, message)

	if Terminal(run.Status) {
		return Reply{Messages: []Message{*message}}, nil
	}
	if request := w.request(c.RunID, c.RequestID); request != nil && request.Open() && request.Kind == KindClarification {
		var resolution Resolution
		decodeStored(c.Resolution, &resolution)
		recorded := w.settle(run, request, resolution)
		w.emit(run, EventUserQuestionResolved, questionResolvedEvent{EventUserQuestionResolved, recorded})
		w.waitOrGoOn(run)
	}
	return Reply{Messages: []Message{*message}}, nil
}

// acknowledgeAnswers acknowledges the messages whose answers a parked run is handed
// with its claim (v1-work.md "Clarifications and mailbox").
func (w *work) acknowledgeAnswers(run *Run) {
	for _, request := range w.requestsOf(run.RunID) {
		if request.Open() || !request.parked() {
			continue
		}
		message := w.message(MessageIDOf(request.RequestID))
		if message != nil && message.RunID == run.RunID && message.State != MessageAcknowledged {
			w.acknowledge(message)
		}
	}
}
