package runs

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// RequestKey identifies a request within its session.
type RequestKey struct {
	RunID     string
	RequestID string
}

// State is what a decision is made from: one session's rows, as the commands that
// wait for the session's lock need them. An engine fills it under the lock; what
// is not in it was not asked for or is not there.
type State struct {
	SessionID string
	// Session is nil when it is not there.
	Session  *model.Session
	Runs     map[string]*model.Run
	Requests map[RequestKey]*model.Request
	Records  map[model.RecordKey]*model.IdempotencyRecord
	Effects  map[string]*model.Effect  // by EffectID
	Messages map[string]*model.Message // by MessageID
	Rules    map[string]*rules.Rule    // by RuleID
}

// NewState returns an empty state of a session.
func NewState(sessionID string) *State {
	return &State{
		SessionID: sessionID,
		Runs:      map[string]*model.Run{},
		Requests:  map[RequestKey]*model.Request{},
		Records:   map[model.RecordKey]*model.IdempotencyRecord{},
		Effects:   map[string]*model.Effect{},
		Messages:  map[string]*model.Message{},
		Rules:     map[string]*rules.Rule{},
	}
}

// Change is what a decision writes: whole new images of rows. A row is in at most
// one of an insert and an update list.
type Change struct {
	// Session is written when it is not nil; SessionNew tells an insert.
	Session     *model.Session
	SessionNew  bool
	NewRuns     []*model.Run
	UpdatedRuns []*model.Run
	NewRequests []*model.Request
	// SettledRequests were settled, or have a new part of their answer and are still
	// open.
	SettledRequests []*model.Request
	Events          []*model.Event
	Records         []*model.IdempotencyRecord
	NewEffects      []*model.Effect
	UpdatedEffects  []*model.Effect
	NewMessages     []*model.Message
	UpdatedMessages []*model.Message
	NewRules        []*rules.Rule
	UpdatedRules    []*rules.Rule

	// dequeued holds the FirstEventID of runs that left the queue, by which the
	// runs behind them move up in the State.
	dequeued []int64
}

// Empty reports whether the change writes nothing.
func (c *Change) Empty() bool {
	return c.Session == nil && len(c.NewRuns) == 0 && len(c.UpdatedRuns) == 0 &&
		len(c.NewRequests) == 0 && len(c.SettledRequests) == 0 && len(c.Events) == 0 && len(c.Records) == 0 &&
		len(c.NewEffects) == 0 && len(c.UpdatedEffects) == 0 && len(c.NewMessages) == 0 && len(c.UpdatedMessages) == 0 &&
		len(c.NewRules) == 0 && len(c.UpdatedRules) == 0
}

// Apply makes the state what it is after the change, so that the next command of
// the batch is decided on it. The images are shared, not copied; a decision never
// writes to the rows of a State.
func (s *State) Apply(change Change) {
	if change.Session != nil {
		s.Session = change.Session
	}
	for _, list := range [][]*model.Run{change.NewRuns, change.UpdatedRuns} {
		for _, run := range list {
			s.Runs[run.RunID] = run
		}
	}
	for _, list := range [][]*model.Request{change.NewRequests, change.SettledRequests} {
		for _, request := range list {
			s.Requests[RequestKey{request.RunID, request.RequestID}] = request
		}
	}
	for _, record := range change.Records {
		s.Records[record.RecordKey] = record
	}
	for _, list := range [][]*model.Effect{change.NewEffects, change.UpdatedEffects} {
		for _, effect := range list {
			s.Effects[effect.EffectID] = effect
		}
	}
	for _, list := range [][]*model.Message{change.NewMessages, change.UpdatedMessages} {
		for _, message := range list {
			s.Messages[message.MessageID] = message
		}
	}
	for _, list := range [][]*rules.Rule{change.NewRules, change.UpdatedRules} {
		for _, rule := range list {
			s.Rules[rule.RuleID] = rule
		}
	}
	s.moveUp(change.dequeued)
}

// moveUp lets the queued runs move past those that left the queue, which are named
// by their FirstEventID.
func (s *State) moveUp(dequeued []int64) {
	if len(dequeued) == 0 {
		return
	}
	left := slices.Sorted(slices.Values(dequeued))
	for runID, run := range s.Runs {
		if run.Status != api.StatusQueued || run.SessionID != s.SessionID {
			continue
		}
		if passed, _ := slices.BinarySearch(left, run.FirstEventID); passed > 0 {
			moved := *run
			moved.QueuedAhead -= int64(passed)
			s.Runs[runID] = &moved
		}
	}
}
