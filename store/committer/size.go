package committer

import (
	"time"

	"github.com/holdpoint/holdpoint/runs"
)

const (
	// costOfRow is the approximate time to decide and write a row, including its share of the
	// commit.
	costOfRow = 100 * time.Microsecond
	// rowBytes is the number of bytes that take about as long to write as a row.
	rowBytes = 2 << 10
)

// preparedBytes returns the number of bytes of text that take about as long to prepare as a command
// of this size. Compiling a schema takes far longer than reading it.
func preparedBytes(s runs.Size) int {
	const aRow, schemaByte = 256, 32
	return s.Rows*aRow + s.Bytes + s.Schemas*schemaByte
}

// cost returns the number of rows that take about as long to write as a command of this size.
func cost(s runs.Size) int { return s.Rows + s.Bytes/rowBytes }
