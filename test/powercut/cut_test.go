//go:build unix && faults

package powercut

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// sector is what a disk writes whole or not at all, at best.
const sector = 512

// cuts are what a power cut may leave of the bytes of the log that were written after
// the last acknowledgement: all of them from some offset on. The files at the last
// acknowledgement and at the cut have the same main file and the same log header.
var cuts = []struct {
	name string
	cut  func(random *rand.Rand, acknowledged, atCut []byte, from int) []byte
}{
	{"the end of the log is missing", func(random *rand.Rand, _, atCut []byte, from int) []byte {
		return atCut[:from+random.IntN(len(atCut)-from+1)]
	}},
	{"some sectors were not written", func(random *rand.Rand, acknowledged, atCut []byte, from int) []byte {
		return bySector(atCut, from, func(kept []byte, at int) {
			if random.IntN(2) == 0 {
				clear(kept)
				copy(kept, acknowledged[min(at, len(acknowledged)):])
			}
		})
	}},
	{"some sectors hold garbage", func(random *rand.Rand, _, atCut []byte, from int) []byte {
		return bySector(atCut, from, func(kept []byte, _ int) {
			if random.IntN(4) == 0 {
				for i := range kept {
					kept[i] = byte(random.Uint32())
				}
			}
		})
	}},
}

// bySector changes a copy of a log from an offset on, sector by sector.
func bySector(log []byte, from int, change func(kept []byte, at int)) []byte {
	changed := bytes.Clone(log)
	for at := from; at < len(changed); {
		end := min(at-at%sector+sector, len(changed))
		change(changed[at:end], at)
		at = end
	}
	return changed
}

// A power cut keeps what was synced and any part of what was written since. Here the
// service is stopped where it stands, twice in a row, and its files are read: what the
// second reading has more than the first was written after everything that had been
// acknowledged at the first. That more is cut off, left out in part, or turned into
// garbage; the service must come up on the rest with all that had been acknowledged.
//
// It shows that whatever follows the last acknowledged commit in the log, whole or
// torn, is either taken as a whole or ignored. It does not show that the bytes before
// it were synced in time: TestNothingIsAcknowledgedBeforeItIsSynced does. Neither shows
// what a disk does that says it has written what it has not. Readings between which
// the main file was written are not used: SQLite syncs the log before it writes there,
// and which of the two it had synced cannot be told from the files.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	random := chance(t)
	file := newDatabase(t)
	service := rig.Start(t, rig.Options{Database: file.url()})
	traffic := rig.StartTraffic(t, rig.TrafficOptions{Name: "run", Services: []string{service.URL()}})
	noticed, longest := 0, 0
	for done, tries := 0, 0; done < rounds(t); tries++ {
		require.Less(t, tries, 50*rounds(t), "the main file never stands still between two readings")
		pass(random, 5*time.Millisecond, 100*time.Millisecond)
		service.Freeze()
		acknowledged, history := file.read(t), traffic.History()
		service.Thaw()
		pass(random, time.Millisecond, 20*time.Millisecond)
		service.Freeze()
		atCut := file.read(t)
		if history.Acknowledged() > 0 && bytes.Equal(acknowledged.main, atCut.main) && sameLog(acknowledged.wal, atCut.wal) {
			from := committed(acknowledged.wal)
			longest = max(longest, committed(atCut.wal)-from)
			one := cuts[done%len(cuts)]
			left := files{atCut.main, one.cut(random, acknowledged.wal, atCut.wal, from)}
			require.Equal(t, "ok", left.integrity(t), one.name)
			restored := left.restore(t)
			requireKept(t, restored, history, one.name)
			rig.RequireHealthy(t, restored.url())
			if done < len(cuts) && wouldNotice(t, files{atCut.main, nil}, history) {
				noticed++
			}
			done++
		}
		service.Thaw()
	}
	traffic.Stop()
	t.Logf("up to %d bytes were committed after the last acknowledgement", longest)
	require.Positive(t, longest)
	require.Positive(t, noticed, "the loss of what was acknowledged was not noticed")
}

// requireKept starts a service on a database for long enough to ask it.
func requireKept(t *testing.T, file database, history rig.History, cut string) {
	t.Helper()
	service := rig.Start(t, rig.Options{Database: file.url()})
	defer service.Kill()
	history.RequireKept(t, service, cut)
}

// wouldNotice says whether this test finds fault with files that miss something.
func wouldNotice(t *testing.T, left files, history rig.History) bool {
	t.Helper()
	service := rig.Spawn(t, rig.Options{Database: left.restore(t).url()})
	defer service.Kill()
	if service.AwaitReady() != nil {
		return true
	}
	records, err := rig.ReadRecords(rig.Soon(t), service.Connect(), history)
	return err != nil || len(history.Problems(records)) > 0
}
