//go:build unix && faults

package linearizability

import (
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// kind is the kind of a call.
type kind string

// The kinds of calls.
const (
	callCreate         kind = "create"
	callClaim          kind = "claim"
	callHeartbeat      kind = "heartbeat"
	callRelease        kind = "release"
	callSuspend        kind = "suspend"
	callComplete       kind = "complete"
	callResolve        kind = "resolve"
	callAnswer         kind = "answer"
	callCancelQuestion kind = "cancel question"
	callCancelRun      kind = "cancel run"
	callRead           kind = "read"
)

// Each suspension of a run has its own places for requests, so that a request is known
// by one number.
const (
	maxRounds        = 3
	requestsPerRound = 2
	maxSlots         = maxRounds * requestsPerRound
)

// input is a call as it was made. The members that its kind has no use for are zero.
type input struct {
	Kind kind
	// CallMs is when the call was made, by the clock that the database has as well.
	CallMs int64
	// Mark distinguishes this call's decision from all others. It begins with the caller's name and
	// is recorded with the decision.
	Mark string
	// Key is the number of the idempotency key within its run, from 1; 0 for none. Variant
	// distinguishes two payloads with the same key, or two releases with the same fence.
	Key, Variant int

	Fence   int64
	LeaseMs int64
	// Round counts the suspensions of the run, from 0. Asked are the requests of this one.
	Round int
	Asked []asked
	// Decisions are set for a resolve; all other decisions are about one request.
	Decisions []decision
}

// asked is a request of a suspension.
type asked struct {
	Slot     int
	Question bool
	DueAtMs  int64 // 0 for never
}

// decision is the decision about a request.
type decision struct {
	Slot    int
	Outcome api.Outcome
}

// output is the reply to the caller.
type output struct {
	// Unknown: no reply shows whether the call had an effect. It may take effect until the end of
	// the history.
	Unknown bool
	// Nothing: the call had no effect and showed nothing, so it is not recorded.
	Nothing  bool
	ReturnMs int64
	// Code is set for a refusal; all other fields except Recorded are then zero.
	Code api.Code
	// Recorded is the earlier decision in a refusal, and RecordedSlot its request.
	Recorded     settled
	RecordedSlot int
	// Repeated: the service knew this very call already.
	Repeated bool

	Fence           int64
	LapsesAtMs      int64
	CancelRequested bool
	Status          api.Status
	// Open and Settled are the requests that a view shows.
	Open    [maxSlots]bool
	Settled [maxSlots]settled
	// Result is the output of a run that completed.
	Result string
}

// settled is the shown result of a request.
type settled struct {
	Outcome api.Outcome
	// Mark is the mark of the call that decided. If no call did, or its mark is not shown,
	// it is the name of the caller and "#".
	Mark string
}

// Who of results that no call decides.
const (
	systemName = "system"
	systemMark = systemName + "#"
)

// actorOf returns the name that a mark begins with.
func actorOf(mark string) string {
	name, _, _ := strings.Cut(mark, "#")
	return name
}

func describeCall(in input, out output) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s", in.Kind)
	if in.Fence != 0 {
		fmt.Fprintf(&text, " fence %d", in.Fence)
	}
	for _, one := range in.Asked {
		fmt.Fprintf(&text, " %s", one)
	}
	for _, one := range in.Decisions {
		fmt.Fprintf(&text, " r%d=%s", one.Slot, one.Outcome)
	}
	if in.Key != 0 {
		fmt.Fprintf(&text, " key %d.%d", in.Key, in.Variant)
	} else if in.Variant != 0 {
		fmt.Fprintf(&text, " variant %d", in.Variant)
	}
	fmt.Fprintf(&text, " by %s at %d ", in.Mark, in.CallMs)
	switch {
	case out.Unknown:
		text.WriteString("→ unknown")
		return text.String()
	case out.Code != "":
		fmt.Fprintf(&text, "→ %s", out.Code)
		if out.Recorded.Outcome != "" {
			fmt.Fprintf(&text, " (r%d %s)", out.RecordedSlot, out.Recorded)
		}
	default:
		text.WriteString("→ ok")
	}
	if out.Repeated {
		text.WriteString(" repeated")
	}
	if out.Fence != 0 {
		fmt.Fprintf(&text, " fence %d", out.Fence)
	}
	if out.LapsesAtMs != 0 {
		fmt.Fprintf(&text, " lapses at %d", out.LapsesAtMs)
	}
	if out.Status != "" {
		fmt.Fprintf(&text, " %s", out.Status)
	}
	for slot := range maxSlots {
		if out.Open[slot] {
			fmt.Fprintf(&text, " r%d open", slot)
		}
		if out.Settled[slot].Outcome != "" {
			fmt.Fprintf(&text, " r%d %s", slot, out.Settled[slot])
		}
	}
	fmt.Fprintf(&text, " at %d", out.ReturnMs)
	return text.String()
}

func (a asked) String() string {
	what := "approval"
	if a.Question {
		what = "question"
	}
	if a.DueAtMs != 0 {
		return fmt.Sprintf("r%d %s due %d", a.Slot, what, a.DueAtMs)
	}
	return fmt.Sprintf("r%d %s", a.Slot, what)
}

func (s settled) String() string { return fmt.Sprintf("%s by %s", s.Outcome, s.Mark) }
