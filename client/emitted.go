package client

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
)

// emitted derives the idempotency keys of a task's events, so that a handler that starts from
// the top does not append the same events again. The task's mutex guards it.
type emitted struct {
	// run names the run by its id and its time: after retention another run may have the id, and
	// the service still knows the keys of the deleted one.
	run string
	// since is the digest of the last checkpoint.
	since [sha256.Size]byte
	// times counts the appends by their digest, which covers since.
	times map[[sha256.Size]byte]int
}

func newEmitted(claim *api.Claim) emitted {
	run := fmt.Sprintf("%s/%d", claim.Run.RunID, claim.Run.SubmittedAtMs)
	return emitted{run: run, since: digestOf(claim.Checkpoint), times: map[[sha256.Size]byte]int{}}
}

// digestOf returns the digest of a checkpoint, which may be absent.
func digestOf(checkpoint api.JSON) [sha256.Size]byte {
	if checkpoint == nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(canonicalOf(checkpoint))
}

// isCheckpoint reports whether the service stores the value: null is not a checkpoint.
func isCheckpoint(value api.JSON) bool { return string(canonicalOf(value)) != "null" }

// checkpointed notes that the service has stored a checkpoint, if the value is one.
func (t *Task) checkpointed(value api.JSON) {
	if !isCheckpoint(value) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.emitted.since = digestOf(value)
}

// key returns the key of an append: it is the same for the n-th append of the same events to
// the same run since the same checkpoint.
func (e *emitted) key(events []api.JSON) string {
	digest := sha256.New()
	_, _ = fmt.Fprintf(digest, "%s\n%x\n", e.run, e.since)
	for _, event := range events {
		form := canonicalOf(event) // the members of a map have no order
		_, _ = fmt.Fprintf(digest, "%d\n%s\n", len(form), form)
	}
	sum := [sha256.Size]byte(digest.Sum(nil))
	e.times[sum]++
	return fmt.Sprintf("task/%s/%d", base64.RawURLEncoding.EncodeToString(sum[:]), e.times[sum])
}

// Emit appends events to the session's log. Each must be a value whose JSON is an object
// with a "type". Many or large events are sent in several calls, as by
// [Client.AppendEvents].
//
// They are appended once, even if the call is retried because its reply was lost, and even if
// the handler starts from the top again: the n-th Emit of the same events since the same
// checkpoint appends nothing if an earlier claim of the run has appended them, within the
// time that the service remembers idempotency keys. To append equal events in each claim, add
// a member that differs, such as [Task.Fence].
func (t *Task) Emit(ctx context.Context, events ...any) error {
	if len(events) == 0 {
		return nil
	}
	texts := make([]api.JSON, len(events))
	for i, event := range events {
		var err error
		if texts[i], err = EncodeJSON(event); err != nil {
			return fmt.Errorf("%w: event %d: %w", ErrInvalid, i, err)
		}
	}
	t.mu.Lock()
	key := t.emitted.key(texts)
	t.mu.Unlock()
	ctx, done := t.whileLeased(ctx)
	defer done()
	if err := t.client.appendOfTask(ctx, t.RunID(), t.Fence(), key, texts); err != nil {
		return t.handleRefusal(err)
	}
	return nil
}

type outputEvent struct {
	Type    string `json:"type"`
	Content string `json:"content"`
}

// Output appends to the output of the run and the session, once, as [Task.Emit] does.
func (t *Task) Output(ctx context.Context, text string) error {
	return t.Emit(ctx, outputEvent{"output", text})
}
