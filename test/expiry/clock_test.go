//go:build unix && faults

package expiry

import (
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/rig"
)

const (
	// soon is how long the request waits whose end the test awaits.
	soon = 2 * time.Second
	// clocksDiffer is by how much the service may misjudge the database's clock, which is this machine's.
	clocksDiffer = time.Second
)

// A replica whose clock is an hour wrong sweeps alone, and then another one joins it
// whose clock is an hour wrong the other way. What is due expires when the database
// says, not before and not an hour later; a lease ends so as well; and what is not due
// stays open.
func TestAWrongClockExpiresNothingEarlyOrLate(t *testing.T) {
	t.Parallel()
	database := postgrestest.URL(t)
	program := rig.ProgramWithWrongClock(t)
	replicaAt := func(ahead time.Duration) *client.Client {
		process := rig.Start(t, rig.Options{Program: program, Database: database, Env: []string{rig.ClockAhead(ahead)}})
		require.InDelta(t, time.Now().Add(ahead).Unix(), clockOf(t, process).Unix(), rig.Patience.Seconds())
		return process.Connect()
	}
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		replica := replicaAt(ahead)
		name := ahead.String()
		waits(t, replica, "later"+name, 30*time.Minute)
		before := time.Now()
		waits(t, replica, "soon"+name, soon)
		after := time.Now()
		dueAtMs := deadlineOf(t, replica, "soon"+name)
		require.GreaterOrEqual(t, dueAtMs, before.Add(soon-clocksDiffer).UnixMilli(), "the deadline is counted from the replica's clock")
		require.LessOrEqual(t, dueAtMs, after.Add(soon+clocksDiffer).UnixMilli(), "the deadline is counted from the replica's clock")

		run, err := replica.WaitRun(rig.Soon(t), "soon"+name, client.UntilDecided)
		require.NoError(t, err)
		require.Equal(t, api.StatusRunning, run.Status)
		expiredAtMs := expiredAtMs(t, replica, "soon"+name)
		require.GreaterOrEqual(t, expiredAtMs, dueAtMs, "expired early")
		require.Less(t, expiredAtMs, dueAtMs+rig.Patience.Milliseconds())

		// A lease that was just taken is not over, whatever the replica's clock says.
		_, err = replica.ClaimRun(t.Context(), "soon"+name, api.ClaimOptions{WorkerID: "first"})
		require.NoError(t, err)
		_, err = replica.ClaimRun(t.Context(), "soon"+name, api.ClaimOptions{WorkerID: "second"})
		require.ErrorIs(t, err, client.ErrRunNotClaimable)

		pending(t, replica, "later"+name)
	}
	rig.RequireHealthy(t, database)
}

// waits makes a run that waits for so long, in a session of its name.
func waits(t *testing.T, service *client.Client, runID string, long time.Duration) {
	t.Helper()
	suspension, afterMs := rig.Approvals("deploy"), long.Milliseconds()
	suspension.Approvals[0].ExpiresAfterMs = &afterMs
	_, err := service.CreateRun(t.Context(), client.CreateRunParams{RunID: runID, SessionID: runID, Input: "work", Suspend: suspension})
	require.NoError(t, err)
}

// clockOf is what a service takes the time of day to be.
func clockOf(t *testing.T, process *rig.Process) time.Time {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, process.URL()+"/version", nil)
	require.NoError(t, err)
	reply, err := transport.RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	clock, err := http.ParseTime(reply.Header.Get("Date"))
	require.NoError(t, err)
	return clock
}

// pending returns the open approval of a session, and checks that there is one.
func pending(t *testing.T, service *client.Client, sessionID string) api.PendingApprovalView {
	t.Helper()
	page, err := service.ListApprovals(t.Context(), client.PendingListParams{SessionID: sessionID})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	return page.Items[0]
}

// deadlineOf is when the one approval of a run is due, as its log says.
func deadlineOf(t *testing.T, service *client.Client, runID string) (dueAtMs int64) {
	t.Helper()
	for entry, err := range service.AllRunEvents(t.Context(), runID, client.EventListParams{}) {
		require.NoError(t, err)
		if found := expiresAtMs.FindSubmatch(entry.Event); found != nil {
			dueAtMs, err = strconv.ParseInt(string(found[1]), 10, 64)
			require.NoError(t, err)
		}
	}
	require.NotZero(t, dueAtMs)
	return dueAtMs
}

var expiresAtMs = regexp.MustCompile(`"expires_at_ms":(\d+)`)

// expiredAtMs is when the one approval of a run expired.
func expiredAtMs(t *testing.T, service *client.Client, runID string) int64 {
	t.Helper()
	log, err := rig.ReadLog(t.Context(), service, runID)
	require.NoError(t, err)
	require.Len(t, log.Resolutions, 1)
	require.Equal(t, api.OutcomeExpired, log.Resolutions[0].Outcome)
	return log.Resolutions[0].ResolvedAtMs
}
