package wire

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// CallCost is the work that counts as one call.
const CallCost = 5 * time.Millisecond

const (
	// maxCharge limits the charge of one piece of work: a slow database is not the caller's fault.
	maxCharge = 250 * time.Millisecond
	// DefaultPatience is how long a call beyond the rate waits for its turn, and how long the refusal of
	// one takes: refusals without a pause cost as much as calls.
	DefaultPatience = time.Second
	// maxPaused is the maximum number of delayed refusals for one principal. Further ones are
	// answered at once.
	maxPaused = 1024
)

// Quotas apply the quota to every principal separately. They track only authenticated callers, and
// only while these use something. Use [NewQuotas].
type Quotas struct {
	known, all, connection Quota
	maxBody                int64
	now                    func() time.Time
	// patience is [DefaultPatience] in a service; pause waits.
	patience time.Duration
	pause    func(context.Context, time.Duration)

	mu      sync.Mutex
	callers map[string]*caller
	// sweepAt is the number of callers at which idle ones are removed.
	sweepAt int
}

// caller is a principal's current use. The lock of the quotas guards it.
type caller struct {
	bucket                      *rate.Limiter // nil without a rate limit
	quota                       Quota
	calls, held, streams, bytes int64
	// paused counts the refused calls whose answers are delayed.
	paused int64
	// uncharged is work that was not charged yet, less than one call.
	uncharged time.Duration
}

func (c *caller) idle() bool {
	return c.calls == 0 && c.held == 0 && c.streams == 0 && c.bytes == 0 && c.paused == 0
}

// minSweep is the minimum number of callers before idle ones are removed.
const minSweep = 1024

// NewQuotas returns quotas. maxBody is the longest allowed body. now is the process's clock. With a
// patience of 0 or less, a call beyond the rate is refused at once.
func NewQuotas(quota Quota, maxBody int64, patience time.Duration, now func() time.Time) *Quotas {
	return &Quotas{
		known: quota.orDefault(), all: quota.ofAll(), connection: quota.ofConnection(), maxBody: maxBody, now: now,
		patience: max(patience, 0), pause: sleep, callers: map[string]*caller{}, sweepAt: minSweep,
	}
}

func sleep(ctx context.Context, pause time.Duration) {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// use is the part of a quota that one call needs.
type use struct {
	principal string
	// open says that no credential is required.
	open, stream bool
	bytes        int64
}

// taken is the part of the quotas that a call holds; nil holds nothing.
type taken struct {
	quotas *Quotas
	use    use
	// own counts the caller, or its connection when no credential is required. all then counts all
	// callers together; otherwise it is nil.
	own, all *caller
	name     string
	held     bool
}

// take counts a call until done. A call beyond the rate waits for its turn. It writes the RateLimit
// headers of a rate-limited caller. Errors: rate_limited, too_many_calls, too_many_streams,
// too_many_bytes.
func (q *Quotas) take(w http.ResponseWriter, r *http.Request, u use) (*taken, error) {
	if q == nil {
		return nil, nil
	}
	if u.bytes = r.ContentLength; u.bytes < 0 {
		u.bytes = q.maxBody // no face reads more without a length
	}
	u.bytes = min(u.bytes, max(q.maxBody, LongestBodyBytes)) // a longer one is refused before it is read
	t, wait, err := q.admit(w, r.RemoteAddr, u)
	if wait > 0 {
		q.pause(r.Context(), wait)
	}
	if t != nil && err != nil {
		t.unpause()
		return nil, err
	}
	if err == nil && r.Context().Err() != nil {
		t.done()
		return nil, r.Context().Err()
	}
	return t, err
}

// admit counts a call, or refuses it. A delayed refusal returns a taken whose pause ends with
// unpause; otherwise taken is nil. It also returns how long the call, or its refusal, has to wait.
func (q *Quotas) admit(w http.ResponseWriter, connection string, u use) (*taken, time.Duration, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &taken{quotas: q, use: u, name: u.principal}
	if u.open {
		t.name = connection
		t.own, t.all = q.callerOf("connection "+connection, &q.connection), q.callerOf("", &q.all)
	} else {
		t.own = q.callerOf(u.principal, &q.known)
	}
	now := q.now()
	if err := t.room(); err != nil {
		if t.own.bucket != nil {
			t.own.writeRate(w, now, true)
		}
		return t.paused(q.patience, err)
	}
	var wait time.Duration
	if c := t.own; c.bucket != nil {
		reserved := c.bucket.ReserveN(now, 1)
		wait = reserved.DelayFrom(now)
		passed := wait <= q.patience
		if !passed {
			reserved.CancelAt(now)
		}
		c.writeRate(w, now, passed)
		if !passed {
			return t.paused(q.patience, refusal.New(CodeRateLimited, "%s makes more than %d calls a second, where %s of work counts as one call: wait and try again",
				u.principal, c.quota.Rate, CallCost))
		}
	}
	t.count(1)
	return t, wait, nil
}

// paused counts a delayed refusal, unless there are too many. The caller holds the lock.
func (t *taken) paused(pause time.Duration, err error) (*taken, time.Duration, error) {
	if pause <= 0 || t.own.paused >= maxPaused {
		return nil, 0, err
	}
	t.own.paused++
	return t, pause, err
}

func (t *taken) unpause() {
	t.quotas.mu.Lock()
	defer t.quotas.mu.Unlock()
	t.own.paused--
}

// room returns an error when the call exceeds a limit. The caller holds the lock.
func (t *taken) room() error {
	u, c, all := t.use, t.own, t.own
	if t.all != nil {
		all = t.all
	}
	switch {
	case !u.stream && c.quota.Calls >= 0 && c.calls >= c.quota.Calls:
		return refusal.New(CodeTooManyCalls, "%s has %d calls in progress at this replica, not counting held ones: the maximum", u.principal, c.calls)
	case u.stream && all.quota.Streams >= 0 && all.streams >= all.quota.Streams:
		return refusal.New(CodeTooManyStreams, "%s has %d streams open at this replica: the maximum", u.principal, all.streams)
	case all.quota.Bytes >= 0 && u.bytes > 0 && all.bytes+u.bytes > all.quota.Bytes:
		return refusal.New(CodeTooManyBytes, "the calls of %s in progress at this replica have bodies of %d bytes, and the maximum is %d", u.principal, all.bytes, all.quota.Bytes)
	}
	return nil
}

// count adds or removes the call. The caller holds the lock.
func (t *taken) count(by int64) {
	for _, c := range []*caller{t.own, t.all} {
		switch {
		case c == nil:
			continue
		case t.use.stream:
			c.streams += by
		case t.held:
			c.held += by
		default:
			c.calls += by
		}
		c.bytes += by * t.use.bytes
	}
}

// done removes the call.
func (t *taken) done() {
	if t == nil {
		return
	}
	t.quotas.mu.Lock()
	defer t.quotas.mu.Unlock()
	t.count(-1)
}

// charge takes additional work of the call from the rate.
func (t *taken) charge(cost time.Duration) {
	t.quotas.mu.Lock()
	defer t.quotas.mu.Unlock()
	c := t.own
	if c.bucket == nil {
		return
	}
	if c.uncharged += min(cost, maxCharge); c.uncharged >= CallCost {
		calls := int(c.uncharged / CallCost)
		c.uncharged -= time.Duration(calls) * CallCost
		c.bucket.ReserveN(t.quotas.now(), min(calls, c.bucket.Burst()))
	}
}

type takenKey struct{}

// within returns a context for the work of the call.
func (t *taken) within(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return cpulimit.With(context.WithValue(ctx, takenKey{}, t), t.name, t.charge)
}

// Hold marks a call as held from now on. It counts against Held and no longer against Calls.
// Errors: too_many_calls.
func Hold(ctx context.Context) error {
	t, counted := ctx.Value(takenKey{}).(*taken)
	if !counted {
		return nil
	}
	t.quotas.mu.Lock()
	defer t.quotas.mu.Unlock()
	c := t.own
	switch {
	case t.held || t.use.stream:
		return nil
	case c.quota.Held >= 0 && c.held >= c.quota.Held:
		return refusal.New(CodeTooManyCalls, "%s has %d calls held at this replica: the maximum", t.use.principal, c.held)
	}
	t.count(-1)
	t.held = true
	t.count(1)
	return nil
}

// callerOf returns a caller's state. The caller holds the lock.
func (q *Quotas) callerOf(key string, quota *Quota) *caller {
	if c := q.callers[key]; c != nil {
		return c
	}
	if len(q.callers) >= q.sweepAt {
		q.forgetIdle()
	}
	c := &caller{quota: *quota}
	if quota.Rate > 0 {
		c.bucket = rate.NewLimiter(rate.Limit(quota.Rate), int(max(quota.Burst, 1)))
	}
	q.callers[key] = c
	return c
}

// forgetIdle removes callers that use nothing and have a full bucket. They start again in the same
// state.
func (q *Quotas) forgetIdle() {
	now := q.now()
	for key, c := range q.callers {
		if c.idle() && (c.bucket == nil || c.bucket.TokensAt(now) >= float64(c.bucket.Burst())) {
			delete(q.callers, key)
		}
	}
	q.sweepAt = max(minSweep, 2*len(q.callers))
}

// writeRate writes the headers of draft-ietf-httpapi-ratelimit-headers and, for a refused call, the
// time to wait.
func (c *caller) writeRate(w http.ResponseWriter, now time.Time, passed bool) {
	burst, tokens := float64(c.bucket.Burst()), c.bucket.TokensAt(now) // negative for a caller in debt
	perSecond := float64(c.bucket.Limit())
	header := w.Header()
	header["Ratelimit-Policy"] = []string{`"principal";q=` + strconv.Itoa(c.bucket.Burst()) + ";w=" + strconv.Itoa(int(math.Ceil(burst/perSecond)))}
	header["Ratelimit"] = []string{`"principal";r=` + strconv.Itoa(max(0, int(tokens))) + ";t=" + strconv.Itoa(int(math.Ceil((burst-tokens)/perSecond)))}
	if !passed {
		header["Retry-After"] = []string{strconv.Itoa(max(1, int(math.Ceil((1-tokens)/perSecond))))}
	}
}

// QuotaUse reports the use of quotas.
type QuotaUse struct {
	// Callers counts the tracked callers.
	Callers int
	// Calls, Held, Streams and Bytes are each the largest value of one caller.
	Calls, Held, Streams, Bytes int64
	// Rate is the largest share of a bucket of calls that one caller has used. It is above 1 for a caller in debt.
	Rate float64
}

// Use returns the current use of the busiest callers.
func (q *Quotas) Use() QuotaUse {
	q.mu.Lock()
	defer q.mu.Unlock()
	var u QuotaUse
	now := q.now()
	for key, c := range q.callers {
		if key != "" {
			u.Callers++
		}
		u.Calls, u.Held, u.Streams, u.Bytes = max(u.Calls, c.calls), max(u.Held, c.held), max(u.Streams, c.streams), max(u.Bytes, c.bytes)
		if c.bucket != nil {
			u.Rate = max(u.Rate, 1-c.bucket.TokensAt(now)/float64(c.bucket.Burst()))
		}
	}
	return u
}
