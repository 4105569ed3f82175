package runs

import (
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Rows are new images of whole rows. A row is in at most one of its two lists.
type Rows struct {
	NewRuns     []*model.Run
	UpdatedRuns []*model.Run
	NewRequests []*model.Request
	// SettledRequests are existing rows: requests that were settled, or that have a new partial
	// answer and are still open.
	SettledRequests []*model.Request
	// RedeemedRequests are settled requests whose grant was redeemed. Only the redemption is written,
	// after the other lists. They may also be in one of the lists above.
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

// Writes are the rows that a batch of decisions writes: each row once, in its last image.
type Writes struct {
	NewSessions     []*model.Session
	UpdatedSessions []*model.Session
	Rows
}

// Gather merges the changes of one batch, given in the order of their decisions. A new checkpoint
// is written even if a later image of its run leaves CheckpointSet false: that image has it too.
// If two sessions create a run or a rule with the same id, both rows are returned and the database
// refuses one.
func Gather(changes []Change) Writes {
	var w Writes
	sessions := lastRows[string, model.Session]{}
	runRows := lastRows[[2]string, model.Run]{}
	requests := lastRows[[3]string, model.Request]{}
	effects := lastRows[string, model.Effect]{}
	messages := lastRows[[2]string, model.Message]{}
	ruleRows := lastRows[[2]string, rules.Rule]{}
	for i := range changes {
		change := &changes[i]
		if change.Session != nil {
			sessions.put(change.Session.SessionID, change.Session, change.SessionNew)
		}
		runRows.putAll(change.NewRuns, nil, keyOfRun)
		for _, run := range change.UpdatedRuns {
			if before := runRows.get(keyOfRun(run)); before != nil && before.CheckpointSet && !run.CheckpointSet {
				kept := *run
				kept.CheckpointSet = true
				run = &kept
			}
			runRows.put(keyOfRun(run), run, false)
		}
		requests.putAll(change.NewRequests, change.SettledRequests, func(r *model.Request) [3]string { return [3]string{r.SessionID, r.RunID, r.RequestID} })
		effects.putAll(change.NewEffects, change.UpdatedEffects, func(e *model.Effect) string { return e.EffectID })
		messages.putAll(change.NewMessages, change.UpdatedMessages, func(m *model.Message) [2]string { return [2]string{m.SessionID, m.MessageID} })
		ruleRows.putAll(change.NewRules, change.UpdatedRules, func(r *rules.Rule) [2]string { return [2]string{r.SessionID, r.RuleID} })
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

func keyOfRun(run *model.Run) [2]string { return [2]string{run.SessionID, run.RunID} }

// lastRows keeps the last image of each row and whether the batch inserts it, in the order of their
// first put.
type lastRows[K comparable, R any] struct {
	index map[K]int
	last  []*R
	isNew []bool
}

func (r *lastRows[K, R]) put(key K, row *R, isNew bool) {
	if at, seen := r.index[key]; seen {
		r.last[at] = row
		return
	}
	put(&r.index, key, len(r.last))
	r.last = append(r.last, row)
	r.isNew = append(r.isNew, isNew)
}

func (r *lastRows[K, R]) putAll(inserted, updated []*R, key func(*R) K) {
	for _, row := range inserted {
		r.put(key(row), row, true)
	}
	for _, row := range updated {
		r.put(key(row), row, false)
	}
}

// get returns the last image of a row so far, or nil.
func (r *lastRows[K, R]) get(key K) *R {
	if at, seen := r.index[key]; seen {
		return r.last[at]
	}
	return nil
}

func (r *lastRows[K, R]) split() (inserted, updated []*R) {
	for i, row := range r.last {
		if r.isNew[i] {
			inserted = append(inserted, row)
		} else {
			updated = append(updated, row)
		}
	}
	return inserted, updated
}
