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

// Writes gathers the changes of a batch of decisions into the fewest rows: each
// row once, in its last image.
type Writes struct {
	NewSessions     []*model.Session
	UpdatedSessions []*model.Session
	NewRuns         []*model.Run
	UpdatedRuns     []*model.Run
	NewRequests     []*model.Request
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
}

// Gather puts the changes of one batch, in the order of their decisions, together.
// A checkpoint that any of them set is written, also when a later one of the run
// left it alone: every image after it carries it. Two sessions that make a run or a
// rule of the same id make two rows, of which the database refuses one.
func Gather(changes []Change) Writes {
	var w Writes
	sessions := rows[string, model.Session]{}
	runRows := rows[[2]string, model.Run]{}
	requests := rows[[3]string, model.Request]{}
	effects := rows[string, model.Effect]{}
	messages := rows[[2]string, model.Message]{}
	ruleRows := rows[[2]string, rules.Rule]{}
	for i := range changes {
		change := &changes[i]
		if change.Session != nil {
			sessions.put(change.Session.SessionID, change.Session, change.SessionNew)
		}
		for _, run := range change.NewRuns {
			runRows.put([2]string{run.SessionID, run.RunID}, run, true)
		}
		for _, run := range change.UpdatedRuns {
			if before := runRows.get([2]string{run.SessionID, run.RunID}); before != nil && before.CheckpointSet && !run.CheckpointSet {
				kept := *run
				kept.CheckpointSet = true
				run = &kept
			}
			runRows.put([2]string{run.SessionID, run.RunID}, run, false)
		}
		for _, request := range change.NewRequests {
			requests.put([3]string{request.SessionID, request.RunID, request.RequestID}, request, true)
		}
		for _, request := range change.SettledRequests {
			requests.put([3]string{request.SessionID, request.RunID, request.RequestID}, request, false)
		}
		for _, effect := range change.NewEffects {
			effects.put(effect.EffectID, effect, true)
		}
		for _, effect := range change.UpdatedEffects {
			effects.put(effect.EffectID, effect, false)
		}
		for _, message := range change.NewMessages {
			messages.put([2]string{message.SessionID, message.MessageID}, message, true)
		}
		for _, message := range change.UpdatedMessages {
			messages.put([2]string{message.SessionID, message.MessageID}, message, false)
		}
		for _, rule := range change.NewRules {
			ruleRows.put([2]string{rule.SessionID, rule.RuleID}, rule, true)
		}
		for _, rule := range change.UpdatedRules {
			ruleRows.put([2]string{rule.SessionID, rule.RuleID}, rule, false)
		}
		w.Events = append(w.Events, change.Events...)
		w.Records = append(w.Records, change.Records...)
	}
	w.NewSessions, w.UpdatedSessions = sessions.split()
	w.NewRuns, w.UpdatedRuns = runRows.split()
	w.NewRequests, w.SettledRequests = requests.split()
	w.NewEffects, w.UpdatedEffects = effects.split()
	w.NewMessages, w.UpdatedMessages = messages.split()
	w.NewRules, w.UpdatedRules = ruleRows.split()
	return w
}

// rows keeps the last image of each row, in the order of first sight, and whether
// the row is new in this batch.
type rows[K comparable, R any] struct {
	index map[K]int
	last  []*R
	isNew []bool
}

func (r *rows[K, R]) put(key K, row *R, isNew bool) {
	if r.index == nil {
		r.index = map[K]int{}
	}
	if at, seen := r.index[key]; seen {
		r.last[at] = row
		return
	}
	r.index[key] = len(r.last)
	r.last = append(r.last, row)
	r.isNew = append(r.isNew, isNew)
}

// get returns the last image of a row so far, or nil.
func (r *rows[K, R]) get(key K) *R {
	if at, seen := r.index[key]; seen {
		return r.last[at]
	}
	return nil
}

func (r *rows[K, R]) split() (inserted, updated []*R) {
	for i, row := range r.last {
		if r.isNew[i] {
			inserted = append(inserted, row)
		} else {
			updated = append(updated, row)
		}
	}
	return inserted, updated
}
