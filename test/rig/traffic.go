//go:build unix

package rig

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// Ids of the requests of each run of a [Traffic].
const (
	trafficApproval = "deploy"
	trafficQuestion = "way"
)

const (
	// trafficLeaseMs is short, because a claim lost with a server only ends with its lease.
	trafficLeaseMs = 2_000
	// trafficWaitMs is how long one call waits for a run.
	trafficWaitMs = 2_000
	// trafficPause is between two attempts of a caller, after the client has given up.
	trafficPause = 50 * time.Millisecond
)

// TrafficOptions configure a [Traffic].
type TrafficOptions struct {
	// Name begins the ids of all that is made. It must be new to the database.
	Name string
	// Services are the URLs of the replicas. The steps of one run go to different ones.
	Services []string
	// Clients is how many there are, 8 when 0.
	Clients int
}

// Traffic is many clients that take runs through complete waits, one after the other: a run is
// created and waits, a person decides, sometimes a rival concurrently decides the opposite, and a
// waiting worker claims the run and completes it. The clients retry like the client library. If
// that gives up, they repeat the call with the same key until it is answered. Every fourth decision
// is not repeated, and its result stays unknown.
//
// It records the replies; see [History.Problems].
type Traffic struct {
	options  TrafficOptions
	services []*client.Client
	cut      context.CancelFunc
	last     chan struct{} // closed: no further runs are begun
	ending   sync.Once
	running  sync.WaitGroup

	mu      sync.Mutex
	history History
}

// StartTraffic starts the clients. They are stopped with the test.
func StartTraffic(tb testing.TB, options TrafficOptions) *Traffic {
	tb.Helper()
	if options.Clients == 0 {
		options.Clients = 8
	}
	t := &Traffic{options: options, last: make(chan struct{})}
	for _, url := range options.Services {
		service, err := client.New(url, client.WithActor(options.Name))
		require.NoError(tb, err)
		t.services = append(t.services, service)
	}
	ctx, cut := context.WithCancel(context.Background())
	t.cut = cut
	for number := range options.Clients {
		t.running.Go(func() {
			caller := trafficClient{Traffic: t, agentID: fmt.Sprintf("%s-agent-%d", options.Name, number)}
			for n := 0; ctx.Err() == nil && !t.isEnding(); n++ {
				caller.wholeWait(ctx, fmt.Sprintf("%s-%d-%d", options.Name, number, n), n)
			}
		})
	}
	tb.Cleanup(t.Stop)
	return t
}

// Finish lets every client finish its current run and returns when all have. It returns an error
// after [Patience].
func (t *Traffic) Finish() error {
	t.end()
	finished := make(chan struct{})
	go func() {
		t.running.Wait()
		close(finished)
	}()
	select {
	case <-finished:
		return nil
	case <-time.After(Patience):
		t.Stop()
		return errors.New("the clients do not come to an end")
	}
}

// Stop cancels the current calls and returns when all clients have ended. It may be called again.
func (t *Traffic) Stop() {
	t.end()
	t.cut()
	t.running.Wait()
	for _, service := range t.services {
		service.Close()
	}
}

func (t *Traffic) end() { t.ending.Do(func() { close(t.last) }) }

func (t *Traffic) isEnding() bool {
	select {
	case <-t.last:
		return true
	default:
		return false
	}
}

// AwaitAcknowledged waits until that many more decisions are acknowledged. It fails the test when none is
// acknowledged for [Patience].
func (t *Traffic) AwaitAcknowledged(tb testing.TB, more int) {
	tb.Helper()
	before := t.History()
	seen := before.Acknowledged()
	for wanted := seen + more; seen < wanted; {
		last := seen
		Await(tb, func() bool {
			history := t.History()
			seen = history.Acknowledged()
			return seen > last
		}, "%d of %d decisions are acknowledged", seen, wanted)
	}
}

// History returns the calls and replies so far.
func (t *Traffic) History() History {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.history.clone()
}

func (t *Traffic) note(remember func(*History)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	remember(&t.history)
}

// at returns a replica, counted round.
func (t *Traffic) at(i int) (service *client.Client, number int) {
	number = i % len(t.services)
	return t.services[number], number
}

// trafficClient takes one run after the other through a complete wait.
type trafficClient struct {
	*Traffic
	agentID string
}

func (c *trafficClient) wholeWait(ctx context.Context, runID string, n int) {
	service, _ := c.at(n)
	existing := false
	err := c.repeat(ctx, func() error {
		created, err := service.CreateRun(ctx, client.CreateRunParams{
			RunID: runID, SessionID: "session-of-" + runID, AgentID: c.agentID, Input: "work", Suspend: trafficSuspension(n),
		})
		existing = err == nil && created.Existing
		return err
	})
	if err != nil {
		c.unexpected(ctx, "make run "+runID, err)
		return
	}
	c.note(func(h *History) {
		h.Created = append(h.Created, runID)
		if existing {
			h.CreatedBefore++
		}
	})

	// The worker waits before the decision falls.
	working, stopWorking := context.WithCancel(ctx)
	defer stopWorking()
	var worker sync.WaitGroup
	worker.Go(func() { c.work(working, runID, n) })
	var deciders sync.WaitGroup
	var known, rivalKnows bool
	deciders.Go(func() { known = c.decide(ctx, runID, n, n%2 == 0, n%4 == 3) })
	if n%3 == 0 {
		deciders.Go(func() { rivalKnows = c.decide(ctx, runID, n+1, n%2 != 0, n%4 == 3) })
	}
	deciders.Wait()
	if !known && !rivalKnows {
		stopWorking() // it may wait indefinitely
	}
	worker.Wait()
}

// trafficSuspension asks for an approval or, every other time, a question.
func trafficSuspension(n int) *api.Suspension {
	if n%2 == 0 {
		return Approvals(trafficApproval)
	}
	return Questions(trafficQuestion)
}

// decide makes one decision and records its reply. It returns whether the request is known to be
// settled. The opposite of allowing is denying, and the opposite of answering is declining.
func (c *trafficClient) decide(ctx context.Context, runID string, n int, positive, impatient bool) (known bool) {
	service, number := c.at(n + 1)
	d := Decision{RunID: runID, Service: number, SentAt: now()}
	key := fmt.Sprintf("%s/%t", runID, positive)
	var send func() (replayed bool, err error)
	if c.asksApproval(runID) {
		d.RequestID, d.Outcome = trafficApproval, api.OutcomeDenied
		params := Decide(Deny(trafficApproval))
		if positive {
			d.Outcome, params = api.OutcomeAllowed, Decide(Allow(trafficApproval))
		}
		params.IdempotencyKey = key
		send = func() (bool, error) { return replayed(service.ResolveRunApprovals(ctx, runID, params)) }
	} else {
		d.RequestID, d.Outcome = trafficQuestion, api.OutcomeDeclined
		params := Choose(trafficQuestion, "")
		if positive {
			d.Outcome, params = api.OutcomeAnswered, Choose(trafficQuestion, "left")
		}
		params.IdempotencyKey = key
		send = func() (bool, error) { return replayed(service.AnswerRunQuestion(ctx, runID, params)) }
	}
	try := func() (err error) {
		d.Replayed, err = send()
		return err
	}
	var err error
	if impatient {
		err = try()
	} else {
		err = c.repeat(ctx, try)
	}
	d.AnsweredAt = now()
	var refused *client.Error
	switch {
	case err == nil:
		d.Reply = Acknowledged
	case errors.As(err, &refused) && refused.Recorded != nil:
		d.Reply, d.Recorded = Refused, refused.Recorded.Outcome
	default:
		if !errors.Is(err, client.ErrUnavailable) {
			c.unexpected(ctx, "decide run "+runID, err)
		}
	}
	c.note(func(h *History) { h.Decisions = append(h.Decisions, d) })
	return d.Reply != NoReply
}

func replayed(result *client.RunResult, err error) (bool, error) {
	return err == nil && result.Replayed, err
}

// asksApproval reports whether [trafficSuspension] gave the run an approval, from the run's id.
func (c *trafficClient) asksApproval(runID string) bool {
	return (runID[len(runID)-1]-'0')%2 == 0
}

// work claims runs of the client's agent until it has completed this one. Others are
// those that an earlier worker lost.
func (c *trafficClient) work(ctx context.Context, runID string, n int) {
	for ctx.Err() == nil {
		service, _ := c.at(n)
		claims, err := service.ClaimRuns(ctx, client.ClaimRunsParams{
			WorkerID: "worker", AgentIDs: []string{c.agentID}, LeaseMs: trafficLeaseMs, WaitMs: trafficWaitMs,
		})
		if err != nil {
			if !errors.Is(err, client.ErrUnavailable) {
				c.unexpected(ctx, "claim", err)
			}
			pause(ctx)
		}
		for _, held := range claims {
			if c.complete(ctx, held, n) && held.Run.RunID == runID {
				return
			}
		}
	}
}

// complete ends a claimed run. It returns false when the lease was lost.
func (c *trafficClient) complete(ctx context.Context, held api.Claim, n int) bool {
	runID := held.Run.RunID
	claim := Claim{RunID: runID, Fence: held.Lease.Fence, Outcomes: Outcomes(held.Resume)}
	c.note(func(h *History) { h.Claims = append(h.Claims, claim) })
	service, _ := c.at(n + 1)
	err := c.repeat(ctx, func() error {
		_, err := service.CompleteRun(ctx, runID, held.Lease.Fence, api.JSON(`"done"`))
		return err
	})
	switch {
	case err == nil:
		c.note(func(h *History) { h.Completed = append(h.Completed, runID) })
		return true
	case !errors.Is(err, client.ErrLeaseLost):
		c.unexpected(ctx, "complete run "+runID, err)
	}
	return false
}

// repeat repeats a call until it is answered.
func (c *trafficClient) repeat(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil || ctx.Err() != nil || !errors.Is(err, client.ErrUnavailable) {
			return err
		}
		pause(ctx)
	}
}

// unexpected notes an answer that no failing server explains, unless the traffic was
// stopped meanwhile.
func (c *trafficClient) unexpected(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		c.note(func(h *History) { h.Unexpected = append(h.Unexpected, what+": "+err.Error()) })
	}
}

func pause(ctx context.Context) {
	select {
	case <-time.After(trafficPause):
	case <-ctx.Done():
	}
}

// now is the wall clock: how long a service was away is measured by it.
func now() time.Time { return time.Now() }
