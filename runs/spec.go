package runs

import (
	"context"
	"reflect"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Spec describes a command to the code that handles all commands: authority, quotas, lanes, telemetry.
// Omissions fail closed. Without Actions only the service may issue the command. Without a Target it is
// outside of every bounded scope. A worker's command without a Lease is refused.
type Spec struct {
	// Name is the command's name in logs and traces.
	Name string
	// Actions are the permissions that the caller needs.
	Actions []auth.Action
	// Target must be within the caller's scope.
	Target Target
	// AgentID is the agent of the row that a TargetNew command creates; empty: the session's agent.
	AgentID string
	// ParentSessionID is a session that must also be within the caller's scope; empty for none.
	ParentSessionID string
	// Lease is the lease that an auth.Work command uses. Unleased commands use none.
	Lease    Lease
	Unleased bool
	// Actor is recorded as the cause of the change; empty: the caller's principal.
	Actor string
	// Adds is the maximum open work that the command adds for the caller.
	Adds Adds
	// Settles says that the command decides, ends or releases something. Such a command is accepted even
	// if the caller's budget or the disk is exhausted. Its bytes still count, so that ending runs is not a
	// way around the limits.
	Settles bool
	// ExcludesRequester says that the command raises an approval that its requesters may not allow.
	ExcludesRequester bool

	// size is the command's size without suspends, see [Spec.Size]. A decision asks for the Spec several
	// times, so only Size reads the requests.
	size     Size
	suspends *api.Suspension

	// raised has the approvals that rules may decide; nil without any.
	raised *raisedSuspension
	// values are checked before the command enters a lane; nil without any.
	values values
	// checked receives the results of checking a decision's values; nil if the command decides nothing.
	checked *checkedValues
	// above receives the requesters of the ancestor sessions, if the decision lacks them.
	above *ancestors
	// runID receives the run of a request, if the decision finds that it is not the active one.
	runID *string
	// countQueue is set if the decision needs the queue's size in bytes.
	countQueue *bool
}

// values are caller values that are expensive to check, or that must be encrypted.
type values interface {
	check(ctx context.Context, reader ValueReader) error
}

// Target says what a command acts on. The zero value is outside of every bounded scope.
type Target int

// The targets of commands.
const (
	_ Target = iota
	// TargetNamed is the run in the command's Needs, or else its session.
	TargetNamed
	// TargetRule is an existing rule for the command's session, or for all sessions.
	TargetRule
	// TargetRules are the rules for the command's session, or for all sessions.
	TargetRules
	// TargetNew is a new run or session.
	TargetNew
	// TargetElsewhere is a session that may be outside the caller's scope: a question's effect in the parent's session.
	TargetElsewhere
)

// Lease is a worker's right to continue a run. The zero value means no lease.
type Lease struct {
	RunID string
	Fence int64
}

// Adds counts the open prompts and queued runs that a command adds at most. Rules may settle some of
// the prompts at once.
type Adds struct{ Prompts, Queued int64 }

// Size estimates how much a command makes the service process and store.
type Size struct {
	// Rows are read or written by the decision. NewRows of them stay in the database.
	Rows, NewRows int
	// Bytes is the size of the caller's texts. Schemas is the size of the JSON Schemas among them.
	Bytes, Schemas int
}

// storedRowBytes is roughly the size of a row without its texts.
const storedRowBytes = 256

// Stored returns roughly how many bytes the command adds to the database.
func (s Size) Stored() int64 { return int64(s.NewRows*storedRowBytes + s.Bytes) }

// Size estimates the command's cost in processing and storage. It reads all requests that the command raises:
// call it outside of a lane.
func (s Spec) Size() Size { return s.size.with(s.suspends) }

// oneRow is the size of a command without long texts.
var oneRow = Size{Rows: 1}

// with adds a suspension's requests and checkpoint.
func (s Size) with(suspension *api.Suspension) Size {
	if suspension == nil {
		return s
	}
	requests := len(suspension.Approvals) + len(suspension.Questions)
	s.Rows, s.NewRows, s.Bytes = s.Rows+requests, s.NewRows+requests, s.Bytes+len(suspension.Checkpoint)
	for i := range suspension.Approvals {
		s.Bytes += textBytes(reflect.ValueOf(&suspension.Approvals[i]))
		s.Schemas += len(suspension.Approvals[i].InputSchema)
	}
	for i := range suspension.Questions {
		s.Bytes += textBytes(reflect.ValueOf(&suspension.Questions[i]))
		s.Schemas += len(suspension.Questions[i].ResponseSchema)
	}
	return s
}

// textBytes returns the size of all texts of a request, so that no member is stored without being counted.
func textBytes(value reflect.Value) (bytes int) {
	switch value.Kind() { // numbers are within storedRowBytes, and requests have no maps
	case reflect.String:
		return value.Len()
	case reflect.Pointer:
		if !value.IsNil() {
			return textBytes(value.Elem())
		}
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return value.Len()
		}
		for i := range value.Len() {
			bytes += textBytes(value.Index(i))
		}
	case reflect.Struct:
		for i := range value.NumField() {
			bytes += textBytes(value.Field(i))
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

// Actions that several commands need.
var (
	chats        = []auth.Action{auth.Chat}
	works        = []auth.Action{auth.Work}
	decides      = []auth.Action{auth.Decide}
	cancels      = []auth.Action{auth.Cancel}
	observes     = []auth.Action{auth.Read}
	administers  = []auth.Action{auth.Administer}
	atTheDoor    = []auth.Action{auth.Known, auth.Read, auth.Work, auth.Chat}
	nobodysRight = []auth.Action{""}
)

// actionsOfDecisions returns the permissions that decisions need. Remembering one writes a rule.
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

// actionsOfRule returns the permission to write a rule for a session, or for all sessions.
func actionsOfRule(sessionID string) []auth.Action {
	if sessionID == "" || sessionID == rules.AllSessions {
		return []auth.Action{auth.WriteRuleForAll}
	}
	return []auth.Action{auth.WriteRule}
}

// matchBytes returns the size of a rule's match.
func matchBytes(match *api.RuleMatch) (bytes int) {
	for _, key := range match.PatternKeys {
		bytes += len(key)
	}
	for name, glob := range match.Params {
		bytes += len(name) + len(glob)
	}
	return bytes
}
