package wire

// Quota limits one principal's use of one process. 0 means the default; a negative value means no
// limit.
type Quota struct {
	// Rate is the sustained number of calls per second, Burst the number at once. A call that takes
	// more work than [CallCost] counts as several.
	Rate  int64
	Burst int64
	// Calls limits calls in progress that are not held, Held limits held calls, and Streams limits
	// streams.
	Calls   int64
	Held    int64
	Streams int64
	// Bytes limits the bodies of all calls in progress. A body of unknown length counts as the
	// longest allowed.
	Bytes int64
	// Prompts limits open prompts, and Queued limits queued runs. Both are counted over the whole
	// database; see [Backlog].
	Prompts int64
	Queued  int64
	// Stored limits the bytes that calls add to the database in a day; see [Stored].
	Stored int64
}

// DefaultQuota is the quota of a caller with a credential: a share of a small machine that leaves
// most of it to others.
var DefaultQuota = Quota{
	Rate: 100, Burst: 500, Calls: 64, Held: 1_000, Streams: 10_000, Bytes: 256 << 20, Prompts: 100_000, Queued: 100_000, Stored: 10 << 30,
}

// orDefault fills in the defaults for callers with a credential.
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

// ofAll returns the quota that all callers share when no credential is required. Only limits that
// the operator set apply.
func (q Quota) ofAll() Quota {
	q.Rate, q.Burst, q.Calls, q.Held = -1, -1, -1, -1
	return q.orNone()
}

// ofConnection returns the quota of one connection when no credential is required.
func (q Quota) ofConnection() Quota {
	q.Streams, q.Bytes, q.Prompts, q.Queued, q.Stored = -1, -1, -1, -1, -1
	return q.orNone()
}

func (q Quota) orNone() Quota {
	if q.Rate > 0 && q.Burst == 0 {
		q.Burst = max(DefaultQuota.Burst, 2*q.Rate)
	}
	for _, value := range []*int64{&q.Rate, &q.Burst, &q.Calls, &q.Held, &q.Streams, &q.Bytes, &q.Prompts, &q.Queued, &q.Stored} {
		if *value == 0 {
			*value = -1
		}
	}
	return q
}
