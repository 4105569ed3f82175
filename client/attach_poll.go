package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
)

// errUnknownRequest ends a wait whose request is neither open nor settled, which no service
// should report.
var errUnknownRequest = errors.New("the request is neither open nor settled")

// errOtherDecisions refuses a reply to Suspend whose decisions are about other requests.
var errOtherDecisions = errors.New("the reply to the suspension lacks a decision about one of its requests")

// startPoll starts the shared poll unless it is running. Requires the mutex.
func (t *Task) startPoll() {
	if t.polling || t.ctx.Err() != nil || t.ended != nil {
		return
	}
	t.polling = true
	t.joined.Go(t.poll)
}

// poll long-polls for decisions on behalf of all waiters, while there are any.
func (t *Task) poll() {
	pause := t.client.retry.pauses()
	for {
		ctx, cancel := context.WithCancel(t.ctx)
		t.mu.Lock()
		before := t.raisedIDs()
		if len(before) == 0 || t.ctx.Err() != nil || t.ended != nil {
			t.polling = false
			t.stopPoll = nil
			t.mu.Unlock()
			cancel()
			return
		}
		t.stopPoll = cancel
		after := t.after
		t.mu.Unlock()

		asked := time.Now()
		settled, err := t.client.AwaitSettled(ctx, t.RunID(), t.Fence(), strconv.FormatInt(after, 10), t.wait)
		cut := ctx.Err() != nil
		switch {
		case err == nil:
			t.handleSettled(settled, before)
			if len(settled.Settled) > 0 {
				pause.reset()
			} else {
				_ = pause.afterHeld(ctx, asked, t.wait)
			}
		case cut || t.isEnded():
		case transient(err), t.isEnding():
			// The context's error ends the loop above. If the task's own call may have ended the
			// lease, that call ends the waits.
			_ = pause.sleepAnyway(t.ctx, err)
		default:
			err = t.handleRefusal(err)
			t.mu.Lock()
			t.finishAllWaits(err)
			t.mu.Unlock()
		}
		cancel()
	}
}

// handleSettled ends the waits for settled requests. before are the requests with waiters
// when the poll was sent.
func (t *Task) handleSettled(settled *api.Settled, before []string) {
	err := t.recordSettled(settled)
	t.mu.Lock()
	if err == nil && settled.Open == 0 && len(settled.Settled) == 0 {
		err = errUnknownRequest
	}
	if err != nil {
		for _, id := range before {
			if w, there := t.waiters[id]; there {
				t.finishWait(w, settledRequest{}, 0, err)
			}
		}
	}
	t.mu.Unlock()
}

// recordSettled stores decisions and ends the waits for them. If the run was cancelled, no goroutine gets
// one that allows something: the task is stopped before the mutex is free.
func (t *Task) recordSettled(settled *api.Settled) error {
	after, err := strconv.ParseInt(settled.After, 10, 64)
	if err != nil {
		return fmt.Errorf("the cursor %q of the settled requests is not a number: %w", settled.After, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if settled.CancelRequested {
		t.stop(ErrCancelled)
	}
	for _, text := range settled.Settled {
		request, number, err := decodeSettled(text)
		if err != nil {
			return err
		}
		t.settled[request.id()] = request
		if w, there := t.waiters[request.id()]; there {
			t.finishWait(w, request, number, nil)
		} else if w := t.replied[request.id()]; w != nil {
			w.number = number
			t.uncollected[number] = true
		}
		delete(t.replied, request.id())
	}
	t.after = max(t.after, after)
	return nil
}

// readHistory reads all decisions of the run, including decisions on earlier suspensions.
func (t *Task) readHistory(ctx context.Context) error { return t.readSettled(ctx, 0) }

// readSettled reads the decisions after a number.
func (t *Task) readSettled(ctx context.Context, number int64) error {
	for after := strconv.FormatInt(number, 10); ; {
		settled, err := t.client.AwaitSettled(ctx, t.RunID(), t.Fence(), after, 0)
		if err != nil {
			return t.handleRefusal(err)
		}
		if err := t.recordSettled(settled); err != nil {
			return err
		}
		// Open counts requests that are still open, and one more if there are decisions beyond this page.
		if len(settled.Settled) == 0 || settled.Open == 0 {
			return nil
		}
		after = settled.After
	}
}

// finishWait ends a wait with a decision or an error. Requires the mutex.
func (t *Task) finishWait(w *waiter, settled settledRequest, number int64, err error) {
	if isClosed(w.done) {
		return
	}
	w.settled, w.number, w.err = settled, number, err
	if number > 0 {
		t.uncollected[number] = true
	}
	if t.waiters[w.request.id()] == w {
		delete(t.waiters, w.request.id())
	}
	close(w.done)
}

// finishAllWaits ends all waits with an error. Requires the mutex.
func (t *Task) finishAllWaits(err error) {
	for _, w := range t.waiters {
		t.finishWait(w, settledRequest{}, 0, err)
	}
}

// endAllWaits ends the waits and the poll once the task has lost or ended its lease.
// Requires the mutex.
func (t *Task) endAllWaits(err error) {
	t.finishAllWaits(err)
	if t.stopPoll != nil {
		t.stopPoll()
	}
}

// raisedIDs returns the requests that the service has and that goroutines wait for. Requires the
// mutex.
func (t *Task) raisedIDs() []string {
	var ids []string
	for id, w := range t.waiters {
		if w.raised {
			ids = append(ids, id)
		}
	}
	return ids
}

// includedDecisions returns the number of the last decision that a checkpoint stored now
// includes: all before the first that was not returned to its goroutine. It returns nil if
// the task was never attached, because then nothing can be settled meanwhile. It reads the
// numbers of decisions that came without them: no poll runs if rules decide every request.
func (t *Task) includedDecisions(ctx context.Context) (*int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.attached {
		return nil, nil
	}
	// After the end of all waits a page may have decisions that no goroutine gets.
	if len(t.replied) > 0 && t.whyEnded() == nil {
		t.catchingUp++
		defer t.caughtUp()
		after := t.after
		t.mu.Unlock()
		err := t.readSettled(ctx, after)
		t.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
	taken := t.after
	for number := range t.uncollected {
		taken = min(taken, number-1)
	}
	return &taken, nil
}

// caughtUp ends the reading for one checkpoint. Requires the mutex.
func (t *Task) caughtUp() {
	if t.catchingUp--; t.catchingUp > 0 {
		return
	}
	for _, w := range t.returned {
		t.setReturned(w)
	}
	t.returned = nil
}

// addResume stores the decisions of a reply to Suspend, which returns them.
func (t *Task) addResume(resume *api.Resume) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addReplied(resume, nil)
}

// settledBefore returns a Resume with the decisions of a suspension if the task has all of them; see
// decisionsOn.
func (t *Task) settledBefore(suspension *api.Suspension) (*api.Resume, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.whyLost(); err != nil {
		return nil, err
	}
	return decisionsOn(suspension, t.settled)
}

// decisionsOn returns a Resume with the decisions of a suspension if all its requests are among the
// settled ones, nil if one is not, and an error if a decision was about a different request.
func decisionsOn(suspension *api.Suspension, all map[string]settledRequest) (*api.Resume, error) {
	resume := &api.Resume{SuspensionID: suspension.SuspensionID, Approvals: []api.SettledApproval{}, Questions: []api.SettledQuestion{}}
	for _, asked := range pendingRequests(suspension.Approvals, suspension.Questions) {
		settled, known := all[asked.id()]
		if !known {
			return nil, nil
		}
		if err := settled.answers(asked); err != nil {
			return nil, err
		}
		if settled.approval != nil {
			resume.Approvals = append(resume.Approvals, *settled.approval)
		} else {
			resume.Questions = append(resume.Questions, *settled.question)
		}
	}
	if len(resume.Approvals)+len(resume.Questions) == 0 {
		return nil, nil
	}
	return resume, nil
}

// ResumeOf returns the decisions of [Client.AwaitSettled] in the form in which a claim has them.
func ResumeOf(settled *api.Settled) (*api.Resume, error) {
	resume := &api.Resume{}
	for _, text := range settled.Settled {
		request, _, err := decodeSettled(text)
		switch {
		case err != nil:
			return nil, err
		case request.approval != nil:
			resume.Approvals = append(resume.Approvals, *request.approval)
		default:
			resume.Questions = append(resume.Questions, *request.question)
		}
	}
	return resume, nil
}

// decodeSettled reads a SettledApproval or a SettledQuestion (only the former has a tool)
// and its number among the run's decisions.
func decodeSettled(text api.JSON) (settledRequest, int64, error) {
	var kind struct {
		SettledNumber int64 `json:"settled_number,string"`
		Request       struct {
			ToolName *string `json:"tool_name"`
		} `json:"request"`
	}
	var settled settledRequest
	err := json.Unmarshal(text, &kind)
	if err == nil && kind.Request.ToolName != nil {
		settled.approval = new(api.SettledApproval)
		err = json.Unmarshal(text, settled.approval)
	} else if err == nil {
		settled.question = new(api.SettledQuestion)
		err = json.Unmarshal(text, settled.question)
	}
	if err != nil {
		return settledRequest{}, 0, fmt.Errorf("decode a settled request: %w", err)
	}
	return settled, kind.SettledNumber, nil
}
