package facts

import (
	"errors"
	"fmt"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
)

// ReadSet lists the cached facts that decisions used. The transaction that writes the decisions
// checks them, under the same locks that it would take to load them.
type ReadSet struct {
	// Each session must still have this version and be unlocked. New sessions are checked by their
	// INSERT.
	Sessions []*model.Session
	// The database must have this incarnation. Another one may use the same versions for other
	// rows.
	Incarnation int64
	// The deciding clock must be within WithinMs of NowMs.
	NowMs, WithinMs int64
	// Rules maps sessions to the expected version of their rules. No rule in Exact may be in force at
	// NowMs. If Rules is not empty, the transaction counts as one that has loaded rules.
	Rules map[string]int64
	Exact []ExactRules
	// Tokens must be unchanged in the fields that [auth.Token.Accepts] compares. None of them is
	// revoked, and they are locked until the transaction ends.
	Tokens []*auth.Token
	// SignIns maps hashes of cookies to tokens. Each sign-in must exist and have that token, and cannot end until the
	// transaction ends.
	SignIns map[string]string
}

// ExactRules identifies the rules about one input, of one session or of all sessions.
type ExactRules struct{ SessionID, InputDigest string }

// Errors of a commit whose ReadSet does not hold. They wrap ErrStale, and nothing was written.
var (
	ErrStale      = errors.New("cached rows are stale")
	ErrStaleClock = fmt.Errorf("%w: the clock estimate is off", ErrStale)
	ErrStaleRules = fmt.Errorf("%w: the rules have changed", ErrStale)
	// ErrStaleTokens means that a token was changed or a sign-in has ended, or is about to.
	ErrStaleTokens = fmt.Errorf("%w: a token has changed or a sign-in has ended", ErrStale)
	// ErrStaleDatabase means that the database has another incarnation, or that someone may have
	// changed sessions without a new version.
	ErrStaleDatabase = fmt.Errorf("%w: the database was restarted or changed by another program", ErrStale)
)
