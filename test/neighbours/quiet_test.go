//go:build unix && faults

package neighbours

import (
	"context"
	"net/http"
	"time"
)

// pace is the time between two calls of the quiet agent: 80 a second stay below its own rate.
const pace = 12500 * time.Microsecond

// quiet is the agent whose calls are timed: heartbeats at a steady pace.
type quiet struct {
	one   *http.Client
	url   string
	token string
	// refused counts the replies that were not 200.
	refused int
}

// measure returns the durations of the calls that it makes for so long.
func (q *quiet) measure(ctx context.Context, long time.Duration) ([]time.Duration, error) {
	var took []time.Duration
	next := time.NewTicker(pace)
	defer next.Stop()
	for end := time.Now().Add(long); time.Now().Before(end); <-next.C {
		began := time.Now()
		status, err := post(ctx, q.one, q.url+"/v1/runs/quiet/heartbeat", q.token, `{"fence":"1","checkpoint":{"step":1}}`)
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		if status != http.StatusOK {
			q.refused++
		}
	}
	return took, nil
}
