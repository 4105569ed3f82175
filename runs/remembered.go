package runs

import (
	"reflect"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Remembered caches one session's rows after a transaction of this process. The next decisions
// can use them without reading, if the writing transaction fails when the session's version has
// changed. It is not safe for concurrent use.
type Remembered struct {
	// State has no records, effects or rules, and only the tokens and sign-ins of callers who decide now.
	State *State
	// before is the session's last known row in the database; nil when there was none.
	before *model.Session
	// shown has the runs for which all requests that a view or a decision needs are cached.
	shown map[string]bool
	// mail has the runs for which all messages are cached.
	mail map[string]bool
}

// RememberNew returns an empty cache for a session whose id was just generated.
func RememberNew(sessionID string) *Remembered {
	return &Remembered{State: &State{SessionID: sessionID}}
}

// Remember caches a state that was loaded for some needs, and takes ownership of it. Call
// [Remembered.Applied] for each change that was applied to it, and then [Remembered.Committed].
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
			put(&r.shown, runID, true) // a queued run has no requests yet
		}
	}
	return r
}

// Before returns the session's last known row in the database, nil when there was none.
func (r *Remembered) Before() *model.Session { return r.before }

// Applied notes a change that was applied to the state. The cache has all rows of new runs.
func (r *Remembered) Applied(change *Change) {
	for _, run := range change.NewRuns {
		put(&r.shown, run.RunID, true)
		put(&r.mail, run.RunID, true)
	}
}

// Committed notes that the changes are in the database. It drops the rows that no decision needs:
// finished runs, and rows whose changes do not bump the session's version.
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
		// Idle sessions stay cached longest and are most of the cache. Empty maps would dominate their size.
		state.Runs, state.Requests, state.Messages, r.shown, r.mail = nil, nil, nil, nil, nil
	}
	state.LeftOut, state.Cut = nil, nil
	state.Queued, state.OpenCalls, state.OpenClarifications, state.Mailbox = nil, nil, nil, nil
	state.Records, state.Effects, state.Rules, state.RuleCounts, state.Tokens, state.SignIns, state.NameCounts = nil, nil, nil, nil, nil, nil, nil
}

// UseToken adds the token of a caller who decides now to the state.
func (r *Remembered) UseToken(token *auth.Token) { put(&r.State.Tokens, token.TokenID, token) }

// UseSignIn adds the sign-in of a caller who decides now to the state.
func (r *Remembered) UseSignIn(cookieHash, tokenID string) {
	put(&r.State.SignIns, cookieHash, tokenID)
}

// Answers reports whether the cached rows satisfy a need, and everything that is always loaded. The
// transaction must verify that there are no rules, that inserted rows do not exist, and that
// the token and the sign-in are current. It returns false for needs that it does not know.
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
	needs.Rules, needs.RuleDigests, needs.Record, needs.TokenID, needs.CookieHash = false, nil, nil, "", ""
	return reflect.ValueOf(&needs).Elem().IsZero()
}

// complete reports whether the active run and the whole queue are cached.
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
		return true // only refusals depend on settled requests
	}
	var raised int64
	for key := range r.State.Requests {
		if key.RunID == needs.RunID {
			raised++
		}
	}
	return raised == run.RaisedCount
}

// Turns reports whether a lease or a deadline expires after afterMs and up to untilMs. If not, a
// decision has the same result at either time.
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

// Proves reports whether a decision from cached rows is valid once its change is written. A refusal
// never is: it may depend on a row that is not cached.
func (r *Remembered) Proves(needs *Needs, change *Change, err error) bool {
	if err != nil || change.Session == nil {
		return false
	}
	if needs.Record == nil {
		return true
	}
	return slices.ContainsFunc(change.Records, func(record *model.IdempotencyRecord) bool {
		return record.Operation == needs.Record.Operation && record.IdempotencyKey == needs.Record.IdempotencyKey
	})
}

// rowBytes is roughly the size of a row without its long texts.
const rowBytes = 1024

// Bytes estimates the memory that the rows use.
func (r *Remembered) Bytes() int {
	bytes := rowBytes
	if session := r.State.Session; session != nil {
		bytes += rowBytes + len(session.Metadata) + len(session.About)
	}
	for _, run := range r.State.Runs {
		bytes += rowBytes + len(run.Input) + len(run.Checkpoint) + len(run.Output) + len(run.Metadata) + len(run.Requester)
	}
	for _, request := range r.State.Requests {
		bytes += rowBytes + len(request.Body) + len(request.Resolution) + len(request.PartialAnswers) + len(request.Acknowledgement) + len(request.EscalationState)
	}
	for _, message := range r.State.Messages {
		bytes += rowBytes + len(message.Payload)
	}
	return bytes
}
