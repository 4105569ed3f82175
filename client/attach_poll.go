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

// errVanished is told to a waiter whose request is neither open nor settled, which
// no service should ever report.
var errVanished = errors.New("the request is neither open nor settled")

// startPoll sees to it that the shared poll runs. The mutex is held.
func (t *Task) startPoll() {
	if t.polling || t.ctx.Err() != nil || t.ended != nil {
		return
	}
	t.polling = true
	t.joined.Go(t.poll)
}

// poll asks what was settled, for all waiters at once, as long as there are some.
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
			t.heard(settled, before)
			if len(settled.Settled) > 0 {
				pause.reset()
			} else {
				_ = pause.afterHeld(ctx, asked, t.wait)
			}
		case cut || t.isEnded():
		case transient(err):
			// The context's error ends the loop above.
			_ = pause.sleep(t.ctx, err)
		case t.isEnding():
			// The refusal may be of our own making; what ends the lease will tell.
			_ = pause.sleep(t.ctx, err)
		default:
			err = t.refused(err)
			t.mu.Lock()
			t.tellAll(err)
			t.mu.Unlock()
		}
		cancel()
	}
}

// heard hands what was settled to those who wait for it. before are the requests
// that were waited for when the poll was sent.
func (t *Task) heard(settled *api.Settled, before []string) {
	err := t.record(settled)
	t.mu.Lock()
	if err == nil && settled.Open == 0 && len(settled.Settled) == 0 {
		err = errVanished
	}
	if err != nil {
		for _, id := range before {
			if w, there := t.waiters[id]; there {
				t.answer(w, settledRequest{}, 0, err)
			}
		}
	}
	t.mu.Unlock()
	if settled.CancelRequested {
		t.stop(ErrCancelled)
	}
}

// record keeps decisions, and answers those who wait for one.
func (t *Task) record(settled *api.Settled) error {
	after, err := strconv.ParseInt(settled.After, 10, 64)
	if err != nil {
		return fmt.Errorf("the cursor %q of the settled requests is no number: %w", settled.After, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, text := range settled.Settled {
		one, number, err := decodeSettled(text)
		if err != nil {
			return err
		}
		t.settled[one.id()] = one
		if w, there := t.waiters[one.id()]; there {
			t.answer(w, one, number, nil)
		}
	}
	t.after = max(t.after, after)
	return nil
}

// readHistory learns of all decisions of the run, also those of earlier suspensions.
func (t *Task) readHistory(ctx context.Context) error {
	settled, err := t.client.AwaitSettled(ctx, t.RunID(), t.Fence(), "0", 0)
	if err != nil {
		return t.refused(err)
	}
	return t.record(settled)
}

// answer tells a waiter what became of its request. The mutex is held.
func (t *Task) answer(w *waiter, settled settledRequest, number int64, err error) {
	if isClosed(w.done) {
		return
	}
	w.settled, w.number, w.err = settled, number, err
	if number > 0 {
		t.unread[number] = true
	}
	if t.waiters[w.request.id()] == w {
		delete(t.waiters, w.request.id())
	}
	close(w.done)
}

// tellAll ends all waits with an error. The mutex is held.
func (t *Task) tellAll(err error) {
	for _, w := range t.waiters {
		t.answer(w, settledRequest{}, 0, err)
	}
}

// letGo ends the waits and the poll when the run is no longer this task's. The mutex
// is held.
func (t *Task) letGo(err error) {
	t.tellAll(err)
	if t.stopPoll != nil {
		t.stopPoll()
	}
}

func (t *Task) raisedIDs() []string {
	var ids []string
	for id, w := range t.waiters {
		if w.raised {
			ids = append(ids, id)
		}
	}
	return ids
}

func (t *Task) raisedWaiters() int { return len(t.raisedIDs()) }

// takenIn returns up to which decision a checkpoint that is stored now has taken
// them in: all before the first that its goroutine has not been handed. nil when the
// task never was attached, because then nothing can be settled meanwhile.
func (t *Task) takenIn() *int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.attached {
		return nil
	}
	taken := t.after
	for number := range t.unread {
		taken = min(taken, number-1)
	}
	return &taken
}

// remember adds decisions that came with a reply.
func (t *Task) remember(resume *api.Resume) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(resume)
}

// settledBefore returns a Resume of the decisions that a suspension asks for when
// all of them are on record, nil when one is not, and an error when one of them was
// about something else.
func (t *Task) settledBefore(suspension *api.Suspension) (*api.Resume, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	resume := &api.Resume{SuspensionID: suspension.SuspensionID, Approvals: []api.SettledApproval{}, Questions: []api.SettledQuestion{}}
	for i := range suspension.Approvals {
		asked := pendingRequest{approval: &suspension.Approvals[i]}
		settled, known := t.settled[asked.id()]
		if !known {
			return nil, nil
		}
		if err := settled.answers(asked); err != nil {
			return nil, err
		}
		resume.Approvals = append(resume.Approvals, *settled.approval)
	}
	for i := range suspension.Questions {
		asked := pendingRequest{question: &suspension.Questions[i]}
		settled, known := t.settled[asked.id()]
		if !known {
			return nil, nil
		}
		if err := settled.answers(asked); err != nil {
			return nil, err
		}
		resume.Questions = append(resume.Questions, *settled.question)
	}
	if len(resume.Approvals)+len(resume.Questions) == 0 {
		return nil, nil
	}
	return resume, nil
}

// decodeSettled reads a SettledApproval or a SettledQuestion, of which only the former
// has a tool, and its place in the order of the run's decisions.
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
