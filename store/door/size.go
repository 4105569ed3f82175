package door

import (
	"time"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/lanes"
)

// costOfRow is the approximate time to decide and write a row, including its share of the commit.
const costOfRow = 100 * time.Microsecond

// preparedBytes returns the number of bytes of text that take about as long to prepare as a command
// of this size. Compiling a schema takes far longer than reading it. Rows that the decision finds by
// itself count nothing: a stop prepares nothing, so it waits for nobody's work.
func preparedBytes(s runs.Size) int {
	const aRow, schemaByte = 1024, 32
	return s.NewRows*aRow + s.Bytes + s.Schemas*schemaByte
}

// laneSize returns the part of a size that a lane counts.
func laneSize(s runs.Size) lanes.Size { return lanes.Size{Rows: s.Rows, Bytes: s.Bytes} }
