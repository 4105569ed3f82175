package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Command is one thing that somebody wants changed. The types in this package are
// the only ones there are: whoever asks, by whatever face, ends up here, and every
// one of them goes through [Decide].
type Command interface {
	// Needs says which rows the decision is made from.
	Needs() Needs
	// prepare checks all that can be checked without a row, and fills in what the
	// caller left to the service. It runs once, before any lock.
	prepare(newID IDSource) error
	// decide makes the decision on a working copy of the rows.
	decide(w *work) (Reply, error)
}

// Reply is what a command is answered with, once it is durable. Only the members
// that the command's comment names are set.
type Reply struct {
	Run *model.RunRecord
	// Session is the session's row; its view is read after the commit.
	Session *model.Session
	Claim   *api.Claim
	Resume  *api.Resume
	// Existing: the thing was there already with the same payload.
	Existing bool
	// Replayed: the key was used before for the same call. Run is nil and ReplayRunID
	// names the run whose current view is the answer. So it is when CreateRun finds a
	// run of the same id and payload (Existing).
	Replayed    bool
	ReplayRunID string
	// Interrupted: there was something to interrupt.
	Interrupted      bool
	LeaseExpiresAtMs int64
	CancelRequested  bool
	LastEventID      int64
	// Clarification names the run in the parent's session that a child's question
	// became.
	Clarification *api.WaitingOn
	// Open is the command that makes that run, if it is not there yet.
	Open     *OpenClarification
	Messages []model.Message
	Effect   *model.Effect
	Rule     *rules.Record
	NowMs    int64
}

// CreateSession makes a session, or finds the one with the same id.
//
// Reply: Session, Existing. Errors: invalid_request; id_conflict when the session
// is there with another agent or parent (an absent one matches, decisions.md 37).
type CreateSession struct {
	SessionID       string // made when empty
	AgentID         string
	ParentSessionID string
	Metadata        api.JSON
}

// CreateRun makes a run in a session, and the session when it is not there.
//
// Reply: Run, and Claim when a lease was taken that did not end with Suspend (it goes
// on when rules settled all that was asked for); or
// Existing or Replayed, which set ReplayRunID and leave Run nil. Errors:
// invalid_idempotency_key; invalid_request; session_ended; session_busy
// (Inline); run_not_claimable (Claim while another run is active or queued);
// id_conflict; idempotency_conflict.
type CreateRun struct {
	SessionID    string // made when empty
	RunID        string // made when empty
	Kind         api.RunKind
	Input        api.JSON
	AgentID      string // the session's when empty
	ParentRunID  string
	Metadata     api.JSON
	SourcePlugin string
	SourceKind   string
	ActorID      string
	Claim        *api.ClaimOptions
	Suspend      *api.Suspension
	// Inline refuses to queue: nothing may be queued or active.
	Inline bool
	// Key is the caller's idempotency key, empty for none. SessionGiven tells
	// whether the caller named the session, which decides the key's scope.
	Key          string
	SessionGiven bool
	Caller       string

	runIDGiven bool
	canonical  []byte
	preview    string
	suspending raisedSuspension
}

// ClaimRun takes the lease of a run that may go on.
//
// Reply: Claim. Errors: run_not_found; run_not_claimable, also when the run had to
// be failed instead because it made no progress in MaxAttempts attempts.
type ClaimRun struct {
	RunID       string
	SessionID   string // found by RunID when empty
	WorkerID    string
	LeaseMs     int64 // DefaultLeaseMs when 0
	MaxAttempts int64 // DefaultMaxAttempts when 0
}

// Limits and defaults of leases, in milliseconds, and of attempts.
const (
	DefaultMaxAttempts = 10
)

// Heartbeat extends a lease and may store a checkpoint. The extension counts from
// now; a lapsed lease that nobody took over is revived.
//
// Reply: LeaseExpiresAtMs, or CancelRequested when the run was cancelled or
// interrupted. Errors: run_not_found, lease_lost, run_state_conflict (the run is
// over by its holder's own act), invalid_request.
type Heartbeat struct {
	RunID        string
	Fence        int64
	LeaseMs      int64 // DefaultLeaseMs when 0
	Checkpoint   api.JSON
	SettledAfter *int64 // see Suspension
}

// Suspend raises requests and waits for them, but for those that rules settle. When
// they settle all, the run goes on under the same lease.
//
// Reply: Run. Errors: run_not_found, lease_lost, run_state_conflict, id_conflict,
// invalid_request.
type Suspend struct {
	RunID string
	Fence int64
	api.Suspension

	suspending raisedSuspension
}

// Withdraw takes back a request that its attached worker no longer needs.
//
// Reply: Run. Errors: run_not_found, lease_lost, run_state_conflict,
// request_not_found; approval_state_conflict or question_state_conflict with the
// recorded decision when the request is settled.
type Withdraw struct {
	RunID     string
	RequestID string
	Fence     int64
	Reason    string
}

// AppendEvents adds a worker's events to the session's log.
//
// Reply: LastEventID. Errors: run_not_found, lease_lost, run_state_conflict,
// invalid_request.
type AppendEvents struct {
	RunID string
	Fence int64
	// Events are objects with a "type" that the service does not write itself,
	// except "output", which also becomes an output record.
	Events []api.JSON

	parsed []appendedEvent
}

// Complete ends a run with its output. What is still open is recorded expired.
//
// Reply: Run, Existing. Errors: run_not_found, lease_lost, run_state_conflict.
type Complete struct {
	RunID  string
	Fence  int64
	Output api.JSON

	digest string
}

// Fail ends a run with an error. What is still open is recorded expired.
//
// Reply: Run, Existing. Errors: run_not_found, lease_lost, run_state_conflict,
// invalid_request.
type Fail struct {
	RunID string
	Fence int64
	Error string

	digest string
}

// Release gives a run back unfinished; it is claimable at once. An attached worker
// may release while its run waits: then it is as if it had not stayed.
//
// Reply: Run, Existing. Errors: run_not_found, lease_lost, run_state_conflict (the
// run is over by its holder's own act).
type Release struct {
	RunID      string
	Fence      int64
	Checkpoint api.JSON

	digest string
}

// ResolveApprovals decides one or more open approvals of one run, all or none. The
// run is RunID, or the active run of SessionID.
//
// Reply: Run, or Replayed. Errors, in the order of kheish.md 1.5.
type ResolveApprovals struct {
	SessionID   string
	RunID       string
	Resolutions []ApprovalDecision
	// MaxRuleAgeMs caps how long a rule may hold that is written with a decision; 0 for
	// no cap. It is the service's setting and not the caller's.
	MaxRuleAgeMs int64
	Key          string
	Actor        Actor

	canonical []byte
}

// AnswerQuestion answers or declines one open question request. The run is RunID,
// or the one of SessionID that decisions.md 30 tells.
//
// Reply: Run, or Replayed. Errors, in the order of kheish.md 1.6.
type AnswerQuestion struct {
	SessionID  string
	RunID      string
	Resolution QuestionAnswer
	// Partial keeps answers to some of the questions until there is one to each, and
	// then answers the request with all of them. A question that has an answer takes no
	// other one so: that is question_state_conflict. Such a call takes no key. An answer
	// to the whole request, and a decline, go before what was kept.
	Partial bool
	Key     string
	Actor   Actor

	canonical []byte
}

// CancelQuestion cancels an open question and with it the run. A parent clarification
// completes with a declined answer.
//
// Reply: Run, or Replayed. Errors, in the order of kheish.md 1.8.
type CancelQuestion struct {
	RunID         string
	RequestID     string
	Justification string
	Key           string
	Actor         Actor

	canonical []byte
}

// CancelRun cancels a run. One that is over stays as it is. A parent clarification
// completes with a declined answer.
//
// Reply: Run, Existing. Errors: run_not_found, invalid_request.
type CancelRun struct {
	RunID  string
	Reason string
	Actor  Actor
}

// InterruptSession interrupts the session's active run and declines the parent
// clarifications that wait in it.
//
// Reply: Session, Interrupted. Errors: session_not_found, invalid_request.
type InterruptSession struct {
	SessionID string
	Reason    string
	Actor     Actor
}

// EndSession ends a session: its active and queued runs are cancelled, the parent
// clarifications that wait in it are declined, its messages become dead letters, its
// rules are revoked, and no run is taken any more. Ending it again changes nothing.
//
// Reply: Session, Existing. Errors: session_not_found, invalid_request.
type EndSession struct {
	SessionID string
	Reason    string
	Actor     Actor
}

// ExpireRequests expires what is due on a run. It is how the sweep knocks at the
// door; every other command on the run does the same first.
//
// Reply: Run. Errors: run_not_found.
type ExpireRequests struct {
	SessionID string
	RunID     string
}
