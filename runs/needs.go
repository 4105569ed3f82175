package runs

import "github.com/holdpoint/holdpoint/runs/model"

// Needs names the rows that a command's decision is made from. A need that is empty or false
// loads nothing. The session, its active run and the head of its queue are always loaded, and
// of every loaded run the requests that are open or belong to its Resume.
//
// The table load.Questions says which rows each need loads, and each engine has a statement for
// each of its lines.
type Needs struct {
	// SessionID is the session to lock. When it is empty, RunID names the run whose
	// session it is; a run never changes its session.
	SessionID string
	// NewSession says that the id SessionID was made for this command, so that nobody else
	// can know it.
	NewSession bool
	// RunID is the run that the command is about; empty when there is none.
	RunID string
	// ChosenRunID is an id that a caller chose for a new run: the run that has it already and the
	// record of its name are loaded, whatever their session.
	ChosenRunID string
	// SegmentID is the same for an id that a caller chose for a part of a run.
	SegmentID string
	// CountNames loads NameCount of the run RunID.
	CountNames bool
	// RequestIDs are loaded of the run RunID also when they are settled.
	RequestIDs []string
	// SuspensionID loads the requests of that suspension of the run RunID also when
	// they are settled.
	SuspensionID string
	// SessionRequestIDs are loaded of every run of the session, also when settled; with
	// Clarifications together with those runs.
	SessionRequestIDs []string
	// UnfinishedRuns loads the oldest DrainChunk+1 runs of the session that are not terminal, of
	// DrainBytes at most and one run more. That one is among State.LeftOut.
	UnfinishedRuns bool
	// UnfinishedBesides loads the oldest DrainChunk+1 of them that are calls, and as many parent
	// clarifications: the runs that take no slot. Both are bounded in the same way.
	UnfinishedBesides bool
	// Clarifications loads every parent clarification of the session that is not terminal.
	Clarifications bool
	// CountQueue loads State.Queued, CountCalls State.OpenCalls, CountClarifications
	// State.OpenClarifications, and CountMailbox State.Mailbox.
	CountQueue, CountCalls, CountClarifications, CountMailbox bool
	// MessageID loads that message of the session.
	MessageID string
	// RunMessages loads the messages for the run RunID that are not acknowledged.
	RunMessages bool
	// Mailbox loads the oldest pending messages of the session: MaxMailboxMessages and
	// MaxMailboxBytes at most, one at least.
	Mailbox bool
	// DeadLetters loads the oldest dead letters of the session, bounded in the same way.
	DeadLetters bool
	// EffectID loads that effect of the session.
	EffectID string
	// Rules loads RuleVersions, and of the rules of the session and those of all sessions the
	// exact ones about RuleDigests that are not revoked, at most MaxExactRulesLoaded and
	// MaxExactRuleBytesLoaded for each digest. No command with ChangesRules is answered before the decision is committed, unless
	// the decision was made after that command was committed.
	Rules       bool
	RuleDigests []string
	// CountRules loads RuleCounts: of the session and of all sessions.
	CountRules bool
	// RuleID loads that rule, whatever its session, and locks it.
	RuleID string
	// SessionRules loads all rules of the session that are not revoked.
	SessionRules bool
	// ChangesRules says that the command may revoke a rule or add one that denies or asks. It
	// is answered once every decision that was made from the rules as they were before is
	// committed. No other command waits for it.
	ChangesRules bool
	// MayResume says that the command may let the run RunID go on.
	MayResume bool
	// Payload loads input and checkpoint of the run RunID.
	Payload bool
	// TokenID loads the state of that token. It stays what it is until the decision is committed.
	TokenID string
	// Record is the idempotency record to look up; nil without a key. An empty scope
	// stands for the session that is locked.
	Record *model.RecordKey
}

// MaxExactRulesLoaded bounds the exact rules about one input that a decision is made from, of a
// session and of all sessions each. When there are as many, a person is asked instead of what
// they allow.
const MaxExactRulesLoaded = 64

// MaxExactRuleBytesLoaded bounds their texts and reasons in the same way. The last of them may go
// beyond it.
const MaxExactRuleBytesLoaded = 40 << 10
