package door

import (
	"time"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/lanes"
)

// costOfRow is the approximate time to decide and write a row, including its share of the commit.
const costOfRow = 100 * time.Microsecond

// preparedBytes returns the number of bytes of text that take about as long to prepare as a command
// of this size. Compiling a schema takes far longer than reading it.
func preparedBytes(s runs.Size) int {
	const aRow, schemaByte = 1024, 32
	return s.Rows*aRow + s.Bytes + s.Schemas*schemaByte
}

// laneSize returns the part of a size that a lane counts.
func laneSize(s runs.Size) lanes.Size { return lanes.Size{Rows: s.Rows, Bytes: s.Bytes} }
