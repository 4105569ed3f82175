package committer

import (
	"time"

	"github.com/holdpoint/holdpoint/runs"
)

const (
	// costOfRow is about how long a row takes to decide and to write, with its share of the commit.
	costOfRow = 100 * time.Microsecond
	// rowBytes is how many bytes take about as long to write as a row.
	rowBytes = 2 << 10
)

// preparedBytes returns how many bytes of text take about as long to prepare as a command of that size.
// Compiling a schema takes far longer than reading it.
func preparedBytes(s runs.Size) int {
	const aRow, schemaByte = 256, 32
	return s.Rows*aRow + s.Bytes + s.Schemas*schemaByte
}

// cost returns how many rows take about as long to write as a command of that size.
func cost(s runs.Size) int { return s.Rows + s.Bytes/rowBytes }
