package wire

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Quota is what one principal may use of one process. A member that is 0 has its default, and one
// below 0 no limit.
type Quota struct {
	// Rate is how many calls a second it may make for long, and Burst how many at once.
	Rate  int64
	Burst int64
	// Calls bounds those that are not answered yet, held ones included, and Streams its streams.
	Calls   int64
	Streams int64
	// Bytes bounds the bodies of all its calls that are not answered yet. A body that does not say
	// how long it is counts as the longest.
	Bytes int64
	// Prompts bounds what it asks for and nobody has decided, and Queued its runs that nobody has
	// taken. Both are counted over the whole database; see [Backlog].
	Prompts int64
	Queued  int64
}

// DefaultQuota is what a caller with a credential may use. Nobody meets it who does not mean to: it
// is what a busy process serves, and half of the streams of one.
var DefaultQuota = Quota{Rate: 10_000, Burst: 20_000, Calls: 10_000, Streams: 10_000, Bytes: 256 << 20, Prompts: 100_000, Queued: 100_000}

// orDefault returns the quota of those who show a credential.
func (q Quota) orDefault() Quota {
	for _, one := range []struct {
		value   *int64
		initial int64
	}{
		{&q.Rate, DefaultQuota.Rate},
		{&q.Burst, max(DefaultQuota.Burst, 2*q.Rate)},
		{&q.Calls, DefaultQuota.Calls},
		{&q.Streams, DefaultQuota.Streams},
		{&q.Bytes, DefaultQuota.Bytes},
		{&q.Prompts, DefaultQuota.Prompts},
		{&q.Queued, DefaultQuota.Queued},
	} {
		if *one.value == 0 {
			*one.value = one.initial
		}
	}
	return q
}

// orNone returns the quota of those who need no credential: what was not chosen does not bound them.
func (q Quota) orNone() Quota {
	if q.Rate > 0 && q.Burst == 0 {
		q.Burst = 2 * q.Rate
	}
	for _, value := range []*int64{&q.Rate, &q.Burst, &q.Calls, &q.Streams, &q.Bytes, &q.Prompts, &q.Queued} {
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
	known, open Quota
	maxBody     int64
	now         func() time.Time

	mu      sync.Mutex
	callers map[string]*caller
	// sweepAt is how many callers there are when the idle ones are forgotten.
	sweepAt int
}

// caller is what a principal uses now. The lock of the quotas guards it.
type caller struct {
	bucket                *rate.Limiter // nil without a limit of the rate
	quota                 Quota
	calls, streams, bytes int64
}

// minSweep is the least number of callers at which the idle ones are looked for.
const minSweep = 1024

// NewQuotas returns quotas, a body of maxBody bytes being the longest. The clock is that of the
// process.
func NewQuotas(quota Quota, maxBody int64, now func() time.Time) *Quotas {
	return &Quotas{known: quota.orDefault(), open: quota.orNone(), maxBody: maxBody, now: now, callers: map[string]*caller{}, sweepAt: minSweep}
}

// use is what one call takes of a quota.
type use struct {
	principal string
	// open says that no credential was asked for.
	open, stream bool
	bytes        int64
}

// take counts a call, and returns what to call when it is over. It writes the RateLimit headers of
// a caller whose rate is limited. Errors: rate_limited, too_many_calls, too_many_streams,
// too_many_bytes.
func (q *Quotas) take(w http.ResponseWriter, r *http.Request, u use) (done func(), err error) {
	if q == nil {
		return func() {}, nil
	}
	if u.bytes = r.ContentLength; u.bytes < 0 {
		u.bytes = q.maxBody
	}
	u.bytes = min(u.bytes, q.maxBody) // a longer one is refused before it is read
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.callerOf(u)
	now := q.now()
	if c.bucket != nil {
		passed := c.bucket.AllowN(now, 1)
		c.writeRate(w, now, passed)
		if !passed {
			return nil, refusal.New(CodeRateLimited, "%s makes more than %d calls a second: wait and try again", u.principal, c.quota.Rate)
		}
	}
	switch {
	case !u.stream && c.quota.Calls >= 0 && c.calls >= c.quota.Calls:
		return nil, refusal.New(CodeTooManyCalls, "%s has %d calls under way at this replica, as many as it may, held ones included", u.principal, c.calls)
	case u.stream && c.quota.Streams >= 0 && c.streams >= c.quota.Streams:
		return nil, refusal.New(CodeTooManyStreams, "%s has %d streams open at this replica, as many as it may", u.principal, c.streams)
	case c.quota.Bytes >= 0 && u.bytes > 0 && c.bytes+u.bytes > c.quota.Bytes:
		return nil, refusal.New(CodeTooManyBytes, "the calls of %s that are under way at this replica have bodies of %d bytes, and may have %d", u.principal, c.bytes, c.quota.Bytes)
	}
	c.count(u, 1)
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		c.count(u, -1)
	}, nil
}

func (c *caller) count(u use, by int64) {
	if u.stream {
		c.streams += by
	} else {
		c.calls += by
	}
	c.bytes += by * u.bytes
}

// callerOf returns what is known of a caller. The lock is held.
func (q *Quotas) callerOf(u use) *caller {
	key, quota := u.principal, q.known
	if u.open {
		key, quota = "", q.open
	}
	if c := q.callers[key]; c != nil {
		return c
	}
	if len(q.callers) >= q.sweepAt {
		q.forgetIdle()
	}
	c := &caller{quota: quota}
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
		if c.calls == 0 && c.streams == 0 && (c.bucket == nil || c.bucket.TokensAt(now) >= float64(c.bucket.Burst())) {
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
	// Calls, Streams and Bytes are the largest of one caller.
	Calls, Streams, Bytes int64
}

// Use returns how much the busiest callers use now.
func (q *Quotas) Use() QuotaUse {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := QuotaUse{Callers: len(q.callers)}
	for _, c := range q.callers {
		u.Calls, u.Streams, u.Bytes = max(u.Calls, c.calls), max(u.Streams, c.streams), max(u.Bytes, c.bytes)
	}
	return u
}
