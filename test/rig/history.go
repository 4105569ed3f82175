//go:build unix

package rig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// Reply is the caller's knowledge about a decision after its reply.
type Reply int

// Possible replies.
const (
	// Nothing: there was no reply, or none that says. The decision may be in force or not.
	NoReply Reply = iota
	// Acknowledged: the decision is in force.
	Acknowledged
	// Refused: another decision was on record before it.
	Refused
)

// Decision is one decision and its reply.
type Decision struct {
	RunID, RequestID string
	// Outcome is the request's outcome if the decision takes effect. It differs between all
	// decisions about a request.
	Outcome api.Outcome
	Reply   Reply
	// Recorded is the outcome that a refusal named.
	Recorded api.Outcome
	// Replayed: the answer was the remembered one of an earlier attempt.
	Replayed bool
	// Service is the number of the replica that was asked.
	Service int
	// SentAt is before the first attempt, AnsweredAt after the last.
	SentAt, AnsweredAt time.Time
}

// Claim is a run claimed by a worker.
type Claim struct {
	RunID, Fence string
	// Outcomes are the outcomes of the delivered decisions.
	Outcomes []api.Outcome
}

// History records the calls of a [Traffic]'s clients and their replies.
type History struct {
	// Created and Completed are the runs of which that was acknowledged.
	Created, Completed []string
	// CreatedBefore is how many of Created existed from an earlier attempt.
	CreatedBefore int
	Decisions     []Decision
	Claims        []Claim
	// Unexpected are answers that should never be given.
	Unexpected []string
}

func (h *History) clone() History {
	return History{
		Created: slices.Clone(h.Created), CreatedBefore: h.CreatedBefore, Completed: slices.Clone(h.Completed), Decisions: slices.Clone(h.Decisions),
		Claims: slices.Clone(h.Claims), Unexpected: slices.Clone(h.Unexpected),
	}
}

// Acknowledged is how many decisions were acknowledged.
func (h *History) Acknowledged() int {
	return h.count(func(d *Decision) bool { return d.Reply == Acknowledged })
}

// Replayed is how many runs and decisions were acknowledged to a repeated call only,
// after an earlier attempt had taken effect.
func (h *History) Replayed() int {
	return h.CreatedBefore + h.count(func(d *Decision) bool { return d.Reply == Acknowledged && d.Replayed })
}

func (h *History) count(which func(*Decision) bool) int {
	count := 0
	for i := range h.Decisions {
		if which(&h.Decisions[i]) {
			count++
		}
	}
	return count
}

// FirstAcknowledged returns when a replica first acknowledged a decision after a
// moment, and false when it did not.
func (h *History) FirstAcknowledged(service int, after time.Time) (first time.Time, found bool) {
	for _, d := range h.Decisions {
		if d.Service == service && d.Reply == Acknowledged && d.AnsweredAt.After(after) && (!found || d.AnsweredAt.Before(first)) {
			first, found = d.AnsweredAt, true
		}
	}
	return first, found
}

// RunRecord is the service's record of a run.
type RunRecord struct {
	Status api.Status
	// Resolutions are the resolutions of all resolution events, in order.
	Resolutions []api.Resolution
	// Ends is how many events say that the run is over.
	Ends int
}

// Records are the service's records by run. Unknown runs are absent.
type Records map[string]RunRecord

// ReadRecords asks a service for the runs of a history.
func ReadRecords(ctx context.Context, service *client.Client, history History) (Records, error) {
	runIDs := map[string]bool{}
	for _, runID := range history.Created {
		runIDs[runID] = true
	}
	for _, decision := range history.Decisions {
		runIDs[decision.RunID] = true
	}
	var mu sync.Mutex
	records := Records{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for runID := range runIDs {
		group.Go(func() error {
			record, err := readRecord(ctx, service, runID)
			if errors.Is(err, client.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			records[runID] = record
			return nil
		})
	}
	return records, group.Wait()
}

func readRecord(ctx context.Context, service *client.Client, runID string) (RunRecord, error) {
	run, err := service.GetRun(ctx, runID)
	if err != nil {
		return RunRecord{}, err
	}
	log, err := ReadLog(ctx, service, runID)
	if err != nil {
		return RunRecord{}, err
	}
	return RunRecord{Status: run.Status, Resolutions: log.Resolutions, Ends: log.Count(string(api.EventCompleted))}, nil
}

// dataVerdict stands in the output of a test that found records lost, doubled or inconsistent. CI
// runs no such test a second time.
const dataVerdict = "data verdict"

// RequireKept requires that a service keeps every promise of a history; see [History.Problems].
func (h *History) RequireKept(tb testing.TB, service *Process, message ...any) {
	tb.Helper()
	problems := h.Problems(h.Read(tb, service))
	if len(problems) > 0 {
		tb.Log(dataVerdict)
	}
	require.Empty(tb, problems, message...)
}

// Read reads the service's records of a history. It retries every read, because the service may
// still be reconnecting to its database.
func (h *History) Read(tb testing.TB, service *Process) Records {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 5*Patience)
	defer cancel()
	records, err := ReadRecords(ctx, service.Connect(client.WithRetry(client.RetryPolicy{MaxAttempts: 1000})), *h)
	require.NoError(tb, err)
	return records
}

// Problems compares the replies with the records and names every broken promise. An acknowledged
// decision is recorded once with its outcome, and nothing else is recorded. A refusal names the
// recorded outcome. No worker gets another outcome, or a fence that was used before.
func (h *History) Problems(records Records) []string {
	problems := slices.Clone(h.Unexpected)
	report := func(format string, arguments ...any) { problems = append(problems, fmt.Sprintf(format, arguments...)) }

	for _, runID := range h.Created {
		if _, known := records[runID]; !known {
			report("run %s was acknowledged and is gone", runID)
		}
	}
	for _, runID := range h.Completed {
		if record := records[runID]; record.Status != api.StatusCompleted || record.Ends != 1 {
			report("run %s was acknowledged as completed, is %q and has ended %d times", runID, record.Status, record.Ends)
		}
	}
	given := map[[2]string][]api.Outcome{}
	for _, d := range h.Decisions {
		about := [2]string{d.RunID, d.RequestID}
		given[about] = append(given[about], d.Outcome)
		if d.Reply == Refused {
			given[about] = append(given[about], d.Recorded) // by a rival who may not have a reply yet
		}
		recorded := records[d.RunID].outcomes(d.RequestID)
		switch {
		case d.Reply == Acknowledged && len(recorded) == 0:
			report("run %s: %s was acknowledged and is missing", d.RunID, d.Outcome)
		case d.Reply == Acknowledged && recorded[0] != d.Outcome:
			report("run %s: %s was acknowledged and %s is on record", d.RunID, d.Outcome, recorded[0])
		case d.Reply == Refused && d.Recorded == d.Outcome:
			report("run %s: %s took effect and its key was forgotten", d.RunID, d.Outcome)
		case d.Reply == Refused && (len(recorded) == 0 || recorded[0] != d.Recorded):
			report("run %s: %s was refused because of %s, and %v is on record", d.RunID, d.Outcome, d.Recorded, recorded)
		}
	}
	for about, outcomes := range given {
		recorded := records[about[0]].outcomes(about[1])
		if len(recorded) > 1 {
			report("run %s was decided %d times: %v", about[0], len(recorded), recorded)
		}
		if len(recorded) > 0 && !slices.Contains(outcomes, recorded[0]) {
			report("run %s has %s on record, which nobody decided", about[0], recorded[0])
		}
	}
	fences := map[[2]string]bool{}
	for _, claim := range h.Claims {
		held := [2]string{claim.RunID, claim.Fence}
		if fences[held] {
			report("run %s: fence %s was handed out twice", claim.RunID, claim.Fence)
		}
		fences[held] = true
		var recorded []api.Outcome
		for _, resolution := range records[claim.RunID].Resolutions {
			recorded = append(recorded, resolution.Outcome)
		}
		if !slices.Equal(claim.Outcomes, recorded) {
			report("run %s was handed over with %v, and %v is on record", claim.RunID, claim.Outcomes, recorded)
		}
	}
	slices.Sort(problems)
	return problems
}

// outcomes are the recorded outcomes of a request.
func (r RunRecord) outcomes(requestID string) []api.Outcome {
	var outcomes []api.Outcome
	for _, resolution := range r.Resolutions {
		if resolution.RequestID == requestID {
			outcomes = append(outcomes, resolution.Outcome)
		}
	}
	return outcomes
}
