package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// attachment is the state of the requests of a task's run. The task's mutex guards it.
type attachment struct {
	// settled holds decisions by request id.
	settled map[string]settledRequest
	// waiters holds the requests that goroutines of the handler wait for, by id.
	waiters map[string]*waiter
	// attached reports that a request was raised with hold, or found open.
	attached bool
	// after is the cursor of the shared poll: the number of the last decision seen.
	after int64
	// uncollected holds the numbers of decisions not yet returned to their goroutine.
	uncollected map[int64]bool
	// replied holds decisions from replies to suspensions, by request id, until a page has shown
	// their numbers. A waiter stands for a decision not yet returned to its goroutine.
	replied map[string]*waiter
	// catchingUp counts checkpoints for which these numbers are being read. They do not include
	// the decisions of returned, which were returned meanwhile.
	catchingUp int
	returned   []*waiter
	// polling reports that the shared poll runs. stopPoll cancels its current call.
	polling  bool
	stopPoll context.CancelFunc
}

func newAttachment(resume *api.Resume) attachment {
	a := attachment{
		settled: map[string]settledRequest{}, waiters: map[string]*waiter{}, uncollected: map[int64]bool{}, replied: map[string]*waiter{},
	}
	a.addSettled(resume)
	return a
}

func (a *attachment) addSettled(resume *api.Resume) {
	if resume == nil {
		return
	}
	for i := range resume.Approvals {
		a.settled[resume.Approvals[i].Request.ID] = settledRequest{approval: &resume.Approvals[i]}
	}
	for i := range resume.Questions {
		a.settled[resume.Questions[i].Request.ID] = settledRequest{question: &resume.Questions[i]}
	}
}

// addReplied stores the decisions of a reply to a suspension. w is the waiter of its request, nil
// for none.
func (a *attachment) addReplied(resume *api.Resume, w *waiter) {
	for _, id := range settledIDs(resume) {
		_, known := a.settled[id]
		if _, replied := a.replied[id]; !known || replied {
			a.replied[id] = w
		}
	}
	a.addSettled(resume)
}

// setReturned notes that a goroutine has a decision.
func (a *attachment) setReturned(w *waiter) {
	delete(a.uncollected, w.number)
	if id := w.request.id(); a.replied[id] == w {
		a.replied[id] = nil
	}
}

func settledIDs(resume *api.Resume) []string {
	var ids []string
	for i := range resume.Approvals {
		ids = append(ids, resume.Approvals[i].Request.ID)
	}
	for i := range resume.Questions {
		ids = append(ids, resume.Questions[i].Request.ID)
	}
	return ids
}

// waiter is a request that one or more goroutines wait for.
type waiter struct {
	request pendingRequest
	// waiting counts the goroutines. When the last one gives up, the request is withdrawn.
	waiting int
	// raised reports that the service has the request.
	raised bool
	// done is closed once settled or err, and number, are set.
	done    chan struct{}
	settled settledRequest
	number  int64
	err     error
	// withdrawn is closed once the request needs no withdrawal any more.
	withdrawn chan struct{}
}

// ownCallTimeout bounds calls that the task makes itself while a goroutine of the handler
// waits for it.
const ownCallTimeout = 10 * time.Second

// Approve asks for approval and waits in place until the request is settled. Several
// goroutines may call it concurrently. The resolution's Outcome is the result. Only
// Behavior "allow" allows anything; UpdatedInput, if present, then replaces the input.
//
// If this run already has an open or settled request with the same id, Approve waits for it
// or returns its decision. So a handler with stable ids may start from the top after a
// crash. Tool and input must be the same, otherwise [ErrIDConflict]. An empty ID is
// generated, and is not stable; an empty ToolCallID is set to the ID.
//
// If ctx ends first, the request is withdrawn, and Approve returns the context's error with
// its cause. If the handler's context has ended, the request stays open for the next worker
// that claims the run. It also stays open if the worker stops; Approve then returns
// [ErrWorkerStopped] at once. If the run was cancelled or the lease is lost, it returns no decision,
// not even a known one. Other errors besides the usual: [ErrSuspended] if the handler
// has suspended the run meanwhile; [ErrInvalid].
func (t *Task) Approve(ctx context.Context, request api.ApprovalRequest) (api.Resolution, error) {
	nameRequest("approval", &request.ID, &request.ToolCallID)
	settled, err := t.await(ctx, pendingRequest{approval: &request})
	if err != nil {
		return api.Resolution{}, fmt.Errorf("approval %s: %w", request.ID, err)
	}
	return settled.approval.Resolution, nil
}

// Ask asks a question and waits in place until it is settled, like [Task.Approve]. The
// answer's Outcome is the result. The texts of the questions, or kind, payload and
// response_schema, must be the same as before. A question that expires ends its run, and so
// the handler's context.
func (t *Task) Ask(ctx context.Context, request api.UserQuestionRequest) (api.AnswerForWorker, error) {
	nameRequest("question", &request.ID, &request.ToolCallID)
	settled, err := t.await(ctx, pendingRequest{question: &request})
	if err != nil {
		return api.AnswerForWorker{}, fmt.Errorf("question %s: %w", request.ID, err)
	}
	return settled.question.Resolution, nil
}

// nameRequest sets the ids that a request may leave out.
func nameRequest(kind string, id, toolCallID *string) {
	if *id == "" {
		*id = newID(kind)
	}
	if *toolCallID == "" {
		*toolCallID = *id
	}
}

// await waits for a request, and raises it unless another goroutine has.
func (t *Task) await(ctx context.Context, request pendingRequest) (settledRequest, error) {
	t.mu.Lock()
	if err := t.whyLost(); err != nil {
		t.mu.Unlock()
		return settledRequest{}, err
	}
	if settled, known := t.settled[request.id()]; known {
		t.mu.Unlock()
		return settled, settled.answers(request)
	}
	if err := t.whyEnded(); err != nil {
		t.interrupted = t.interrupted || t.draining
		t.mu.Unlock()
		return settledRequest{}, err
	}
	if ctx.Err() != nil {
		t.mu.Unlock()
		return settledRequest{}, contextError(ctx) // nothing is asked
	}
	w, there := t.waiters[request.id()]
	if there {
		if err := w.request.same(request); err != nil {
			t.mu.Unlock()
			return settledRequest{}, err
		}
	} else {
		w = &waiter{request: request, done: make(chan struct{}), withdrawn: make(chan struct{})}
		t.waiters[request.id()] = w
		t.attached = true
		t.joined.Go(func() { t.raiseRequest(w) })
	}
	w.waiting++
	t.mu.Unlock()

	select {
	case <-w.done:
		return t.collect(w)
	case <-ctx.Done():
	case <-t.ctx.Done():
	}
	return t.stopWaiting(ctx, w)
}

// collect returns the decision, or the error, that ended a wait.
func (t *Task) collect(w *waiter) (settledRequest, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.catchingUp > 0 {
		t.returned = append(t.returned, w)
	} else {
		t.setReturned(w)
	}
	if w.err != nil {
		return settledRequest{}, w.err
	}
	if err := t.whyLost(); err != nil && !w.settled.expired() {
		return settledRequest{}, err
	}
	return w.settled, w.settled.answers(w.request)
}

// stopWaiting ends the wait of one goroutine. The last one withdraws the request, unless
// the task itself has ended.
func (t *Task) stopWaiting(ctx context.Context, w *waiter) (settledRequest, error) {
	t.mu.Lock()
	select {
	case <-w.done:
		t.mu.Unlock()
		return t.collect(w)
	default:
	}
	w.waiting--
	if err := t.whyEnded(); err != nil || w.waiting > 0 {
		t.mu.Unlock()
		if err == nil {
			err = contextError(ctx)
		}
		return settledRequest{}, err
	}
	delete(t.waiters, w.request.id())
	if w.raised {
		// Otherwise the goroutine that raises it withdraws it.
		t.joined.Go(func() { t.withdrawRequest(w) })
	}
	if t.stopPoll != nil && len(t.raisedIDs()) == 0 {
		t.stopPoll()
	}
	t.mu.Unlock()

	select {
	case <-w.withdrawn:
	case <-t.ctx.Done():
	case <-time.After(ownCallTimeout):
	}
	return settledRequest{}, contextError(ctx)
}

// raiseRequest raises a request, or finds the one of an earlier attempt.
func (t *Task) raiseRequest(w *waiter) {
	result, err := t.client.Suspend(t.ctx, t.RunID(), t.Fence(), w.request.suspension())
	if errors.Is(err, ErrIDConflict) {
		err = t.adoptRequest(w, err)
	} else if err != nil {
		err = t.handleRefusal(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.finishWait(w, settledRequest{}, 0, err)
		close(w.withdrawn)
		return
	}
	w.raised = true
	if result != nil && result.Resume != nil {
		t.addReplied(result.Resume, t.waiters[w.request.id()])
	}
	if settled, known := t.settled[w.request.id()]; known {
		t.finishWait(w, settled, 0, nil)
	}
	if t.waiters[w.request.id()] == w {
		t.startPoll()
		return
	}
	if isClosed(w.done) {
		close(w.withdrawn)
		return
	}
	// Every goroutine stopped waiting while it was being raised.
	t.joined.Go(func() { t.withdrawRequest(w) })
}

// adoptRequest finds a request of an earlier attempt, open or decided. Otherwise it returns
// the conflict.
func (t *Task) adoptRequest(w *waiter, conflict error) error {
	run, err := t.client.GetRun(t.ctx, t.RunID())
	if err != nil {
		return err
	}
	for _, open := range pendingRequests(run.PendingApprovals, run.PendingQuestions) {
		if open.id() == w.request.id() {
			return open.shows(w.request)
		}
	}
	if err := t.readHistory(t.ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.settled[w.request.id()]; known {
		return nil
	}
	return conflict
}

// withdrawRequest withdraws a request that no goroutine waits for. If it was settled just
// before, the decision stands.
func (t *Task) withdrawRequest(w *waiter) {
	defer close(w.withdrawn)
	ctx, cancel := context.WithTimeout(t.ctx, ownCallTimeout)
	defer cancel()
	_, err := t.client.Withdraw(ctx, t.RunID(), w.request.id(), t.Fence(), "the worker no longer waits for it")
	if err != nil {
		_ = t.handleRefusal(err)
	}
}

// whyLost returns the error of a run that was cancelled or suspended, or that another worker may have:
// then a decision that is known allows nothing here. Requires the mutex.
func (t *Task) whyLost() error { return cmp.Or(t.ended, contextError(t.lease)) }

// whyEnded returns the error for new waits; nil while the task accepts them. Requires the
// mutex.
func (t *Task) whyEnded() error {
	if t.ctx.Err() != nil {
		return contextError(t.ctx)
	}
	if t.ended == nil && t.draining {
		return ErrWorkerStopped
	}
	return t.ended
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
