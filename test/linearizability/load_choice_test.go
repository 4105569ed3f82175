//go:build unix && faults

package linearizability

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
)

// chooser is a caller that chooses its calls at random.
type chooser struct {
	caller
	load *load
	// services are clients of the replicas.
	services []*client.Client
	random   *rand.Rand
	marks    int
	// sent is the last call with a key, to be sent again.
	sent struct {
		board *board
		input input
	}
}

func (c *chooser) work(ctx context.Context) {
	for ctx.Err() == nil {
		b, place := c.load.board(c.random)
		out := c.once(ctx, b)
		if b.note(out) {
			c.load.replace(b, place)
		}
		wait := c.load.waits
		if out.Unknown {
			wait = 300 * time.Millisecond
		}
		pause(ctx, time.Duration(c.random.Int64N(int64(wait)+1)))
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// mark returns a new mark.
func (c *chooser) mark() string {
	c.marks++
	return fmt.Sprintf("%s#%d", c.name, c.marks)
}

// chance is true once in this many calls.
func (c *chooser) chance(in int) bool { return c.random.IntN(in) == 0 }

// service returns one of the replicas.
func (c *chooser) service() *client.Client { return c.services[c.random.IntN(len(c.services))] }

// once makes one call on a run, most often one that fits its known state.
func (c *chooser) once(ctx context.Context, b *board) output {
	status := b.lastStatus()
	switch {
	case status == "":
		return c.create(ctx, c.service(), b)
	case c.chance(40):
		return c.create(ctx, c.service(), b)
	case c.chance(12):
		return c.read(ctx, c.service(), b)
	case c.chance(100):
		return c.cancelRun(ctx, c.service(), b, c.mark())
	case c.chance(6) && c.sent.board == b:
		return c.decide(ctx, c.service(), b, c.sent.input)
	case c.chance(10):
		if h, there := b.pickReplaced(c.random); there {
			return c.endLease(ctx, b, h)
		}
	}
	waits := model.Waiting(status)
	if c.chance(8) {
		waits = !waits // as a caller with an outdated state does
	}
	if waits {
		return c.settle(ctx, b)
	}
	return c.goOn(ctx, b)
}

// goOn makes a worker's call.
func (c *chooser) goOn(ctx context.Context, b *board) output {
	h, there := b.pickHolder(c.random)
	if !there || c.chance(3) || b.idle && !c.chance(5) {
		return c.claimOneWay(ctx, b)
	}
	switch {
	case c.chance(5):
		return c.heartbeat(ctx, c.service(), b, h.fence)
	case c.chance(8):
		return c.release(ctx, b, h)
	case c.chance(3):
		return c.claimOneWay(ctx, b)
	case h.round < maxRounds && !c.chance(12):
		return c.suspend(ctx, b, h)
	default:
		return c.complete(ctx, c.service(), b, h.fence, c.mark())
	}
}

// endLease suspends or releases, as a caller does that does not know the outcome of an earlier
// call.
func (c *chooser) endLease(ctx context.Context, b *board, h holder) output {
	if h.round < maxRounds && !c.chance(3) {
		return c.suspend(ctx, b, h)
	}
	return c.release(ctx, b, h)
}

// suspend makes the holder's suspension, and sometimes a different one with the same id.
func (c *chooser) suspend(ctx context.Context, b *board, h holder) output {
	requests := h.next
	if c.chance(6) {
		requests = h.other
	}
	b.raises(requests)
	return c.caller.suspend(ctx, c.service(), b, input{Kind: callSuspend, Fence: h.fence, Round: h.round, Asked: requests})
}

// release gives a holder's run back, in one of two ways.
func (c *chooser) release(ctx context.Context, b *board, h holder) output {
	return c.caller.release(ctx, c.service(), b, h.fence, c.random.IntN(4)/3)
}

// claimOneWay claims a run by its id or by its agent, and sometimes on all replicas at once.
func (c *chooser) claimOneWay(ctx context.Context, b *board) output {
	switch {
	case c.chance(3):
		return c.await(ctx, c.service(), b, c.random.Int64N(400))
	case c.chance(2):
		return c.everywhere(ctx, b, c.claim)
	default:
		return c.claim(ctx, c.service(), b)
	}
}

func (c *chooser) claim(ctx context.Context, service *client.Client, b *board) output {
	out := c.caller.claim(ctx, service, b)
	c.remember(b, out)
	return out
}

func (c *chooser) await(ctx context.Context, service *client.Client, b *board, waitMs int64) output {
	out := c.caller.await(ctx, service, b, waitMs)
	c.remember(b, out)
	return out
}

// remember writes a claim on the board, with the suspension that will follow.
func (c *chooser) remember(b *board, out output) {
	if out.Fence == 0 {
		return
	}
	h := holder{fence: out.Fence, round: roundAfter(out)}
	random := rand.New(rand.NewPCG(c.load.seed, uint64(out.LapsesAtMs)))
	for i := range 1 + random.IntN(requestsPerRound) {
		one := asked{Slot: h.round*requestsPerRound + i, Question: random.IntN(3) == 0}
		if random.IntN(4) == 0 {
			one.DueAtMs = out.LapsesAtMs - leaseMs + 100 + random.Int64N(700)
		}
		h.next = append(h.next, one)
	}
	h.other = slices.Clone(h.next)
	h.other[0].DueAtMs = out.LapsesAtMs + time.Hour.Milliseconds()
	b.claimed(h)
}

// settle makes a person's call.
func (c *chooser) settle(ctx context.Context, b *board) output {
	in := input{Kind: callResolve, Mark: c.mark(), Key: b.nextKey()}
	request, there := b.pickRequest(c.random)
	if !there {
		return c.read(ctx, c.service(), b)
	}
	switch {
	case !request.Question:
		in.Decisions = []decision{{request.Slot, c.allowOrDeny()}}
		other := asked{Slot: request.Slot ^ 1}
		if c.chance(3) && b.raised(other.Slot) {
			in.Decisions = append(in.Decisions, decision{other.Slot, c.allowOrDeny()})
		}
	case c.chance(4):
		in.Kind, in.Decisions = callCancelQuestion, []decision{{request.Slot, api.OutcomeCancelled}}
	case c.chance(3):
		in.Kind, in.Decisions = callAnswer, []decision{{request.Slot, api.OutcomeDeclined}}
	default:
		in.Kind, in.Decisions = callAnswer, []decision{{request.Slot, api.OutcomeAnswered}}
	}
	c.sent.board, c.sent.input = b, in
	if in.Key != 0 && c.chance(10) {
		// The key is used for something else the next time.
		c.sent.input.Variant, c.sent.input.Mark = 1, in.Mark+"-other"
	}
	if c.chance(3) {
		return c.everywhere(ctx, b, func(ctx context.Context, service *client.Client, b *board) output {
			return c.decide(ctx, service, b, in)
		})
	}
	return c.decide(ctx, c.service(), b, in)
}

// decide makes a call that settles requests and writes the result on the board.
func (c *chooser) decide(ctx context.Context, service *client.Client, b *board, in input) output {
	out := c.caller.decide(ctx, service, b, in)
	if out.Code == "" && !out.Unknown {
		for _, one := range in.Decisions {
			b.decided(one.Slot)
		}
	} else if out.Recorded.Outcome != "" {
		b.decided(out.RecordedSlot)
	}
	return out
}

func (c *chooser) allowOrDeny() api.Outcome {
	if c.chance(3) {
		return api.OutcomeDenied
	}
	return api.OutcomeAllowed
}

// everywhere makes the same call on all replicas at once, and returns one of the replies.
func (c *chooser) everywhere(ctx context.Context, b *board, call func(context.Context, *client.Client, *board) output) output {
	outs := make([]output, len(c.services))
	var calls sync.WaitGroup
	for i, service := range c.services {
		calls.Go(func() { outs[i] = call(ctx, service, b) })
	}
	calls.Wait()
	for _, out := range outs[1:] {
		b.note(out)
	}
	return outs[0]
}
