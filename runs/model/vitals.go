package model

import "github.com/holdpoint/holdpoint/api"

// Vitals counts pending work in a database, with its age. Each count stops at the reader's
// limit.
type Vitals struct {
	NowMs   int64
	Waits   []WaitTally
	Effects []EffectTally
	// Claimable counts runs that a worker can claim; OldestMs is when the first became
	// claimable.
	Claimable Tally
	// Overdue counts open requests past their deadline; OldestMs is the earliest deadline.
	Overdue Tally
	// DeadLetters counts messages that were not acknowledged in time.
	DeadLetters Tally
	// Intake counts the runs that other programs' transactions have asked for and that do not exist
	// yet, and RefusedRuns those that never will unless somebody retries them.
	Intake, RefusedRuns Tally
	// Rules counts the standing rules in force.
	Rules Tally
}

// Backlog counts a principal's queued runs and the open requests of its runs. A run belongs to
// its holder, or to its creator before the first claim. The principal is empty for the service's
// own.
type Backlog struct {
	Principal       string
	Prompts, Queued int64
}

// Tally counts rows. OldestMs is the time of the oldest, 0 without any.
type Tally struct{ Count, OldestMs int64 }

// WaitTally counts the open requests of a kind that have waited for a while.
type WaitTally struct {
	Kind RequestKind
	Age  WaitAge
	Tally
}

// WaitAge is a range of ages.
type WaitAge int64

// The ranges of ages; each starts at the end of the one before.
const (
	WaitUnderMinute WaitAge = iota
	WaitUnderHour
	WaitUnderDay
	WaitUnderWeek
	WaitOverWeek
	WaitAges
)

// EffectTally counts the pending or failed effects of a kind. OldestMs is when the oldest was
// written; a message to a person counts from when it is due until its first attempt.
type EffectTally struct {
	Kind  api.EffectKind
	State api.EffectState
	Tally
}
