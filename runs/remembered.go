package runs

import (
	"reflect"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Remembered has the rows of one session as a transaction of this process left them. The next
// decisions may be made from them without reading, if the transaction that writes what was
// decided refuses to when the session has another version by then. It is not safe for
// concurrent use.
type Remembered struct {
	// State has neither records, effects nor rules, and no tokens but those of callers who decide now.
	State *State
	// before is the session when it was last known to be in the database; nil when it was not.
	before *model.Session
	// shown are the runs of which all requests are here that a view or a decision needs.
	shown map[string]bool
	// mail are the runs of which all messages are here.
	mail map[string]bool
}

// RememberNew returns a session that nobody else can know: its id was made just now.
func RememberNew(sessionID string) *Remembered {
	return &Remembered{State: &State{SessionID: sessionID}}
}

// Remember returns what is left of a state that was loaded for some needs. It takes the state
// over. Call [Remembered.Applied] for each change that was applied to it, and then
// [Remembered.Committed].
func Remember(state *State, needs []Needs) *Remembered {
	r := &Remembered{State: state, before: state.Session}
	if state.Session != nil && state.Session.ActiveRunID != "" {
		put(&r.shown, state.Session.ActiveRunID, true)
	}
	for i := range needs {
		put(&r.shown, needs[i].RunID, true)
		if needs[i].RunMessages {
			put(&r.mail, needs[i].RunID, true)
		}
	}
	for runID, run := range state.Runs {
		if run.Status == api.StatusQueued {
			put(&r.shown, runID, true) // it has asked for nothing yet
		}
	}
	return r
}

// Before returns the session as it was last known to be in the database, nil when it was not.
func (r *Remembered) Before() *model.Session { return r.before }

// Applied tells that a change was applied to the state. All rows of a new run are in it.
func (r *Remembered) Applied(change *Change) {
	for _, run := range change.NewRuns {
		put(&r.shown, run.RunID, true)
		put(&r.mail, run.RunID, true)
	}
}

// Committed tells that the changes are in the database, and forgets what no decision is made
// from: what is over, and rows that a change of the session's version does not show.
func (r *Remembered) Committed() {
	r.before = r.State.Session
	for runID, run := range r.State.Runs {
		if run.SessionID != r.State.SessionID || model.Terminal(run.Status) || !r.shown[runID] {
			delete(r.State.Runs, runID)
		}
	}
	for key := range r.State.Requests {
		if r.State.Runs[key.RunID] == nil {
			delete(r.State.Requests, key)
		}
	}
	for messageID, message := range r.State.Messages {
		if r.State.Runs[message.RunID] == nil {
			delete(r.State.Messages, messageID)
		}
	}
	for _, known := range []map[string]bool{r.shown, r.mail} {
		for runID := range known {
			if r.State.Runs[runID] == nil {
				delete(known, runID)
			}
		}
	}
	state := r.State
	if len(state.Runs) == 0 {
		// What is over is remembered longest and is most of what there is. Maps would be most of it.
		state.Runs, state.Requests, state.Messages, r.shown, r.mail = nil, nil, nil, nil, nil
	}
	state.LeftOut = nil
	state.Queued, state.OpenCalls, state.OpenClarifications, state.Mailbox = nil, nil, nil, nil
	state.Records, state.Effects, state.Rules, state.RuleCounts, state.Tokens, state.NameCounts = nil, nil, nil, nil, nil, nil
}

// UseToken puts the token of a caller who decides now into the state.
func (r *Remembered) UseToken(token *auth.Token) { put(&r.State.Tokens, token.TokenID, token) }

// Answers reports whether the rows answer a need, and all that is always loaded. Rules must be
// none, whatever is to be inserted must not be there, and the token must be the one that is put in
// the state: that is for the transaction to see to. A need that this does not know is not answered.
func (r *Remembered) Answers(needs Needs) bool {
	session := r.State.Session
	if session != nil && !r.complete(session) {
		return false
	}
	if needs.RunID != "" && !r.answersRun(&needs) {
		return false
	}
	needs.SessionID, needs.NewSession, needs.RunID, needs.ChosenRunID = "", false, "", ""
	needs.RequestIDs, needs.SuspensionID = nil, ""
	needs.RunMessages, needs.Payload, needs.MayResume = false, false, false
	needs.Rules, needs.RuleDigests, needs.Record, needs.TokenID = false, nil, nil, ""
	return reflect.ValueOf(&needs).Elem().IsZero()
}

// complete reports whether the active run and the whole queue are here.
func (r *Remembered) complete(session *model.Session) bool {
	if active := session.ActiveRunID; active != "" && (r.State.Runs[active] == nil || !r.shown[active]) {
		return false
	}
	var queued int64
	if session.QueuedCount > 0 {
		for _, run := range r.State.Runs {
			if run.Status == api.StatusQueued {
				queued++
			}
		}
	}
	return queued == session.QueuedCount
}

func (r *Remembered) answersRun(needs *Needs) bool {
	run := r.State.Runs[needs.RunID]
	switch {
	case run == nil || !r.shown[needs.RunID]:
		return false
	case needs.Payload && run.Input == nil, needs.RunMessages && !r.mail[needs.RunID]:
		return false
	case needs.SuspensionID == "":
		return true // of settled requests only a refusal tells
	}
	var raised int64
	for key := range r.State.Requests {
		if key.RunID == needs.RunID {
			raised++
		}
	}
	return raised == run.RaisedCount
}

// Turns reports whether a lease lapses or a deadline passes after a moment and no later than
// another. If not, a decision comes out the same at either.
func (r *Remembered) Turns(afterMs, untilMs int64) bool {
	between := func(atMs int64) bool { return atMs > afterMs && atMs <= untilMs }
	for _, run := range r.State.Runs {
		if between(run.ClaimableAtMs) || between(run.LeaseExpiresAtMs) {
			return true
		}
	}
	for _, request := range r.State.Requests {
		if request.Open() && between(request.DueAtMs) {
			return true
		}
	}
	for _, message := range r.State.Messages {
		if between(message.LeaseExpiresAtMs) {
			return true
		}
	}
	return false
}

// Proves reports whether a decision that was made from remembered rows holds if its change can
// be written. A refusal does not: it may rest on a row that is not remembered.
func (r *Remembered) Proves(needs *Needs, change *Change, err error) bool {
	if err != nil || change.Session == nil {
		return false
	}
	if needs.Record == nil {
		return true
	}
	for _, record := range change.Records {
		if record.Operation == needs.Record.Operation && record.IdempotencyKey == needs.Record.IdempotencyKey {
			return true
		}
	}
	return false
}

// rowBytes is about what a row takes beside its long texts.
const rowBytes = 1024

// Bytes returns about how much memory the rows take.
func (r *Remembered) Bytes() int {
	bytes := rowBytes
	if session := r.State.Session; session != nil {
		bytes += rowBytes + len(session.Metadata)
	}
	for _, run := range r.State.Runs {
		bytes += rowBytes + len(run.Input) + len(run.Checkpoint) + len(run.Output) + len(run.Metadata) + len(run.Requester)
	}
	for _, request := range r.State.Requests {
		bytes += rowBytes + len(request.Body) + len(request.Resolution) + len(request.PartialAnswers)
	}
	for _, message := range r.State.Messages {
		bytes += rowBytes + len(message.Payload)
	}
	return bytes
}
