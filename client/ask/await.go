package ask

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

const (
	// leaseMs is long enough to read a decision and complete its run. If a process is
	// killed in between, the next one can read the decision after that time.
	leaseMs = 5_000
	// held is how long one read waits for a decision.
	held = 50 * time.Second
	// pause is the minimum time between two reads without a change.
	pause = 200 * time.Millisecond
)

// Await waits for the decision, at most for wait, or until ctx ends if wait is negative. It
// completes the run, so that the decision is returned only once: an answer that was already
// read is Spent. If nobody has decided in time, the Outcome is empty and the call stays
// open. Errors: [ErrForeign], the context's, and the errors of
// [client.Client.AwaitRun], including [client.ErrUnavailable] after Patience.
func (a *Asker) Await(ctx context.Context, runID string, wait time.Duration) (*Answer, error) {
	return a.await(ctx, &Raised{RunID: runID, unseen: true}, wait)
}

// AwaitRaised is Await for a client that the service has answered before, for example when it raised
// the call: the URL is right, so a 404 without a code is an outage from the first read on.
func (a *Asker) AwaitRaised(ctx context.Context, runID string, wait time.Duration) (*Answer, error) {
	return a.await(ctx, &Raised{RunID: runID}, wait)
}

func (a *Asker) await(ctx context.Context, raised *Raised, wait time.Duration) (*Answer, error) {
	reading := &reading{Asker: a, raised: raised, reader: rand.Text()}
	until := time.Now().Add(wait)
	patience := time.Now().Add(a.patience())
	outlasts := client.Away
	if raised.unseen {
		outlasts = transient
	}
	// The first read is not held, so that the lease of a kept call is renewed before the wait.
	atOnce := raised.fence == ""
	for {
		left := held
		if wait >= 0 {
			left = max(0, min(held, time.Until(until)))
		}
		asked := time.Now()
		answer, err := reading.look(ctx, left, atOnce)
		atOnce = false
		switch {
		case err == nil && answer.settled():
			return answer, nil
		case err == nil:
			outlasts = client.Away
			a.keep(ctx, answer.Run, a.renewal(answer.Run))
			patience = time.Now().Add(a.patience())
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !outlasts(err) || time.Now().After(patience):
			return nil, err
		default:
			atOnce = true // to notice the end of an outage
		}
		if wait >= 0 && !time.Now().Before(until) {
			return answer, err
		}
		delay := pause - time.Since(asked)
		if refused := new(client.Error); errors.As(err, &refused) {
			// The client waits for a shorter Retry-After itself.
			delay = min(max(delay, refused.RetryAfter), time.Until(patience)+pause)
		}
		if wait >= 0 {
			delay = min(delay, time.Until(until))
		}
		if err := sleep(ctx, delay); err != nil {
			return nil, err
		}
	}
}

// reading is one wait for a decision.
type reading struct {
	*Asker
	raised *Raised
	// reader tells this wait from others that read the same run.
	reader string
	// claimed is what a claim by this wait returned, if there was one.
	claimed *api.Resume
	// assumed says that the fence is the one of a kept call, and foreign that another principal has that.
	assumed, foreign bool
	// grant and answer are what the service signed for this wait. They are kept because a run that
	// was completed gives them to nobody, and the reply of its completion may be lost.
	grant  string
	answer *api.AnswerForWorker
}

// settled reports whether the wait is over.
func (a *Answer) settled() bool { return a.Outcome != "" || a.Ended != "" }

// permits reports whether the agent goes on with the answer.
func (a *Answer) permits() bool {
	return a.Outcome == api.OutcomeAllowed || a.Outcome == api.OutcomeAnswered
}

func (a *Asker) patience() time.Duration { return cmp.Or(a.Patience, 10*time.Minute) }

// look reads the run, held for at most hold unless atOnce, and takes the decision if there is one.
func (r *reading) look(ctx context.Context, hold time.Duration, atOnce bool) (*Answer, error) {
	if atOnce {
		hold = 0
	}
	run, err := r.Client.AwaitRun(ctx, r.raised.RunID, client.UntilDecided, hold)
	if err != nil {
		return nil, err
	}
	if identityOf(run).MadeBy == "" {
		return nil, fmt.Errorf("%w: run %s was not made by an agent's call", ErrForeign, run.RunID)
	}
	answer := &Answer{Run: run, RunID: r.raised.RunID}
	if run.Status.Waiting() {
		answer.RequestID = firstOf(run)
		return answer, nil
	}
	if err := r.recorded(ctx, run, answer); err != nil {
		return nil, err
	}
	switch {
	case run.Status.Terminal():
		if answer.permits() && run.Status != api.StatusCompleted {
			answer.Outcome, answer.Resolution = "", api.Resolution{} // taken back before it was read
		}
		if answer.Outcome == "" {
			answer.Ended = run.Status
		}
		answer.Spent = run.Status == api.StatusCompleted && readerOf(run) != r.reader
		r.addSigned(answer)
		return answer, nil
	case answer.Outcome == "":
		return answer, nil // a worker has the run, without a decision
	}
	taken, err := r.take(ctx, run, answer)
	if err != nil || taken == nil {
		return &Answer{Run: run, RunID: r.raised.RunID, RequestID: answer.RequestID}, err
	}
	answer.Run = taken
	r.addSigned(answer)
	return answer, nil
}

// addSigned adds what the service signed for this wait to the answer that it has read.
func (r *reading) addSigned(answer *Answer) {
	if answer.permits() && !answer.Spent {
		answer.Grant, answer.Signed = r.grant, r.answer
	}
}

// taken is the output of a run whose decision was read.
type taken struct {
	ReadBy string `json:"read_by"`
}

func readerOf(run *api.RunView) string {
	var output taken
	if json.Unmarshal(run.Output, &output) != nil {
		return ""
	}
	return output.ReadBy
}

// take completes a decided run and returns it, or nil if another process holds it. Before that it
// reads what the service signed, which only the holder of the lease gets.
func (r *reading) take(ctx context.Context, run *api.RunView, answer *Answer) (*api.RunView, error) {
	if r.raised.fence == "" && keptLeaseOf(run) != 0 && !r.foreign {
		r.raised.fence, r.assumed = firstFence, true
		r.keep(ctx, run, keptLease) // what the service signs lasts no longer than the lease
	}
	if r.raised.fence == "" {
		claim, err := r.Client.ClaimRun(ctx, run.RunID, api.ClaimOptions{WorkerID: workerID(), LeaseMs: leaseMs})
		if err != nil {
			return nil, unlessLost(err)
		}
		r.raised.fence, r.claimed = claim.Lease.Fence, claim.Resume
	}
	if answer.permits() {
		if err := r.check(ctx, answer); err != nil {
			if err = unlessLost(err); err == nil {
				r.letGo()
			}
			return nil, err
		}
	}
	output, err := json.Marshal(taken{r.reader})
	if err != nil {
		return nil, err
	}
	completed, err := r.Client.CompleteRun(ctx, run.RunID, r.raised.fence, output)
	if err != nil {
		if !client.Away(err) {
			r.letGo()
		}
		return nil, unlessLost(err)
	}
	return completed, nil
}

// letGo has the next read claim the run.
func (r *reading) letGo() {
	r.foreign = r.foreign || r.assumed
	r.raised.fence, r.assumed = "", false
}

// check reads what the service signed, and has the caller check it while the decision is still unread.
func (r *reading) check(ctx context.Context, answer *Answer) error {
	if !r.WithGrants {
		return nil
	}
	if err := r.signed(ctx, answer); err != nil || r.Check == nil {
		return err
	}
	checked := *answer
	r.addSigned(&checked)
	return r.Check(ctx, &checked)
}

// signed keeps what the service signed, if there is something. It is in the claim, or is read by the
// process that has held the run since it asked.
func (r *reading) signed(ctx context.Context, answer *Answer) error {
	resume := r.claimed
	if resume == nil {
		settled, err := r.Client.AwaitSettled(ctx, answer.RunID, r.raised.fence, "0", 0)
		if err != nil {
			return err
		}
		if resume, err = client.ResumeOf(settled); err != nil {
			return fmt.Errorf("run %s: %w", answer.RunID, err)
		}
	}
	for _, one := range resume.Approvals {
		if answer.Approval != nil && one.Resolution.RequestID == answer.RequestID && one.Resolution.Grant != nil {
			r.grant = one.Resolution.Grant.JWS
		}
	}
	for _, one := range resume.Questions {
		if answer.Question != nil && one.Resolution.RequestID == answer.RequestID {
			r.answer = &one.Resolution
		}
	}
	return nil
}

// firstOf returns the open request of a waiting run.
func firstOf(run *api.RunView) string {
	for _, id := range append(run.PendingApprovalIDs, run.PendingQuestionIDs...) {
		return id
	}
	return ""
}

// recorded fills in the request and the decision from the session's log. Workers cannot
// write these events.
func (r *reading) recorded(ctx context.Context, run *api.RunView, answer *Answer) error {
	for entry, err := range r.Client.AllRunEvents(ctx, run.RunID, client.EventListParams{}) {
		if err != nil {
			return err
		}
		change, err := client.ChangeIn(&entry)
		if err != nil {
			return fmt.Errorf("event %s of run %s: %w", entry.ID, run.RunID, err)
		}
		answer.take(&change)
		if answer.Outcome != "" {
			break
		}
	}
	if answer.Outcome == "" {
		return nil
	}
	var approvals []api.ApprovalRequest
	var questions []api.UserQuestionRequest
	if answer.Approval != nil {
		approvals = append(approvals, *answer.Approval)
	}
	if answer.Question != nil {
		questions = append(questions, *answer.Question)
	}
	if !hasDigest(identityOf(run).Digest, approvals, questions) {
		return fmt.Errorf("%w: run %s", ErrForeign, run.RunID)
	}
	return nil
}

// take keeps what an event of the service says about the request.
func (a *Answer) take(change *api.Change) {
	if len(change.Approvals) > 0 {
		a.Approval, a.RequestID = &change.Approvals[0], change.Approvals[0].ID
	}
	if len(change.Questions) > 0 {
		a.Question, a.RequestID = &change.Questions[0], change.Questions[0].ID
	}
	for _, resolution := range change.Resolutions {
		if resolution.RequestID == a.RequestID {
			a.Outcome, a.Resolution = resolution.Outcome, resolution
		}
	}
}

// unlessLost returns nil for the errors of a call that was too late.
func unlessLost(err error) error {
	if errors.Is(err, client.ErrRunNotClaimable) || errors.Is(err, client.ErrLeaseLost) || errors.Is(err, client.ErrRunState) {
		return nil
	}
	return err
}

func transient(err error) bool {
	return errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrRateLimited)
}

// workerID names this process in a lease.
func workerID() string { return fmt.Sprintf("agent-call:%d", os.Getpid()) }

// sleep waits. If ctx ends first, it returns its cause.
func sleep(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
