package runs

import "github.com/holdpoint/holdpoint/runs/model"

// Needs names the rows that a command's decision reads. An empty or false need loads nothing.
// The session, its active run and the head of its queue are always loaded. So are, for every
// loaded run, the requests that are open or belong to its Resume.
//
// The table load.Questions maps each need to its rows, and each engine has a statement for each
// line of the table.
type Needs struct {
	// SessionID is the session to lock. If it is empty, RunID determines the session. A run never
	// changes its session.
	SessionID string
	// NewSession says that SessionID was generated for this command, so no other caller knows it.
	NewSession bool
	// RunID is the command's target run; empty when there is none.
	RunID string
	// ChosenRunID is an id that a caller chose for a new run. It loads an existing run with this id and
	// the record of its name, in any session.
	ChosenRunID string
	// SegmentID is the same for a caller-chosen id of a part of a run.
	SegmentID string
	// CountNames loads NameCount of the run RunID.
	CountNames bool
	// RequestIDs loads these requests of the run RunID, even if settled.
	RequestIDs []string
	// SuspensionID loads that suspension's requests of the run RunID, even if settled.
	SuspensionID string
	// SessionRequestIDs loads, of the session's requests with each of these ids, the one of the active run, and of
	// SessionRequestKind the open ones and the newest, even if settled. With Clarifications it also loads the run of
	// the newest, and with SessionRequestRuns the runs of all and their requests that are open or in the Resume.
	SessionRequestIDs  []string
	SessionRequestKind model.RequestKind
	SessionRequestRuns bool
	// UnfinishedRuns loads the oldest DrainChunk+1 non-terminal runs of the session, up to DrainBytes,
	// and one more run, which is in State.LeftOut. State.Cut tells whether there may be more.
	UnfinishedRuns bool
	// UnfinishedBesides loads the runs that take no slot: the oldest DrainChunk+1 unfinished calls, and
	// as many parent clarifications, each with the same limits.
	UnfinishedBesides bool
	// Clarifications loads every non-terminal parent clarification of the session.
	Clarifications bool
	// CountQueue loads State.Queued, CountCalls State.OpenCalls, CountClarifications
	// State.OpenClarifications, and CountMailbox State.Mailbox.
	CountQueue, CountCalls, CountClarifications, CountMailbox bool
	// MessageID loads that message of the session.
	MessageID string
	// RunMessages loads the unacknowledged messages for the run RunID.
	RunMessages bool
	// Mailbox loads the oldest pending messages of the session, up to MaxMailboxMessages and
	// MaxMailboxBytes, but at least one.
	Mailbox bool
	// DeadLetters loads the oldest dead letters of the session, with the same limits.
	DeadLetters bool
	// EffectID loads that effect of the session, and AdvanceID another one.
	EffectID, AdvanceID string
	// Rules loads RuleVersions and the exact rules in force for RuleDigests, of the session and of all
	// sessions. For each digest it loads at most MaxExactRulesLoaded and MaxExactRuleBytesLoaded. A
	// command with ChangesRules is not answered until this decision is committed, unless the decision
	// was made after that command's commit.
	Rules       bool
	RuleDigests []string
	// CountRules loads RuleCounts of the session and of all sessions.
	CountRules bool
	// RuleID loads and locks that rule, in any session.
	RuleID string
	// SessionRules loads the rules of the session that are in force.
	SessionRules bool
	// ChangesRules says that the command may revoke a rule, or add one that denies, asks or has a hint. Its reply
	// waits until every decision based on the previous rules is committed. No other command waits
	// for that.
	ChangesRules bool
	// MayResume says that the command may let the run RunID continue.
	MayResume bool
	// Payload loads the input and checkpoint of the run RunID.
	Payload bool
	// TokenID loads the state of that token. The row is locked until commit.
	TokenID string
	// CookieHash loads the sign-in of a browser with that cookie, which cannot end until commit.
	CookieHash string
	// Record is the idempotency record to look up; nil without a key. An empty scope means the
	// locked session.
	Record *model.RecordKey
}
