package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// attachment is what a task knows of the requests that its run raised. The task's
// mutex guards it.
type attachment struct {
	// settled holds what was decided, by request id.
	settled map[string]settledRequest
	// waiters are the requests that goroutines of the handler wait for.
	waiters map[string]*waiter
	// attached: a request was raised with hold, or found open.
	attached bool
	// after is the cursor of the shared poll: the number of the last decision seen.
	after int64
	// unread are the numbers of decisions whose goroutine has not taken them yet.
	unread map[int64]bool
	// polling: the shared poll runs; stopPoll cuts its present call short.
	polling  bool
	stopPoll context.CancelFunc
}

func newAttachment(resume *api.Resume) attachment {
	a := attachment{settled: map[string]settledRequest{}, waiters: map[string]*waiter{}, unread: map[int64]bool{}}
	a.add(resume)
	return a
}

func (a *attachment) add(resume *api.Resume) {
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

// waiter is a request that one or more goroutines wait for.
type waiter struct {
	request pendingRequest
	// waiting counts the goroutines. When the last one gives up the request is
	// withdrawn.
	waiting int
	// raised: the service has the request.
	raised bool
	// done is closed when settled or err, and number, are there to be read.
	done    chan struct{}
	settled settledRequest
	number  int64
	err     error
	// withdrawn is closed when an abandoned request needs no more care.
	withdrawn chan struct{}
}

// askTimeout bounds the calls that the task makes on its own account while somebody
// waits for it to let go.
const askTimeout = 10 * time.Second

// Approve asks for approval and waits in place until it is settled; several
// goroutines may do so at once. The resolution's Outcome says what became of it;
// only Behavior "allow" allows anything, and then UpdatedInput, when there is one,
// replaces the input.
//
// A request with this id that was settled before, or is open, in this run is not
// raised again: its decision is returned. So a handler with stable ids may begin
// from the top after a crash. The tool and the input must be the same, else
// [ErrIDConflict]. An empty ID is made, and is then not stable; an empty ToolCallID
// is the ID.
//
// When ctx ends first, the request is withdrawn, and the error is the context's with
// its cause; when the handler's context ended, the request stays open for whoever
// goes on with the run. Errors besides the usual: [ErrSuspended] when the handler
// suspended the run meanwhile; [ErrInvalid].
func (t *Task) Approve(ctx context.Context, request api.ApprovalRequest) (api.Resolution, error) {
	if request.ID == "" {
		request.ID = newID("approval")
	}
	if request.ToolCallID == "" {
		request.ToolCallID = request.ID
	}
	settled, err := t.await(ctx, pendingRequest{approval: &request})
	if err != nil {
		return api.Resolution{}, fmt.Errorf("approval %s: %w", request.ID, err)
	}
	return settled.approval.Resolution, nil
}

// Ask asks a question and waits in place until it is settled, as [Task.Approve]
// does. The answer's Outcome says what became of it; the texts of the questions, or
// kind, payload and response_schema, must be the same as before. A question that
// expires ends its run, so the handler's context ends as well.
func (t *Task) Ask(ctx context.Context, request api.UserQuestionRequest) (api.AnswerForWorker, error) {
	if request.ID == "" {
		request.ID = newID("question")
	}
	if request.ToolCallID == "" {
		request.ToolCallID = request.ID
	}
	settled, err := t.await(ctx, pendingRequest{question: &request})
	if err != nil {
		return api.AnswerForWorker{}, fmt.Errorf("question %s: %w", request.ID, err)
	}
	return settled.question.Resolution, nil
}

// await waits for a request, and raises it unless it is there.
func (t *Task) await(ctx context.Context, request pendingRequest) (settledRequest, error) {
	t.mu.Lock()
	if settled, known := t.settled[request.id()]; known {
		t.mu.Unlock()
		return settled, settled.answers(request)
	}
	if err := t.whyOver(); err != nil {
		t.mu.Unlock()
		return settledRequest{}, err
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
		t.joined.Go(func() { t.raise(w) })
	}
	w.waiting++
	t.mu.Unlock()

	select {
	case <-w.done:
		return t.take(w)
	case <-ctx.Done():
	case <-t.ctx.Done():
	}
	return t.giveUp(ctx, w)
}

// take hands over what the waiter was told.
func (t *Task) take(w *waiter) (settledRequest, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.unread, w.number)
	if w.err != nil {
		return settledRequest{}, w.err
	}
	return w.settled, w.settled.answers(w.request)
}

// giveUp leaves a waiter whose decision has not come. The last to leave withdraws
// the request, unless the task itself is over.
func (t *Task) giveUp(ctx context.Context, w *waiter) (settledRequest, error) {
	t.mu.Lock()
	select {
	case <-w.done:
		t.mu.Unlock()
		return t.take(w)
	default:
	}
	w.waiting--
	if err := t.whyOver(); err != nil || w.waiting > 0 {
		t.mu.Unlock()
		if err == nil {
			err = contextError(ctx)
		}
		return settledRequest{}, err
	}
	delete(t.waiters, w.request.id())
	if w.raised {
		// Otherwise the goroutine that raises it withdraws it.
		t.joined.Go(func() { t.withdraw(w) })
	}
	if t.stopPoll != nil && t.raisedWaiters() == 0 {
		t.stopPoll()
	}
	t.mu.Unlock()

	timer := time.NewTimer(askTimeout)
	defer timer.Stop()
	select {
	case <-w.withdrawn:
	case <-t.ctx.Done():
	case <-timer.C:
	}
	return settledRequest{}, contextError(ctx)
}

// raise brings a request to the service, or finds it there.
func (t *Task) raise(w *waiter) {
	result, err := t.client.Suspend(t.ctx, t.RunID(), t.Fence(), w.request.suspension())
	if errors.Is(err, ErrIDConflict) {
		err = t.adopt(w, err)
	} else if err != nil {
		err = t.refused(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.answer(w, settledRequest{}, 0, err)
		close(w.withdrawn)
		return
	}
	w.raised = true
	if result != nil && result.Resume != nil {
		t.add(result.Resume)
	}
	if settled, known := t.settled[w.request.id()]; known {
		t.answer(w, settled, 0, nil)
	}
	if t.waiters[w.request.id()] == w {
		t.startPoll()
		return
	}
	if isClosed(w.done) {
		close(w.withdrawn)
		return
	}
	// Everybody has given up while it was being raised.
	t.joined.Go(func() { t.withdraw(w) })
}

// adopt finds a request that an earlier attempt raised: it is open, or its decision
// is on record. When it is neither, the conflict stands.
func (t *Task) adopt(w *waiter, conflict error) error {
	run, err := t.client.GetRun(t.ctx, t.RunID())
	if err != nil {
		return err
	}
	for i := range run.PendingApprovals {
		if run.PendingApprovals[i].ID == w.request.id() {
			return pendingRequest{approval: &run.PendingApprovals[i]}.same(w.request)
		}
	}
	for i := range run.PendingQuestions {
		if run.PendingQuestions[i].ID == w.request.id() {
			return pendingRequest{question: &run.PendingQuestions[i]}.same(w.request)
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

// withdraw takes back a request that nobody waits for any more. When it was settled
// just before, that decision stays on record.
func (t *Task) withdraw(w *waiter) {
	defer close(w.withdrawn)
	ctx, cancel := context.WithTimeout(t.ctx, askTimeout)
	defer cancel()
	_, err := t.client.Withdraw(ctx, t.RunID(), w.request.id(), t.Fence(), "the worker no longer waits for it")
	if err != nil {
		_ = t.refused(err)
	}
}

// whyOver says why nothing can be waited for any more; nil while it can. The mutex
// is held.
func (t *Task) whyOver() error {
	if t.ctx.Err() != nil {
		return contextError(t.ctx)
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
