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
	// heapRoom is how large the heap may become before it is collected. What lives is a few
	// MiB, and the runtime, left alone, would collect whenever that has doubled.
	heapRoom = 128 << 20
	// memoryParts is the part of a container's memory that heapRoom may take: one of so many.
	memoryParts = 4
	// leastGrowth is the runtime's own GC percent.
	leastGrowth = 100
)

// containerLimit is where Linux shows the memory limit of a container (cgroup v2).
const containerLimit = "/sys/fs/cgroup/memory.max"

// collectLess lets the heap grow to heapRoom between collections, and to twice of what lives
// beyond that. It does nothing when GOGC is set. GOMEMLIMIT holds in any case.
func collectLess() {
	if _, set := os.LookupEnv("GOGC"); set {
		return
	}
	text, err := os.ReadFile(containerLimit)
	if err != nil {
		text = nil // there is no container
	}
	(&heapGrowth{room: roomWithin(string(text)), percent: leastGrowth}).watch()
}

// roomWithin returns how large the heap may become in a container with this limit; the text
// is "max" where there is none.
func roomWithin(limit string) int64 {
	bytes, err := strconv.ParseInt(strings.TrimSpace(limit), 10, 64)
	if err != nil {
		return heapRoom
	}
	return min(heapRoom, bytes/memoryParts)
}

// heapGrowth adjusts the GC percent after each collection.
type heapGrowth struct {
	room    int64
	percent int
}

// cycle is collected by the next collection.
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

// growth returns the GC percent with which a heap of which so many bytes live, beside
// stacks and globals, is collected at room. The runtime takes the percent of all three.
func growth(room, live, others int64) int {
	const most = 10_000
	if live <= 0 {
		return leastGrowth // nothing has been collected yet
	}
	return int(min(max((room-live)*100/(live+others), leastGrowth), most))
}
