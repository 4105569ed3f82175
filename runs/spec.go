package runs

import (
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Spec describes a command to everything that handles commands: authority, quotas, lanes, telemetry.
// What is left out fails closed: without Actions only the service may give the command, without a Target
// no caller with a bounded scope reaches it, and a worker's command without a Lease is refused.
type Spec struct {
	// Name is the command's name in logs and traces.
	Name string
	// Actions are what the caller must be allowed to do.
	Actions []auth.Action
	// Target is what must be within the caller's scope.
	Target Target
	// AgentID is the agent of what a command with TargetNew creates; empty: the session's.
	AgentID string
	// ParentSessionID is a session that must be within the caller's scope, too; empty for none.
	ParentSessionID string
	// Lease is the lease that a command of auth.Work uses. Unleased commands use none.
	Lease    Lease
	Unleased bool
	// Actor is on record as having caused the change; empty: the caller's principal.
	Actor string
	// Adds counts what the command may add to the caller's open work.
	Adds Adds
	// Size is what the command makes the service process and store.
	Size Size
	// Settles says that the command decides, ends or releases something. Such a command passes when the
	// caller's budget or the disk is used up; its bytes still count, so that nobody stores without limit by
	// ending runs.
	Settles bool
	// ExcludesRequester says that the command raises an approval that its requesters may not allow.
	ExcludesRequester bool
	// AppendsOnly says that the command writes events and nothing that depends on other rows, so that a
	// large one may be written in parts.
	AppendsOnly bool

	// raised are the approvals that rules may decide; nil without any.
	raised *raisedSuspension
	// values are checked before the command reaches a lane; nil without any.
	values values
	// checked is what was found out about the values of decisions; nil for a command that decides nothing.
	checked *checkedValues
	// above receives the requesters of the sessions above, if the decision lacks them.
	above *ancestors
	// runID receives the run of a call, if the decision finds that the request is a call's.
	runID *string
	// countQueue is set if the decision needs the bytes of the queue.
	countQueue *bool
}

// values are what a caller sends that takes long to check, or that must be sealed.
type values interface {
	check(ctx context.Context, reader ValueReader) error
}

// Target says what a command is about. The zero value is outside of every bounded scope.
type Target int

// The targets of commands.
const (
	_ Target = iota
	// TargetNamed is the run that the command's Needs names, or else its session.
	TargetNamed
	// TargetRule is an existing rule of the command's session, or of all sessions.
	TargetRule
	// TargetRules are the rules of the command's session, or of all sessions.
	TargetRules
	// TargetNew is a new run or session.
	TargetNew
	// TargetElsewhere is a session that the caller need not reach: a question's effect in the parent's session.
	TargetElsewhere
)

// Lease is the right of a worker to continue a run. The zero value is no lease.
type Lease struct {
	RunID string
	Fence int64
}

// Adds counts the open prompts and the queued runs that a command adds at most. Rules may settle some of
// the prompts at once.
type Adds struct{ Prompts, Queued int64 }

// Size says roughly how much a command makes the service process and store.
type Size struct {
	// Rows are read or written by the decision. NewRows are those that stay in the database.
	Rows, NewRows int
	// Bytes are those of the texts that the caller sends. Schemas are the bytes of JSON Schemas among them.
	Bytes, Schemas int
}

// storedRowBytes is roughly the size of a row without its texts.
const storedRowBytes = 256

// Stored returns roughly how many bytes the command adds to the database.
func (s Size) Stored() int64 { return int64(s.NewRows*storedRowBytes + s.Bytes) }

// oneRow is the size of a command that brings no long texts.
var oneRow = Size{Rows: 1}

// with adds the requests and the checkpoint of a suspension.
func (s Size) with(suspension *api.Suspension) Size {
	if suspension == nil {
		return s
	}
	requests := len(suspension.Approvals) + len(suspension.Questions)
	s.Rows, s.NewRows, s.Bytes = s.Rows+requests, s.NewRows+requests, s.Bytes+len(suspension.Checkpoint)
	for i := range suspension.Approvals {
		asked := &suspension.Approvals[i]
		s.Bytes += len(asked.Input) + len(asked.InputSchema) + len(asked.Reason)
		s.Schemas += len(asked.InputSchema)
	}
	for i := range suspension.Questions {
		asked := &suspension.Questions[i]
		s.Bytes += len(asked.ResponseSchema) + questionBytes(asked.Questions)
		s.Schemas += len(asked.ResponseSchema)
	}
	return s
}

func questionBytes(questions []api.UserQuestion) (bytes int) {
	for i := range questions {
		bytes += len(questions[i].Question)
		for j := range questions[i].Options {
			bytes += len(questions[i].Options[j].Label) + len(questions[i].Options[j].Description)
		}
	}
	return bytes
}

// withDecisions adds decisions about approvals.
func (s Size) withDecisions(decisions []ApprovalDecision) Size {
	s.Rows, s.NewRows = s.Rows+len(decisions), s.NewRows+len(decisions)
	for i := range decisions {
		decided := &decisions[i]
		s.Bytes += len(decided.UpdatedInput) + len(decided.RuntimePayload) + len(decided.Reason) + len(decided.Justification)
	}
	return s
}

// withAnswers adds answers to questions.
func (s Size) withAnswers(answers ...QuestionAnswer) Size {
	s.Rows, s.NewRows = s.Rows+len(answers), s.NewRows+len(answers)
	for i := range answers {
		given := &answers[i]
		s.Bytes += len(given.Value) + len(given.RuntimePayload) + len(given.Justification)
		for j := range given.Answers {
			s.Bytes += len(given.Answers[j].FreeformAnswer)
		}
	}
	return s
}

// The actions of most commands.
var (
	chats        = []auth.Action{auth.Chat}
	works        = []auth.Action{auth.Work}
	decides      = []auth.Action{auth.Decide}
	cancels      = []auth.Action{auth.Cancel}
	reads        = []auth.Action{auth.Read}
	administers  = []auth.Action{auth.Administer}
	atTheDoor    = []auth.Action{auth.Known, auth.Read, auth.Work, auth.Chat}
	nobodysRight = []auth.Action{""}
)

// actionsOfDecisions returns what the caller of decisions must be allowed to do: a decision may write a rule.
func actionsOfDecisions(decisions []ApprovalDecision) []auth.Action {
	actions := decides
	for i := range decisions {
		switch decisions[i].Remember {
		case "":
		case api.RememberSession:
			actions = append(slices.Clip(actions), auth.WriteRule)
		case api.RememberAlways:
			actions = append(slices.Clip(actions), auth.WriteRuleForAll)
		default:
			// Prepare refuses any other value. Until then it counts as the broadest.
			actions = append(slices.Clip(actions), auth.WriteRuleForAll)
		}
	}
	return actions
}

// actionsOfRule returns what the caller must be allowed to do to write a rule of a session, or of all.
func actionsOfRule(sessionID string) []auth.Action {
	if sessionID == "" || sessionID == rules.AllSessions {
		return []auth.Action{auth.WriteRuleForAll}
	}
	return []auth.Action{auth.WriteRule}
}
