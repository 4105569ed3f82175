package storetest

import (
	"errors"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// answersAgainstExpiry is how many runs are answered at the very millisecond of
// their deadline. "make nightly" has more.
var answersAgainstExpiry = map[bool]int{false: 200, true: 1000}[Thorough]

var raceTests = map[string]func(*harness){
	"race/one run id made in many sessions at once": func(h *harness) { oneIDOneRun(h, h.store) },
	"race/one name taken in many ways at once":      func(h *harness) { oneNameOnce(h, h.store) },
	// The deadline passes while callers are on their way: in the first round it waits for no answer, in the last one for
	// most. Which of the others commit first is left to chance.
	"race/answer against expiry at the same millisecond": func(h *harness) {
		const sessions = 50
		inTime := 0
		rounds := answersAgainstExpiry / sessions
		for round := range rounds {
			dueAtMs := h.clock.NowMs() + 1
			each(h, sessions, func(n int) error {
				suspension := api.Suspension{Questions: []api.UserQuestionRequest{questionDueAt("q", dueAtMs)}}
				_, err := h.store.Do(h.ctx, &runs.CreateRun{
					SessionID: numbered("s", n), SessionGiven: true, RunID: numbered(numbered("r", round), n), Input: api.JSON(`1`),
					Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &suspension,
				})
				return err
			})
			answered, given := make([]error, sessions), make(chan struct{}, sessions)
			each(h, 2*sessions+1, func(n int) error {
				run := numbered(numbered("r", round), n/2)
				var err error
				switch {
				case n == sessions:
					for range round * sessions / rounds {
						<-given
					}
					h.clock.Advance(1)
				case n == 2*sessions:
					_, err = h.store.Due(h.ctx, 10)
				case n%2 == 0:
					_, answered[n/2] = h.store.Do(h.ctx, &runs.AnswerQuestion{RunID: run, Resolution: answer("q", "left"), Actor: person})
					given <- struct{}{}
				default:
					_, err = h.store.Do(h.ctx, &runs.ExpireRequests{SessionID: numbered("s", n/2), RunID: run})
				}
				return err
			})
			inTime += h.checkOutcomes(round, answered)
		}
		h.Logf("%d of %d answers were in time", inTime, answersAgainstExpiry)
		require.Positive(h, inTime)
	},
}

// checkOutcomes checks that each run has the outcome reported to its caller, and ends every run.
// It returns the number of answers in time.
func (h *harness) checkOutcomes(round int, answered []error) (inTime int) {
	h.Helper()
	var running []string
	for n, told := range answered {
		run := numbered(numbered("r", round), n)
		if n == len(answered)/2 {
			// The deadline won against this answer.
			told = errNotAnswered
			_, err := h.store.Do(h.ctx, &runs.ExpireRequests{RunID: run})
			require.NoError(h, err)
		}
		record, settled, err := h.store.SettledAfter(h.ctx, run, 0)
		require.NoError(h, err)
		require.Len(h, settled, 1)
		resolved := 0
		events, _ := h.eventsWithin(reads.EventQuery{RunID: run, Limit: 100, MaxBytes: api.MaxReplyBytes})
		for i := range events {
			if events[i].Type == api.EventUserQuestionResolved {
				resolved++
			}
		}
		require.Equal(h, 1, resolved)
		if told == nil {
			inTime++
			require.Equal(h, api.OutcomeAnswered, settled[0].Outcome)
			require.Equal(h, api.StatusRunning, record.Status)
			running = append(running, run)
			continue
		}
		if !errors.Is(told, errNotAnswered) {
			refused := requireCode(h, api.CodeQuestionExpired, told)
			require.Equal(h, api.OutcomeExpired, refused.Recorded.Outcome)
		}
		require.Equal(h, api.OutcomeExpired, settled[0].Outcome)
		require.Equal(h, api.StatusCancelled, record.Status)
	}
	each(h, len(running), func(n int) error {
		_, err := h.store.Do(h.ctx, &runs.CancelRun{RunID: running[n]})
		return err
	})
	return inTime
}

var errNotAnswered = errors.New("nobody answered")

// each calls a function from many goroutines concurrently and expects no error.
func each(h *harness, count int, do func(n int) error) {
	h.Helper()
	errs := make([]error, count)
	var wait sync.WaitGroup
	for n := range count {
		wait.Go(func() { errs[n] = do(n) })
	}
	wait.Wait()
	for _, err := range errs {
		require.NoError(h, err)
	}
}
