package model

import "github.com/holdpoint/holdpoint/api"

// Vitals says how much waits in a database, and since when. Each count looks at so many rows as
// its reader was told, and is that number when there are more.
type Vitals struct {
	NowMs   int64
	Waits   []WaitTally
	Effects []EffectTally
	// Claimable are runs that a worker may claim; OldestMs is the moment from which the first one
	// could be.
	Claimable Tally
	// Overdue are open requests past their deadline; OldestMs is the earliest deadline.
	Overdue Tally
	// DeadLetters are messages that nobody acknowledged in time.
	DeadLetters Tally
	// Rules are the standing rules in force.
	Rules Tally
}

// Backlog is how much a principal has waiting: the open requests of the runs that it holds or, while
// nobody held them, made, and its queued runs. The principal is empty for what the service made.
type Backlog struct {
	Principal       string
	Prompts, Queued int64
}

// Tally counts rows. OldestMs is a moment of the oldest, 0 when there is none.
type Tally struct{ Count, OldestMs int64 }

// WaitTally counts the open requests of a kind that have waited for a while.
type WaitTally struct {
	Kind RequestKind
	Age  WaitAge
	Tally
}

// WaitAge is a band of ages.
type WaitAge int64

// The bands of ages, each from the end of the one before.
const (
	WaitUnderMinute WaitAge = iota
	WaitUnderHour
	WaitUnderDay
	WaitUnderWeek
	WaitOverWeek
	WaitAges
)

// EffectTally counts the effects of a kind that are owed, or that were given up. OldestMs is when
// the oldest was written.
type EffectTally struct {
	Kind  api.EffectKind
	State api.EffectState
	Tally
}
