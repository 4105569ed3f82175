package serve

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestHeapGrowsToItsRoom(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		room, live, others int64
		want               int
	}{
		{128 * mib, 8 * mib, 0, 1500},
		{128 * mib, 8 * mib, 8 * mib, 750},
		{128 * mib, 100 * mib, 0, 100}, // as the runtime does
		{128 * mib, 4096 * mib, 64 * mib, 100},
		{128 * mib, 1, 0, 10_000},
		{128 * mib, 0, mib, 100}, // before the first collection
		{16 * mib, 12 * mib, 0, 100},
	} {
		if got := growth(c.room, c.live, c.others); got != c.want {
			t.Errorf("growth(%d, %d, %d) = %d, want %d", c.room, c.live, c.others, got, c.want)
		}
	}
}

func TestHeapRoomOfAContainer(t *testing.T) {
	for limit, want := range map[string]int64{"": heapRoom, "max\n": heapRoom, "1073741824\n": heapRoom, "67108864\n": 16 << 20} {
		if got := roomWithin(limit); got != want {
			t.Errorf("roomWithin(%q) = %d, want %d", limit, got, want)
		}
	}
}

// After a collection the GC percentage fits the live data.
func TestHeapIsCollectedLess(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(leastGrowth))
	runtime.GC()
	h := &heapGrowth{room: 1 << 40, percent: leastGrowth}
	h.adjust()
	if got := debug.SetGCPercent(leastGrowth); got <= leastGrowth || got != h.percent {
		t.Errorf("the GC percent is %d with much room, want %d", got, h.percent)
	}
	h.room = 0
	h.adjust()
	if got := debug.SetGCPercent(leastGrowth); got != leastGrowth {
		t.Errorf("the GC percent is %d without room, want %d", got, leastGrowth)
	}
}
