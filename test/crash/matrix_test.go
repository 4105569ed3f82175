//go:build faults

package crash

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// Environment variables of the matrix; see the package comment.
const (
	allVariable   = "HOLDPOINT_CRASH"
	tableVariable = "HOLDPOINT_CRASH_TABLE"
)

// sampleSize is the number of sampled points per row, spread over all of them, in addition to
// afterCommit and to every name in the first row that has it. Different rows begin at different
// points.
const sampleSize = 1

// afterCommit is the point between the first commit of a call and its reply.
var afterCommit = point{"door.committed", 1}

// retries is how often a point is tried that the process did not reach: its background work, such
// as preparing a statement on a new connection, varies.
const retries = 3

// full reports whether all points are tried.
func full() bool { return os.Getenv(allVariable) == "all" }

func TestMatrix(t *testing.T) {
	t.Parallel()
	var filled table
	tried := make([]names, len(rig.Engines))
	// The rows run concurrently; the table is complete when they are done.
	t.Cleanup(func() {
		t.Log(filled.summary())
		if path := os.Getenv(tableVariable); path != "" {
			require.False(t, t.Failed(), "a matrix that does not hold is not written down")
			require.True(t, full(), "a sample is not written down")
			require.NoError(t, filled.writeInto(path))
		}
	})
	for e, engine := range rig.Engines {
		for i := range scenarios {
			sc := &scenarios[i]
			t.Run(engine.Name+"/"+strings.ReplaceAll(sc.name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				database, replicas := engine.Database(t), replicasOn[engine.Name]
				if sc.alone {
					replicas = 1
				}
				s := startService(t, database, replicas)
				filled.add(position{e, i}, fill(t, s, sc, engine.Name, func(points []point) []point {
					return chosen(points, i, &tried[e])
				}))
				s.requireHealthy(t, database)
			})
		}
	}
}

// fill makes one row of the table: it records the points of a scenario and kills the service at the
// chosen ones.
func fill(t *testing.T, s *service, sc *scenario, engine string, choose func([]point) []point) row {
	t.Helper()
	r := row{engine: engine, scenario: sc.name}
	// The second recording is of a restarted service, like every later try. If a slow machine
	// passed a deadline before the points were armed, the recording is empty and is repeated with
	// later deadlines.
	recordings := 1
	if full() {
		recordings = 2
	}
	var points []point
	for i := 0; i < recordings || i < recordings+6 && !slices.Contains(points, afterCommit); i++ {
		if i >= recordings {
			s.slow *= 2
		}
		recorded, seen, err := s.record(t, sc, fmt.Sprintf("record-%d", i))
		require.NoError(t, err)
		require.True(t, seen.acknowledged)
		r.count(seen)
		points = recorded
	}
	require.Contains(t, points, afterCommit, "the call commits nothing")
	r.known = len(points)
	for i, at := range choose(points) {
		seen, err := s.kill(t, sc, fmt.Sprintf("point-%d", i), at)
		for again := 1; full() && again < retries && err == nil && !seen.killed; again++ {
			seen, err = s.kill(t, sc, fmt.Sprintf("point-%d-%d", i, again), at)
		}
		if err != nil {
			t.Errorf("killed at %s: %v", at, err)
			r.wrong++
		}
		r.count(seen)
	}
	t.Logf("%d points, %d tries, %d of them died there", r.known, r.tried, r.killed)
	return r
}

// chosen returns all points, or the sample that begins at an offset.
func chosen(points []point, offset int, tried *names) []point {
	if full() {
		return points
	}
	var sample []point
	step := max(len(points)/sampleSize, 1)
	for i, at := range points {
		if tried.add(at.name) || at == afterCommit || i%step == offset%step {
			sample = append(sample, at)
		}
	}
	return sample
}

// names are the names of the points of one engine that were tried.
type names struct {
	mu   sync.Mutex
	seen map[string]bool
}

// add returns whether the name is new.
func (n *names) add(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	known := n.seen[name]
	n.seen[name] = true
	return !known
}

// position orders the rows of a table.
type position struct{ engine, scenario int }

// table gathers rows as they are done.
type table struct {
	mu   sync.Mutex
	rows map[position]row
}

func (f *table) add(at position, r row) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rows == nil {
		f.rows = map[position]row{}
	}
	f.rows[at] = r
}
