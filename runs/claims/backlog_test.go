package claims

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/reads"
)

// drain claims runs one by one until there are none.
func drain(t *testing.T, d *Dispatcher, agentIDs ...string) []string {
	t.Helper()
	var all []string
	for {
		got := claim(d, Request{WorkerID: "w", AgentIDs: agentIDs}).runIDs(t)
		if len(got) == 0 {
			return all
		}
		all = append(all, got...)
	}
}

func TestBacklogBeyondTheLimitsKeepsItsOrder(t *testing.T) {
	t.Parallel()
	for _, options := range []Options{
		{hintLimit: 3}, {scanLimit: 2}, {hintLimit: 1, scanLimit: 3}, {hintLimit: 1, scanLimit: 1}, {},
	} {
		t.Run(fmt.Sprintf("hints %d scan %d", options.hintLimit, options.scanLimit), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				store := newFakeStore()
				d, _ := start(t, store, options)
				require.Empty(t, drain(t, d, "a"))
				var want []string
				for i := range 20 {
					runID := fmt.Sprintf("r%02d", i)
					store.announce(runID, "a")
					want = append(want, runID)
					<-time.After(time.Millisecond)
				}
				require.Equal(t, want, drain(t, d, "a"))
				require.Zero(t, store.refused)
			})
		})
	}
}

func TestFreshHintsDoNotOvertakeABacklog(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{scanLimit: 4})
		for i := range 20 {
			store.add(fmt.Sprintf("r%02d", i), "a", nowMs()-100+int64(i))
		}
		for i := range 20 {
			require.Equal(t, []string{fmt.Sprintf("r%02d", i)}, claim(d, worker("a")).runIDs(t))
			store.announce(fmt.Sprintf("fresh%02d", i), "a")
		}
		require.Len(t, drain(t, d, "a"), 20)
	})
}

// Workers that never wait, because there is always a fresh hint, still find an old run without a
// hint.
func TestFreshHintsDoNotStarveAnUnnoticedRun(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		require.Empty(t, drain(t, d, "a"))
		store.add("old", "a", nowMs())
		for i := range 100 { // two fresh runs for each claim
			store.announce("x"+strconv.Itoa(i), "a")
			store.announce("y"+strconv.Itoa(i), "a")
			got := claim(d, worker("a")).runIDs(t)
			if got[0] == "old" {
				require.LessOrEqual(t, i, 51)
				return
			}
			<-time.After(10 * time.Millisecond)
		}
		t.Fatal("the old run was starved")
	})
}

func TestBacklogOfOneAgentDoesNotHideAnother(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{scanLimit: 2})
		// Both wait, and get no hints for what follows.
		b := claim(d, worker("b"))
		c := claim(d, worker("c"))
		synctest.Wait()
		for i := range 10 {
			store.add("a"+strconv.Itoa(i), "a", nowMs()-1000)
		}
		store.add("rb", "b", nowMs())
		store.add("rc", "c", nowMs())
		a := claim(d, worker("a"))
		require.Equal(t, []string{"a0"}, a.runIDs(t))
		require.Equal(t, []string{"rb"}, b.runIDs(t))
		require.Equal(t, []string{"rc"}, c.runIDs(t))
		require.LessOrEqual(t, b.after, DefaultScanInterval)
		require.LessOrEqual(t, c.after, DefaultScanInterval)
	})
}

// If a scan's rows are older than a hint, the run must be neither lost nor handed out twice.
func TestHintsThatArriveDuringAScan(t *testing.T) {
	t.Parallel()
	row := func(runID string, atMs int64) reads.Claimable {
		return reads.Claimable{RunID: runID, SessionID: "s", AgentID: "a", ClaimableAtMs: atMs}
	}
	d := New(newFakeStore(), Options{hintLimit: 3, scanLimit: 3})
	w := d.join([]string{"a"}, reads.Scope{}, 10)
	scan := func(during func(), rows ...reads.Claimable) []string {
		w.demand.scanWanted = true
		demands := d.beginScan()
		during()
		d.endScan(demands, rows)
		var got []string
		for _, h := range d.takeHints(w) {
			got = append(got, h.RunID)
			d.releaseHint(h)
		}
		return got
	}
	offer := func(rows ...reads.Claimable) {
		d.notice(reads.Notice{SessionID: "s", Claimable: rows})
	}
	none := func() {}

	require.Empty(t, scan(none))
	require.False(t, w.demand.more)

	require.Equal(t, []string{"old", "both", "new"}, scan(func() {
		offer(row("both", 5), row("new", 6))
	}, row("old", 1), row("both", 5)), "hints that the query did not see stay, others are not doubled")

	require.Equal(t, []string{"old"}, scan(func() {
		offer(row("quick", 5))
		for _, h := range d.takeHints(w) {
			d.releaseHint(h) // claimed, run and finished before the query returned
		}
	}, row("old", 1), row("quick", 5)), "a run that was handed out meanwhile is not handed out again")

	offer(row("stale", 1))
	require.Equal(t, []string{"old"}, scan(none, row("old", 2)), "what a query does not show is gone")

	require.Equal(t, []string{"1", "2", "3"}, scan(func() { offer(row("9", 9)) },
		row("1", 1), row("2", 2), row("3", 3)), "a hint does not overtake the rows beyond the limit")
	require.True(t, w.demand.more)
	offer(row("10", 10))
	require.Empty(t, d.takeHints(w))
	require.Equal(t, []string{"4", "9"}, scan(none, row("4", 4), row("9", 9)))
	require.False(t, w.demand.more)

	scan(func() { offer(row("1", 1), row("2", 2), row("3", 3), row("4", 4)) })
	require.True(t, w.demand.more, "more hints came than are kept")

	require.Empty(t, scan(none))
	require.False(t, w.demand.more)
	claimable := row("in hand", 1)
	d.claiming["in hand"] = 1
	offer(claimable)
	require.Empty(t, d.takeHints(w), "a run that a claimer has in hand is not queued")
	require.Empty(t, scan(none, claimable))
}

func TestHintDoesNotReachAWaiterBeforeTheFirstScan(t *testing.T) {
	t.Parallel()
	d := New(newFakeStore(), Options{})
	w := d.join([]string{"a"}, reads.Scope{}, 1)
	_, goOn := d.enter(w, maxWait)
	require.True(t, goOn)
	fresh := reads.Claimable{RunID: "fresh", SessionID: "s", AgentID: "a", ClaimableAtMs: 2}
	old := reads.Claimable{RunID: "old", SessionID: "s", AgentID: "a", ClaimableAtMs: 1}
	d.notice(reads.Notice{SessionID: "s", Claimable: []reads.Claimable{fresh}})
	require.True(t, w.waiting)
	d.endScan(d.beginScan(), []reads.Claimable{old, fresh})
	require.False(t, w.waiting)
	require.Equal(t, old, w.hints[0].Claimable)
}

// A claim that arrives during a query may want a run that the query was too early to see.
func TestClaimDoesNotLeaveWithAnOlderScan(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		goOn := make(chan struct{})
		store.afterScan = func() { <-goOn }
		d, _ := start(t, store, Options{})
		early := claim(d, Request{WorkerID: "w"})
		synctest.Wait()
		store.add("r1", "a", nowMs())
		late := claim(d, Request{WorkerID: "w"})
		synctest.Wait()
		close(goOn)
		require.Empty(t, early.runIDs(t))
		require.Equal(t, []string{"r1"}, late.runIDs(t))
	})
}

func TestDemandsAreDroppedWhenNobodyAsks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		stays := claim(d, worker("a", "stays"))
		synctest.Wait()
		for i := range 50 {
			drain(t, d, "a", strconv.Itoa(i))
		}
		drain(t, d)
		store.announce("r1", "0")
		count := func() (demands, agents int, every bool) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return len(d.demands), len(d.byAgent), d.everyAgent != nil
		}
		demands, agents, every := count()
		require.Equal(t, []any{52, 52, true}, []any{demands, agents, every})

		<-time.After(2*DefaultScanInterval + time.Millisecond)
		synctest.Wait()
		demands, agents, every = count()
		require.Equal(t, []any{1, 2, false}, []any{demands, agents, every})

		require.Equal(t, []string{"r1"}, drain(t, d, "0"), "the run is found without its hint")
		store.announce("r2", "stays")
		require.Equal(t, []string{"r2"}, stays.runIDs(t))
		require.Empty(t, d.claiming)

		<-time.After(3 * DefaultScanInterval)
		synctest.Wait()
		before := store.scanCount()
		<-time.After(time.Minute)
		require.Equal(t, before, store.scanCount(), "nobody asks, nobody looks")
	})
}
