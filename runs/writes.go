package runs

import (
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Writes are the rows that a batch of decisions writes: each row once, in its last image.
type Writes struct {
	NewSessions     []*model.Session
	UpdatedSessions []*model.Session
	NewRuns         []*model.Run
	UpdatedRuns     []*model.Run
	NewRequests     []*model.Request
	// SettledRequests are existing rows: requests that were settled, or that have a new partial
	// answer and are still open.
	SettledRequests []*model.Request
	// RedeemedRequests are existing rows. Only their redemption is written, after the other lists.
	RedeemedRequests []*model.Request
	Events           []*model.Event
	Records          []*model.IdempotencyRecord
	NewEffects       []*model.Effect
	UpdatedEffects   []*model.Effect
	NewMessages      []*model.Message
	UpdatedMessages  []*model.Message
	NewRules         []*rules.Rule
	UpdatedRules     []*rules.Rule
	// Entries are entries of the audit log.
	Entries []*journal.Entry
}

// Gather merges the changes of one batch, given in the order of their decisions. A new checkpoint
// is written even if a later image of its run leaves CheckpointSet false: that image has it too.
// If two sessions create a run or a rule with the same id, both rows are returned and the database
// refuses one.
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
		w.RedeemedRequests = append(w.RedeemedRequests, change.RedeemedRequests...)
		w.Events = append(w.Events, change.Events...)
		w.Records = append(w.Records, change.Records...)
		w.Entries = append(w.Entries, change.Entries...)
	}
	w.NewSessions, w.UpdatedSessions = sessions.split()
	w.NewRuns, w.UpdatedRuns = runRows.split()
	w.NewRequests, w.SettledRequests = requests.split()
	w.NewEffects, w.UpdatedEffects = effects.split()
	w.NewMessages, w.UpdatedMessages = messages.split()
	w.NewRules, w.UpdatedRules = ruleRows.split()
	return w
}

// rows keeps the last image of each row and whether the batch inserts it, in the order of their
// first put.
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
