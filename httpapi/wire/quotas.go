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

// Quota is what one principal may use of one process. A member that is 0 has its default, and one
// below 0 no limit.
type Quota struct {
	// Rate is how many calls a second it may make for long, and Burst how many at once. A call that is
	// more work than [CallCost] counts as several.
	Rate  int64
	Burst int64
	// Calls bounds those that are not answered yet and not held, Held those that are held until something
	// happens, and Streams its streams.
	Calls   int64
	Held    int64
	Streams int64
	// Bytes bounds the bodies of all its calls that are not answered yet. A body that does not say
	// how long it is counts as the longest.
	Bytes int64
	// Prompts bounds what it asks for and nobody has decided, and Queued its runs that nobody has
	// taken. Both are counted over the whole database; see [Backlog].
	Prompts int64
	Queued  int64
	// Stored bounds the bytes that its calls add to the database in a day; see [Stored].
	Stored int64
}

// DefaultQuota is what a caller with a credential may use: a share of a small machine that leaves most of
// it to others.
var DefaultQuota = Quota{
	Rate: 100, Burst: 500, Calls: 64, Held: 1_000, Streams: 10_000, Bytes: 256 << 20, Prompts: 100_000, Queued: 100_000, Stored: 10 << 30,
}

// CallCost is the work that counts as one call.
const CallCost = 5 * time.Millisecond

const (
	// maxCharge limits the charge of one piece of work: a slow database is not the caller's fault.
	maxCharge = 250 * time.Millisecond
	// DefaultPatience is how long a call beyond the rate waits for its turn, and how long the refusal of
	// one takes: refusals without a pause cost as much as calls.
	DefaultPatience = time.Second
	// maxPaused limits the paused refusals of one principal. Further ones are answered at once.
	maxPaused = 1024
)

// orDefault returns the quota of those who show a credential.
func (q Quota) orDefault() Quota {
	for _, one := range []struct {
		value   *int64
		initial int64
	}{
		{&q.Rate, DefaultQuota.Rate},
		{&q.Burst, max(DefaultQuota.Burst, 2*q.Rate)},
		{&q.Calls, DefaultQuota.Calls},
		{&q.Held, DefaultQuota.Held},
		{&q.Streams, DefaultQuota.Streams},
		{&q.Bytes, DefaultQuota.Bytes},
		{&q.Prompts, DefaultQuota.Prompts},
		{&q.Queued, DefaultQuota.Queued},
		{&q.Stored, DefaultQuota.Stored},
	} {
		if *one.value == 0 {
			*one.value = one.initial
		}
	}
	return q
}

// ofAll returns the quota that all callers share when the service asks for no credentials. Limits that the
// operator did not set do not apply.
func (q Quota) ofAll() Quota {
	q.Rate, q.Burst, q.Calls, q.Held = -1, -1, -1, -1
	return q.orNone()
}

// ofConnection returns the quota of one connection when the service asks for no credentials.
func (q Quota) ofConnection() Quota {
	q.Streams, q.Bytes, q.Prompts, q.Queued, q.Stored = -1, -1, -1, -1, -1
	return q.orNone()
}

func (q Quota) orNone() Quota {
	if q.Rate > 0 && q.Burst == 0 {
		q.Burst = 2 * q.Rate
	}
	for _, value := range []*int64{&q.Rate, &q.Burst, &q.Calls, &q.Held, &q.Streams, &q.Bytes, &q.Prompts, &q.Queued, &q.Stored} {
		if *value == 0 {
			*value = -1
		}
	}
	return q
}

// Quotas hold every principal to its quota, each by itself. Only callers whose credential was found
// good are remembered, and no longer than they use something. The zero value is not ready; see
// [NewQuotas].
type Quotas struct {
	known, all, connection Quota
	maxBody                int64
	now                    func() time.Time
	// patience is [DefaultPatience] in a service, and pause waits.
	patience time.Duration
	pause    func(context.Context, time.Duration)

	mu      sync.Mutex
	callers map[string]*caller
	// sweepAt is how many callers there are when the idle ones are forgotten.
	sweepAt int
}

// caller is what a principal uses now. The lock of the quotas guards it.
type caller struct {
	bucket                      *rate.Limiter // nil without a limit of the rate
	quota                       Quota
	calls, held, streams, bytes int64
	// paused are the refused calls whose answers wait.
	paused int64
	// owes is work that was not charged yet, less than a call.
	owes time.Duration
}

func (c *caller) idle() bool {
	return c.calls == 0 && c.held == 0 && c.streams == 0 && c.bytes == 0 && c.paused == 0
}

// minSweep is the least number of callers at which the idle ones are looked for.
const minSweep = 1024

// NewQuotas returns quotas, a body of maxBody bytes being the longest. The clock is that of the
// process. With a patience of 0 or less nothing waits: a call beyond the rate is refused at once.
func NewQuotas(quota Quota, maxBody int64, patience time.Duration, now func() time.Time) *Quotas {
	return &Quotas{
		known: quota.orDefault(), all: quota.ofAll(), connection: quota.ofConnection(), maxBody: maxBody, now: now,
		patience: max(patience, 0), pause: sleep, callers: map[string]*caller{}, sweepAt: minSweep,
	}
}

func sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// use is what one call takes of a quota.
type use struct {
	principal string
	// open says that no credential was asked for.
	open, stream bool
	bytes        int64
}

// taken is the share of the quotas that one call holds; nil holds nothing.
type taken struct {
	quotas *Quotas
	use    use
	// own counts the caller, or its connection when the service asks for no credentials. Then all counts
	// every caller together; otherwise it is nil.
	own, all *caller
	name     string
	held     bool
}

// take counts a call until done. A call beyond the rate waits for its turn. It writes the RateLimit headers of
// a caller whose rate is limited. Errors: rate_limited, too_many_calls, too_many_streams,
// too_many_bytes.
func (q *Quotas) take(w http.ResponseWriter, r *http.Request, u use) (*taken, error) {
	if q == nil {
		return nil, nil
	}
	if u.bytes = r.ContentLength; u.bytes < 0 {
		u.bytes = q.maxBody
	}
	u.bytes = min(u.bytes, q.maxBody) // a longer one is refused before it is read
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

// admit counts a call, or refuses it with a taken whose pause ends with unpause, or nil without a pause. It
// returns how long the call, or its refusal, waits.
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
			return t.paused(q.patience, refusal.New(CodeRateLimited, "%s makes more than %d calls a second, work of %s being one: wait and try again",
				u.principal, c.quota.Rate, CallCost))
		}
	}
	t.count(1)
	return t, wait, nil
}

// paused notes that a refusal is paused, unless too many are. The lock is held.
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

// room returns why the call is one too many. The lock is held.
func (t *taken) room() error {
	u, c, all := t.use, t.own, t.own
	if t.all != nil {
		all = t.all
	}
	switch {
	case !u.stream && c.quota.Calls >= 0 && c.calls >= c.quota.Calls:
		return refusal.New(CodeTooManyCalls, "%s has %d calls under way at this replica that are not held, as many as it may", u.principal, c.calls)
	case u.stream && all.quota.Streams >= 0 && all.streams >= all.quota.Streams:
		return refusal.New(CodeTooManyStreams, "%s has %d streams open at this replica, as many as it may", u.principal, all.streams)
	case all.quota.Bytes >= 0 && u.bytes > 0 && all.bytes+u.bytes > all.quota.Bytes:
		return refusal.New(CodeTooManyBytes, "the calls of %s that are under way at this replica have bodies of %d bytes, and may have %d", u.principal, all.bytes, all.quota.Bytes)
	}
	return nil
}

// count counts the call in or out. The lock is held.
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

// done counts the call out.
func (t *taken) done() {
	if t == nil {
		return
	}
	t.quotas.mu.Lock()
	defer t.quotas.mu.Unlock()
	t.count(-1)
}

// charge takes from the rate what work costs beyond the call itself.
func (t *taken) charge(cost time.Duration) {
	t.quotas.mu.Lock()
	defer t.quotas.mu.Unlock()
	c := t.own
	if c.bucket == nil {
		return
	}
	if c.owes += min(cost, maxCharge); c.owes >= CallCost {
		calls := int(c.owes / CallCost)
		c.owes -= time.Duration(calls) * CallCost
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

// Hold says that a call is held from now on until something happens. It counts with the held calls of its
// caller, and no longer with those that are worked on. Errors: too_many_calls.
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
		return refusal.New(CodeTooManyCalls, "%s has %d calls held at this replica, as many as it may", t.use.principal, c.held)
	}
	t.count(-1)
	t.held = true
	t.count(1)
	return nil
}

// callerOf returns what is known of a caller. The lock is held.
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

// forgetIdle forgets those who use nothing and whose bucket is full: they would begin with the same.
func (q *Quotas) forgetIdle() {
	now := q.now()
	for key, c := range q.callers {
		if c.idle() && (c.bucket == nil || c.bucket.TokensAt(now) >= float64(c.bucket.Burst())) {
			delete(q.callers, key)
		}
	}
	q.sweepAt = max(minSweep, 2*len(q.callers))
}

// writeRate writes the headers of draft-ietf-httpapi-ratelimit-headers, and when refused how long
// to wait.
func (c *caller) writeRate(w http.ResponseWriter, now time.Time, passed bool) {
	burst, tokens := float64(c.bucket.Burst()), math.Max(c.bucket.TokensAt(now), 0)
	perSecond := float64(c.bucket.Limit())
	header := w.Header()
	header["Ratelimit-Policy"] = []string{`"principal";q=` + strconv.Itoa(c.bucket.Burst()) + ";w=" + strconv.Itoa(int(math.Ceil(burst/perSecond)))}
	header["Ratelimit"] = []string{`"principal";r=` + strconv.Itoa(int(tokens)) + ";t=" + strconv.Itoa(int(math.Ceil((burst-tokens)/perSecond)))}
	if !passed {
		header["Retry-After"] = []string{strconv.Itoa(max(1, int(math.Ceil((1-tokens)/perSecond))))}
	}
}

// QuotaUse says how much callers use.
type QuotaUse struct {
	// Callers are those who are remembered.
	Callers int
	// Calls, Held, Streams and Bytes are the largest of one caller.
	Calls, Held, Streams, Bytes int64
}

// Use returns how much the busiest callers use now.
func (q *Quotas) Use() QuotaUse {
	q.mu.Lock()
	defer q.mu.Unlock()
	var u QuotaUse
	for key, c := range q.callers {
		if key != "" {
			u.Callers++
		}
		u.Calls, u.Held, u.Streams, u.Bytes = max(u.Calls, c.calls), max(u.Held, c.held), max(u.Streams, c.streams), max(u.Bytes, c.bytes)
	}
	return u
}
