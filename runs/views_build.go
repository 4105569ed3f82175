package runs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// View returns the run as the wire shows it.
func (r *RunRecord) View() RunView {
	run := &r.Run
	view := RunView{
		RunID: run.RunID, SessionID: run.SessionID, AgentID: run.AgentID, ParentRunID: run.ParentRunID,
		Kind: run.Kind, Status: run.Status,
		SubmittedAtMs: run.SubmittedAtMs, UpdatedAtMs: run.UpdatedAtMs,
		StartedAtMs: run.StartedAtMs, FinishedAtMs: run.FinishedAtMs,
		Request: run.Request, Metadata: run.Metadata,
		Outputs: r.Outputs, Output: run.Output, Error: run.Error, Attempt: run.Attempt,
	}
	if run.Status == StatusQueued {
		view.QueuedPosition = run.QueuedAhead + 1
	}
	if run.LeaseExpiresAtMs != 0 {
		view.Lease = &LeaseView{WorkerID: run.WorkerID, ExpiresAtMs: run.LeaseExpiresAtMs}
	}
	for i := range r.Requests {
		request := &r.Requests[i]
		switch {
		case !request.Open():
		case request.Kind == KindClarification:
			if clarification := request.Clarification(); clarification.Parked && view.WaitingOn == nil {
				view.WaitingOn = &clarification.WaitingOn
			}
		case request.Kind == KindApproval:
			view.PendingApprovalIDs = append(view.PendingApprovalIDs, request.RequestID)
			view.PendingApprovals = append(view.PendingApprovals, request.Approval())
		default:
			view.PendingQuestionIDs = append(view.PendingQuestionIDs, request.RequestID)
			view.PendingQuestions = append(view.PendingQuestions, request.Question())
		}
	}
	if run.Status == StatusRunning {
		view.Resume = r.Resume()
	}
	return view
}

// Resume returns what the run goes on with, in the order of the decisions, or nil
// when nothing was settled.
func (r *RunRecord) Resume() *Resume {
	resume := &Resume{SuspensionID: r.Run.SuspensionID, Approvals: []SettledApproval{}, Questions: []SettledQuestion{}}
	settled := r.settled()
	if len(settled) == 0 {
		return nil
	}
	for _, request := range settled {
		switch request.Kind {
		case KindApproval:
			resume.Approvals = append(resume.Approvals, request.settledApproval())
		case KindQuestion:
			resume.Questions = append(resume.Questions, request.settledQuestion())
		case KindClarification:
			answer := clarificationAnswer(request.Clarification().Request, request.Recorded())
			resume.Clarification = &answer
		}
	}
	return resume
}

// settled returns the settled requests of the Resume in the order of the decisions.
// A clarification that the run did not wait for is in its mailbox instead.
func (r *RunRecord) settled() []*Request {
	var settled []*Request
	for i := range r.Requests {
		if request := &r.Requests[i]; !request.Open() && request.SettledNumber > r.Run.ResumeAfter && !request.unparked() {
			settled = append(settled, request)
		}
	}
	slices.SortFunc(settled, func(a, b *Request) int { return cmp.Compare(a.SettledNumber, b.SettledNumber) })
	return settled
}

// ClaimOf returns the claim that the holder of the run's newest lease was handed,
// with the run as it is now. The record must have been read with its payload.
func (r *RunRecord) ClaimOf() Claim {
	return Claim{
		Run: r.View(), Input: r.Run.Input, Checkpoint: r.Run.Checkpoint, Resume: r.Resume(), Attempt: max(r.Run.Attempt, 1),
		Lease: ClaimedLease{Fence: FenceText(r.Run.Fence), WorkerID: r.Run.WorkerID, ExpiresAtMs: r.Run.LeaseExpiresAtMs},
	}
}

// FirstClaimOf answers a repeated call that made and claimed the run at once: with
// the lease that this call took, and the run as it is now. When somebody else has
// claimed the run since, that lease is over, and its fence, which is shown all the
// same, is refused wherever it is used. The record must have been read with its
// payload.
func (r *RunRecord) FirstClaimOf(workerID string) Claim {
	const firstFence = 1
	claim := r.ClaimOf()
	if r.Run.Fence != firstFence {
		claim.Attempt = 1
		claim.Lease = ClaimedLease{Fence: FenceText(firstFence), WorkerID: workerID, ExpiresAtMs: r.Run.StartedAtMs}
	}
	return claim
}

// View returns the session as the wire shows it.
func (s *SessionRecord) View() SessionView {
	session := &s.Session
	view := SessionView{
		SessionID: session.SessionID, AgentID: session.AgentID, ParentSessionID: session.ParentSessionID,
		Metadata: session.Metadata, Status: session.status(s.Active),
		QueuedRunIDs: s.QueuedRunIDs, Outputs: s.Outputs,
		PendingApprovals: []ApprovalRequest{}, PendingQuestions: []PendingQuestionView{},
		LastEventID: strconv.FormatInt(session.LastEventID, 10),
		CreatedAtMs: session.CreatedAtMs, UpdatedAtMs: session.UpdatedAtMs,
	}
	if view.QueuedRunIDs == nil {
		view.QueuedRunIDs = []string{}
	}
	if view.Outputs == nil {
		view.Outputs = []OutputRecord{}
	}
	if s.Active != nil {
		run := &s.Active.Run
		view.ActiveRun = &ActiveRunRef{RunID: run.RunID}
		for i := range s.Active.Requests {
			request := &s.Active.Requests[i]
			switch {
			case !request.Open():
			case request.Kind == KindClarification:
			case request.Kind == KindApproval:
				view.PendingApprovals = append(view.PendingApprovals, request.Approval())
			default:
				pending := PendingRequest{Request: *request, AgentID: run.AgentID, RunKind: run.Kind}
				view.PendingQuestions = append(view.PendingQuestions, pending.QuestionView())
			}
		}
	}
	for i := range s.Clarifications {
		view.PendingQuestions = append(view.PendingQuestions, s.Clarifications[i].QuestionView())
	}
	view.PendingCount = len(view.PendingApprovals) + len(view.PendingQuestions)
	return view
}

func (s *Session) status(active *RunRecord) Status {
	switch {
	case s.EndedAtMs != 0:
		return SessionEnded
	case active != nil:
		return active.Run.Status
	default:
		return SessionIdle
	}
}

// SessionSummaryView is a session in a list on the wire.
type SessionSummaryView struct {
	SessionID        string `json:"session_id"`
	AgentID          string `json:"agent_id"`
	ParentSessionID  string `json:"parent_session_id,omitempty"`
	Status           Status `json:"status"`
	PendingApprovals int    `json:"pending_approvals"`
	PendingQuestions int    `json:"pending_questions"`
	CreatedAtMs      int64  `json:"created_at_ms"`
	UpdatedAtMs      int64  `json:"updated_at_ms"`
}

// View returns the session as a list shows it.
func (s *SessionSummary) View() SessionSummaryView {
	return SessionSummaryView{
		SessionID: s.Session.SessionID, AgentID: s.Session.AgentID, ParentSessionID: s.Session.ParentSessionID,
		Status: s.Status, PendingApprovals: s.PendingApprovals, PendingQuestions: s.PendingQuestions,
		CreatedAtMs: s.Session.CreatedAtMs, UpdatedAtMs: s.Session.UpdatedAtMs,
	}
}

// ApprovalView returns an open approval with its context.
func (p *PendingRequest) ApprovalView() PendingApprovalView {
	return PendingApprovalView{SessionID: p.Request.SessionID, AgentID: p.AgentID, RunID: p.Request.RunID, Request: p.Request.Approval()}
}

// QuestionView returns an open question with its context.
func (p *PendingRequest) QuestionView() PendingQuestionView {
	view := PendingQuestionView{
		SessionID: p.Request.SessionID, AgentID: p.AgentID, RunID: p.Request.RunID,
		RunKind: p.RunKind, Request: p.Request.Question(),
	}
	if p.Requester != nil {
		decodeStored(p.Requester, &view.Requester)
	}
	return view
}

// Approval returns the body of an approval as it is shown.
func (r *Request) Approval() ApprovalRequest {
	var approval ApprovalRequest
	decodeStored(r.Body, &approval)
	return approval
}

// Question returns the body of a question as it is shown, with what has been answered
// of it.
func (r *Request) Question() UserQuestionRequest {
	var question UserQuestionRequest
	decodeStored(r.Body, &question)
	if r.PartialAnswers != nil {
		decodeStored(r.PartialAnswers, &question.PartialAnswers)
	}
	return question
}

// Recorded returns the resolution of a settled request.
func (r *Request) Recorded() Resolution {
	var resolution Resolution
	decodeStored(r.Resolution, &resolution)
	return resolution
}

func (r *Request) recordedDecision() *RecordedDecision {
	if r.Open() {
		return nil
	}
	resolution := r.Recorded()
	return &RecordedDecision{
		RequestID: r.RequestID, Outcome: r.Outcome,
		ResolvedBy: resolution.ResolvedBy, ResolvedAtMs: resolution.ResolvedAtMs, Via: resolution.Via,
	}
}

// SettledDocument returns a settled request as the worker that waits for it is
// handed it: a SettledApproval or a SettledQuestion, with its number. The numbers of
// what one worker is shown may have gaps, because a clarification that the run does
// not wait for has one as well.
func (r *Request) SettledDocument() JSON {
	if r.Kind == KindApproval {
		settled := r.settledApproval()
		settled.SettledNumber = r.SettledNumber
		return encode(settled)
	}
	settled := r.settledQuestion()
	settled.SettledNumber = r.SettledNumber
	return encode(settled)
}

func (r *Request) settledApproval() SettledApproval {
	return SettledApproval{Request: r.Approval(), Resolution: r.Recorded()}
}

func (r *Request) settledQuestion() SettledQuestion {
	question := r.Question()
	if r.Kind == KindClarification {
		question = r.Clarification().Request
	}
	return SettledQuestion{Request: question, Resolution: labelAnswers(question, r.Recorded())}
}

// labelAnswers puts an answer into the words that the person saw.
func labelAnswers(question UserQuestionRequest, resolution Resolution) AnswerForWorker {
	answer := AnswerForWorker{
		RequestID: resolution.RequestID, Outcome: resolution.Outcome,
		Declined: resolution.Declined != nil && *resolution.Declined,
		Answers:  []LabelledAnswer{}, Value: resolution.Value, Reason: resolution.Reason,
		ResolvedBy: resolution.ResolvedBy, ResolvedAtMs: resolution.ResolvedAtMs, Via: resolution.Via,
		RuntimePayload: resolution.RuntimePayload,
	}
	if resolution.Justification != "" {
		answer.Justification = &resolution.Justification
	}
	lines := make([]string, 0, len(question.Questions))
	for _, asked := range question.Questions {
		for _, given := range resolution.Answers {
			if given.QuestionID == asked.ID {
				labelled := label(asked, given)
				answer.Answers = append(answer.Answers, labelled)
				lines = append(lines, asked.Question+": "+answerText(&labelled))
			}
		}
	}
	answer.Summary = strings.Join(lines, "\n")
	if len(lines) == 0 && resolution.Value != nil {
		answer.Summary = string(resolution.Value)
	}
	return answer
}

func label(asked UserQuestion, given UserQuestionAnswer) LabelledAnswer {
	labelled := LabelledAnswer{
		QuestionID: asked.ID, Header: asked.Header, Question: asked.Question,
		SelectedOptionIDs: []string{}, SelectedOptions: []QuestionOption{}, FreeformAnswer: given.FreeformAnswer,
	}
	for _, optionID := range given.SelectedOptionIDs {
		labelled.SelectedOptionIDs = append(labelled.SelectedOptionIDs, optionID)
		for _, option := range asked.Options {
			if option.ID == optionID {
				labelled.SelectedOptions = append(labelled.SelectedOptions, QuestionOption{ID: option.ID, Label: option.Label, Description: option.Description})
			}
		}
	}
	return labelled
}

// text is the answer in one line: the labels, which win over free text.
func answerText(a *LabelledAnswer) string {
	if len(a.SelectedOptions) == 0 {
		return a.FreeformAnswer
	}
	labels := make([]string, len(a.SelectedOptions))
	for i, option := range a.SelectedOptions {
		labels[i] = option.Label
	}
	return strings.Join(labels, ", ")
}

// decodeStored reads a document that this package wrote. One that cannot be read
// was damaged outside of it and must not be shown half.
func decodeStored(text JSON, into any) {
	if err := json.Unmarshal(text, into); err != nil {
		panic("runs: a stored document cannot be read: " + err.Error())
	}
}
