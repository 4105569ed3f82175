//go:build faults

package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/test/rig"
)

// replicasOn is how many replicas a service on an engine has. Of two replicas one is killed and
// the other one is called next, while the first starts again.
var replicasOn = map[string]int{"Postgres": 2, "SQLite": 1}

// service is the program with points, running on one database.
type service struct {
	replicas []*replica
	// turn counts the kills; it says which replica is called.
	turn int
	// idsUsedAgain: the replica that is called is not the one that prepares, where there are two.
	idsUsedAgain bool
	// slow is how many times as long as on a quick machine deadlines are set, so that none passes before
	// the points are armed.
	slow int
}

// replica is one process, and the file that arms its points.
type replica struct {
	*rig.Process
	plan string
}

// startService starts replicas on a database. They are killed at the end of the test.
func startService(t *testing.T, database string, replicas int, args ...string) *service {
	t.Helper()
	s := &service{slow: 1}
	for range replicas {
		r := &replica{plan: filepath.Join(t.TempDir(), "plan")}
		r.Process = rig.Start(t, rig.Options{
			Program: rig.Program(t, "failpoints"), Database: database, Env: []string{failpoint.Variable + "=" + r.plan}, Args: args,
		})
		s.replicas = append(s.replicas, r)
	}
	return s
}

// called returns the replica whose turn it is.
func (s *service) called() *replica { return s.replicas[s.turn%len(s.replicas)] }

// arm writes the plan in one step, so that no point sees half of it.
func (r *replica) arm(plan string) error {
	_ = os.Remove(r.plan + ".hits")
	if err := os.WriteFile(r.plan+".new", []byte(plan+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(r.plan+".new", r.plan)
}

// crash waits for the replica to die, or kills it, and restarts it. It returns whether the replica
// died on its own. After a reply it may not have reached the point yet.
func (r *replica) crash() (byItself bool, err error) {
	timer := time.NewTimer(100 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-r.Ended():
		byItself = true
	case <-timer.C:
	}
	r.Kill()
	if err := os.Remove(r.plan); err != nil {
		return byItself, err
	}
	return byItself, r.Restart()
}

// point is where a process is killed: at the n-th hit of a name.
type point struct {
	name string
	n    int
}

func (p point) String() string { return fmt.Sprintf("%s %d", p.name, p.n) }

// mostReads is how many points of one name are tried in read-only statements. Their number depends
// on polling, and a process that dies at any of them leaves the same state.
const mostReads = 3

// reads reports whether a point belongs to a statement that only reads.
func reads(name string) bool {
	return strings.HasPrefix(name, "postgres.reads.") || strings.HasPrefix(name, "sqlite.") && strings.Contains(name, ".SELECT-")
}

// record runs the scenario undisturbed to its reply and then kills the service. It returns the
// recorded points.
func (s *service) record(t *testing.T, sc *scenario, id string) ([]point, observation, error) {
	t.Helper()
	doomed := s.called()
	seen, err := s.try(t, sc, id, "record")
	if err != nil {
		return nil, seen, err
	}
	text, err := os.ReadFile(doomed.plan + ".hits")
	if err != nil {
		return nil, seen, err
	}
	counts := map[string]int{}
	var points []point
	for name := range strings.Lines(string(text)) {
		name = strings.TrimSpace(name)
		counts[name]++
		if counts[name] <= mostReads || !reads(name) {
			points = append(points, point{name, counts[name]})
		}
	}
	return points, seen, nil
}

// kill runs the scenario up to a point.
func (s *service) kill(t *testing.T, sc *scenario, id string, at point) (observation, error) {
	t.Helper()
	return s.try(t, sc, id, "kill "+at.String())
}

// try prepares a scenario, arms the points, makes the call, waits for the process to die, repeats
// the call after the restart, and checks the result.
func (s *service) try(t *testing.T, sc *scenario, id, plan string) (observation, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	var seen observation
	doomed := s.called()
	if err := doomed.AwaitReady(); err != nil {
		return seen, err
	}
	a := &trial{ctx: ctx, client: doomed.Connect(), runID: id, sessionID: "session-" + id, agentID: "agent-" + id, slow: s.slow}
	if s.idsUsedAgain {
		preparing := s.replicas[(s.turn+1)%len(s.replicas)]
		if err := preparing.AwaitReady(); err != nil {
			return seen, err
		}
		a.client = preparing.Connect()
	}
	if sc.prepare != nil {
		if err := sc.prepare(a); err != nil {
			return seen, fmt.Errorf("prepare: %w", err)
		}
	}
	a.client = doomed.Connect()
	if err := doomed.arm(plan); err != nil {
		return seen, err
	}
	called := sc.call(a)
	seen.acknowledged = called == nil
	s.turn++
	var err error
	if seen.killed, err = doomed.crash(); err != nil {
		return seen, err
	}
	if called != nil && !errors.Is(called, client.ErrUnavailable) {
		return seen, fmt.Errorf("the call: %w", called)
	}
	if err := s.called().AwaitReady(); err != nil {
		return seen, err
	}
	a.client = s.called().Connect()
	a.impatient = true
	return seen, sc.check(a, &seen)
}

// check reads the result, repeats the call, reads again, compares both with the rules, and finishes
// the scenario.
func (sc *scenario) check(a *trial, seen *observation) (err error) {
	if seen.before, err = sc.inForce(a); err != nil {
		return fmt.Errorf("after the restart: %w", err)
	}
	if !seen.acknowledged || !sc.onlyUnacknowledged {
		again := sc.again
		if again == nil {
			again = sc.call
		}
		if err := again(a); err != nil {
			return fmt.Errorf("the call again: %w", err)
		}
	}
	if seen.after, err = sc.inForce(a); err != nil {
		return fmt.Errorf("after the repeated call: %w", err)
	}
	if err := seen.verdict(); err != nil {
		return err
	}
	if err := sc.finish(a); err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	return hasLog(func(t *trial) string { return t.runID }, sc.events)(a)
}

// stop ends all processes, so that the database is not in use.
func (s *service) stop() {
	for _, r := range s.replicas {
		r.Kill()
	}
}

// requireHealthy stops the service and runs the doctor over all rows.
func (s *service) requireHealthy(t *testing.T, database string) {
	t.Helper()
	s.stop()
	require.False(t, t.Failed(), "see above")
	rig.RequireHealthy(t, database)
}
