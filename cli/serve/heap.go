package serve

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

const (
	// heapRoom is the heap size up to which garbage is not collected. Live data is a few
	// MiB, and by default the runtime collects whenever that has doubled.
	heapRoom = 128 << 20
	// memoryParts limits heapRoom to this fraction of a container's memory: one quarter.
	memoryParts = 4
	// leastGrowth is the runtime's default GC percentage.
	leastGrowth = 100
)

// containerLimit is the file with a container's memory limit on Linux (cgroup v2).
const containerLimit = "/sys/fs/cgroup/memory.max"

// collectLess lets the heap grow to heapRoom between collections, or to twice the live data
// if that is more. It does nothing if GOGC is set. GOMEMLIMIT applies in any case.
func collectLess() {
	if _, set := os.LookupEnv("GOGC"); set {
		return
	}
	text, err := os.ReadFile(containerLimit)
	if err != nil {
		text = nil // not in a container
	}
	(&heapGrowth{room: roomWithin(string(text)), percent: leastGrowth}).watch()
}

// roomWithin returns how large the heap may grow in a container with this limit; the text
// is "max" without a limit.
func roomWithin(limit string) int64 {
	bytes, err := strconv.ParseInt(strings.TrimSpace(limit), 10, 64)
	if err != nil {
		return heapRoom
	}
	return min(heapRoom, bytes/memoryParts)
}

// heapGrowth adjusts the GC percentage after each collection.
type heapGrowth struct {
	room    int64
	percent int
}

// cycle is garbage that each collection frees.
type cycle struct{ _ *byte }

func (h *heapGrowth) watch() {
	h.adjust()
	runtime.AddCleanup(&cycle{}, (*heapGrowth).watch, h)
}

func (h *heapGrowth) adjust() {
	read := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(read)
	var sizes [3]int64
	for i := range read {
		sizes[i] = int64(read[i].Value.Uint64())
	}
	percent := growth(h.room, sizes[0], sizes[1]+sizes[2])
	// Setting it stops the world for a moment.
	if percent > h.percent+h.percent/10 || percent < h.percent-h.percent/10 {
		debug.SetGCPercent(percent)
		h.percent = percent
	}
}

// growth returns the GC percentage at which a heap with that many live bytes is collected
// at room. The runtime applies the percentage to live heap, stacks and globals together.
func growth(room, live, others int64) int {
	const most = 10_000
	if live <= 0 {
		return leastGrowth // before the first collection
	}
	return int(min(max((room-live)*100/(live+others), leastGrowth), most))
}
