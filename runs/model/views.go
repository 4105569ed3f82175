package model

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// FenceText returns a fence in its API form: decimal text, because clients may parse JSON
// numbers as doubles.
func FenceText(fence int64) string { return strconv.FormatInt(fence, 10) }

// View returns the effect's /v1 view, without its payload.
func (e *Effect) View() api.EffectView {
	return api.EffectView{
		EffectID: e.EffectID, SessionID: e.SessionID, RunID: e.RunID, Kind: e.Kind, State: e.State,
		TargetSessionID: e.TargetSessionID, WebhookID: e.WebhookID, CreatedAtMs: e.CreatedAtMs, DueAtMs: e.DueAtMs,
		Attempts: e.Attempts, LastError: e.LastError, FinishedAtMs: e.FinishedAtMs,
	}
}

// Entry returns the event's /v1 view, for lists and streams.
func (e *Event) Entry() api.RunEventEntry {
	entry := api.RunEventEntry{
		ID: strconv.FormatInt(e.EventID, 10), TimestampMs: e.TimestampMs,
		RunID: e.RunID, SessionID: e.SessionID, AgentID: e.AgentID, Event: e.Body,
		Actor: e.Actor,
	}
	if e.BodyDigest != "" {
		entry.BodyDigest, entry.Prev, entry.Hash = e.BodyDigest, &e.Prev, e.Hash()
	}
	return entry
}

// View returns the message's /v1 view.
func (m *Message) View() api.MessageView {
	return api.MessageView{
		MessageID: m.MessageID, State: m.State, Subject: m.Subject, Payload: m.Payload,
		FromSessionID: m.FromSessionID, CreatedAtMs: m.CreatedAtMs,
		DeliveryAttempts: m.DeliveryAttempts, LastError: m.LastError,
	}
}

// View returns the run's /v1 view (docs/spec/v1.md#run-view).
func (r *RunRecord) View() api.RunView {
	view := r.ViewWithoutResume()
	if r.Run.Status == api.StatusRunning {
		view.Resume = r.Resume()
	}
	return view
}

// ViewWithoutResume is View for a caller that has the decisions. There may be thousands, and each is decoded
// for a view.
func (r *RunRecord) ViewWithoutResume() api.RunView {
	run := &r.Run
	view := api.RunView{
		RunID: run.RunID, SessionID: run.SessionID, AgentID: run.AgentID, Principal: run.Principal, ParentRunID: run.ParentRunID,
		Kind: run.Kind, Status: run.Status,
		SubmittedAtMs: run.SubmittedAtMs, UpdatedAtMs: run.UpdatedAtMs,
		StartedAtMs: run.StartedAtMs, FinishedAtMs: run.FinishedAtMs,
		Request: run.Request, Metadata: run.Metadata,
		Outputs: r.Outputs, OutputsCount: run.OutputCount, OutputsTruncated: int64(len(r.Outputs)) < run.OutputCount,
		Output: run.Output, Error: run.Error, Attempt: run.Attempt,
		FailedAttempts: run.FailedAttempts, LastError: run.LastError,
	}
	if view.Outputs == nil {
		view.Outputs = []api.OutputRecord{}
	}
	if run.Status == api.StatusQueued {
		view.QueuedPosition = run.QueuedAhead + 1
	}
	if run.LeaseExpiresAtMs != 0 {
		view.Lease = &api.LeaseView{WorkerID: run.WorkerID, HolderPrincipal: run.HolderPrincipal, ExpiresAtMs: run.LeaseExpiresAtMs}
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
	return view
}

// Resume returns the resolutions with which the run continues, in decision order
// (docs/spec/v1.md#resume), or nil if nothing was settled.
func (r *RunRecord) Resume() *api.Resume {
	resume := &api.Resume{SuspensionID: r.Run.SuspensionID, Approvals: []api.SettledApproval{}, Questions: []api.SettledQuestion{}}
	settled := r.settled()
	if len(settled) == 0 {
		return nil
	}
	for _, request := range settled {
		switch request.Kind {
		case KindApproval:
			resume.Approvals = append(resume.Approvals, request.settledApproval(r.Run.LeaseExpiresAtMs))
		case KindQuestion:
			resume.Questions = append(resume.Questions, request.settledQuestion())
		case KindClarification:
			resume.Clarification = new(ClarificationAnswerOf(request.Clarification().Request, request.Recorded()))
		}
	}
	return resume
}

// settled returns the settled requests of the Resume in decision order. Unparked clarifications
// are left out: their answers are in the mailbox.
func (r *RunRecord) settled() []*Request {
	var settled []*Request
	for i := range r.Requests {
		if request := &r.Requests[i]; !request.Open() && request.SettledNumber > r.Run.ResumeAfter && !request.Unparked() {
			settled = append(settled, request)
		}
	}
	slices.SortFunc(settled, func(a, b *Request) int { return cmp.Compare(a.SettledNumber, b.SettledNumber) })
	return settled
}

// ClaimOf returns the claim of the newest lease, with the run's current state. The record must
// include its payload.
func (r *RunRecord) ClaimOf() api.Claim {
	view := r.View()
	resume := ownResume(view.Resume)
	if resume == nil {
		resume = r.Resume()
	}
	return api.Claim{
		Run: view, Input: r.Run.Input, Checkpoint: r.Run.Checkpoint, Resume: resume, Attempt: max(r.Run.Attempt, 1),
		Lease: api.ClaimedLease{Fence: FenceText(r.Run.Fence), WorkerID: r.Run.WorkerID, ExpiresAtMs: r.Run.LeaseExpiresAtMs},
	}
}

// FirstFence is the fence of the claim that creates a run.
const FirstFence = 1

// ownResume copies a Resume's lists and grants, so that the holder's grants go into the claim
// and not into its run.
func ownResume(shown *api.Resume) *api.Resume {
	if shown == nil {
		return nil
	}
	own := *shown
	own.Approvals, own.Questions = slices.Clone(own.Approvals), slices.Clone(own.Questions)
	for i := range own.Approvals {
		if grant := own.Approvals[i].Resolution.Grant; grant != nil {
			own.Approvals[i].Resolution.Grant = new(*grant)
		}
	}
	return &own
}

// FirstClaimOf returns the claim for a repeated call that created and claimed the run: the lease
// of that first claim, and the run's current state. If another worker has claimed the run since,
// the lease is shown as ended, and calls with its fence fail with lease_lost. The record must
// include its payload.
func (r *RunRecord) FirstClaimOf(workerID string) api.Claim {
	claim := r.ClaimOf()
	if r.Run.Fence != FirstFence {
		// Only the current holder gets the grants.
		claim.Resume = claim.Resume.WithoutLease()
		claim.Attempt = 1
		claim.Lease = api.ClaimedLease{Fence: FenceText(FirstFence), WorkerID: workerID, ExpiresAtMs: r.Run.StartedAtMs}
	}
	return claim
}

// View returns the session's /v1 view (docs/spec/v1.md#session-view).
func (s *SessionRecord) View() api.SessionView {
	session := &s.Session
	view := api.SessionView{
		SessionID: session.SessionID, AgentID: session.AgentID, ParentSessionID: session.ParentSessionID,
		Metadata: session.Metadata, Principal: session.Principal, Status: session.status(s.Active),
		QueuedRunIDs: s.QueuedRunIDs, Outputs: s.Outputs, OutputsCount: session.OutputCount, OutputsTruncated: s.OutputsTruncated,
		PendingApprovals: []api.ApprovalRequest{}, PendingQuestions: []api.PendingQuestionView{},
		LastEventID: strconv.FormatInt(session.LastEventID, 10),
		CreatedAtMs: session.CreatedAtMs, UpdatedAtMs: session.UpdatedAtMs,
	}
	about := AboutOf(session.About)
	view.Label, view.Origin = about.Label, about.Origin
	if view.QueuedRunIDs == nil {
		view.QueuedRunIDs = []string{}
	}
	if view.Outputs == nil {
		view.Outputs = []api.OutputRecord{}
	}
	if s.Active != nil {
		run := &s.Active.Run
		view.ActiveRun = &api.ActiveRunRef{RunID: run.RunID}
		for i := range s.Active.Requests {
			request := &s.Active.Requests[i]
			switch {
			case !request.Open():
			case request.Kind == KindClarification:
			case request.Kind == KindApproval:
				view.PendingApprovals = append(view.PendingApprovals, request.Approval())
			default:
				pending := PendingRequest{Request: *request, AgentID: run.AgentID, RunKind: run.Kind}
				view.PendingQuestions = append(view.PendingQuestions, pending.QuestionView(""))
			}
		}
	}
	for i := range s.Besides {
		if pending := &s.Besides[i]; pending.Request.Kind == KindApproval {
			view.PendingApprovals = append(view.PendingApprovals, pending.Request.Approval())
		} else {
			view.PendingQuestions = append(view.PendingQuestions, pending.QuestionView(""))
		}
	}
	view.PendingCount = len(view.PendingApprovals) + len(view.PendingQuestions)
	view.Snapshot = snapshotOf(&view)
	return view
}

// View returns the session as /v1 lists show it.
func (s *SessionSummary) View() api.SessionSummaryView {
	about := AboutOf(s.Session.About)
	return api.SessionSummaryView{
		SessionID: s.Session.SessionID, AgentID: s.Session.AgentID, ParentSessionID: s.Session.ParentSessionID,
		Label: about.Label, Origin: about.Origin,
		Status: s.Status, PendingApprovals: s.PendingApprovals, PendingQuestions: s.PendingQuestions,
		CreatedAtMs: s.Session.CreatedAtMs, UpdatedAtMs: s.Session.UpdatedAtMs,
	}
}

// ApprovalView returns an open approval with the ids of its session, agent and run. Call it
// only on a request of [KindApproval]. reader is the person who sees it, "" for none.
func (p *PendingRequest) ApprovalView(reader string) api.PendingApprovalView {
	return api.PendingApprovalView{
		SessionID: p.Request.SessionID, AgentID: p.AgentID, RunID: p.Request.RunID,
		ParentSessionID: p.ParentSessionID, Session: aboutView(p.About), Request: p.Request.Approval(),
		Acknowledgement: p.Request.Acknowledgements(), SnoozedUntilMs: p.Request.SnoozedUntil(reader),
	}
}

// QuestionView returns an open question with the ids of its session, agent and run, and the
// requester of a clarification. Call it only on a request of [KindQuestion]. reader is the person who
// sees it, "" for none.
func (p *PendingRequest) QuestionView(reader string) api.PendingQuestionView {
	view := api.PendingQuestionView{
		SessionID: p.Request.SessionID, AgentID: p.AgentID, RunID: p.Request.RunID,
		RunKind: p.RunKind, ParentSessionID: p.ParentSessionID, Session: aboutView(p.About), Request: p.Request.Question(),
		Acknowledgement: p.Request.Acknowledgements(), SnoozedUntilMs: p.Request.SnoozedUntil(reader),
	}
	if p.Requester != nil {
		document.DecodeStored(p.Requester, &view.Requester)
	}
	return view
}

func (s *Session) status(active *RunRecord) api.Status {
	switch {
	case s.EndedAtMs != 0:
		return api.SessionEnded
	case active != nil:
		return active.Run.Status
	default:
		return api.SessionIdle
	}
}

// View returns the request's /v1 view. Call it only on a request of [KindApproval] or
// [KindQuestion]. reader is the person who sees it, "" for none. shorten, if not nil, may shorten a
// shown approval.
func (d *DecidedRequest) View(reader string, shorten func(*api.ApprovalRequest)) api.RequestView {
	request := &d.Request
	view := api.RequestView{
		SessionID: request.SessionID, AgentID: d.AgentID, RunID: request.RunID,
		Run:             api.RequestRun{RunID: request.RunID, Kind: d.RunKind, Status: d.RunStatus},
		ParentSessionID: d.ParentSessionID, Session: aboutView(d.About), RecordedDecision: request.RecordedDecision(),
		Acknowledgement: request.Acknowledgements(), SnoozedUntilMs: request.SnoozedUntil(reader),
	}
	if request.Kind == KindApproval {
		approval := request.Approval()
		if shorten != nil {
			shorten(&approval)
		}
		view.Kind, view.Request = api.RequestApproval, document.Encode(approval)
	} else {
		question := d.QuestionView("")
		view.Kind, view.Requester, view.Request = api.RequestQuestion, question.Requester, document.Encode(question.Request)
	}
	if !request.Open() {
		resolution := request.Recorded()
		resolution.Grant = request.Grant(d.LeaseExpiresAtMs)
		view.Resolution = &resolution
	}
	return view
}
