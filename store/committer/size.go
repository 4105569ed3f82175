package committer

import (
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// size says roughly how much a command makes a batch read or write.
type size struct {
	rows, bytes int
	// schemas are the bytes of JSON Schemas among bytes.
	schemas int
}

// costOfRow is about how long a row takes to decide and to write, with its share of the commit.
const costOfRow = 100 * time.Microsecond

// prepared returns how many bytes of text take about as long to prepare as the command. Compiling a
// schema takes far longer than reading it.
func (s size) prepared() int {
	const aRow, schemaByte = 256, 32
	return s.rows*aRow + s.bytes + s.schemas*schemaByte
}

// sizeOf returns the size of what a command brings. A command that brings nothing large is
// one row without bytes.
func sizeOf(command runs.Command) size {
	s := size{rows: 1}
	switch c := runs.Given(command).(type) {
	case *runs.CreateRun:
		s.bytes = len(c.Input) + len(c.Metadata)
		if c.Suspend != nil {
			s.addSuspension(c.Suspend)
		}
	case *runs.Suspend:
		s.addSuspension(&c.Suspension)
	case *runs.AppendEvents:
		s.rows = len(c.Events)
		for _, event := range c.Events {
			s.bytes += len(event)
		}
	case *runs.EndSession, *runs.InterruptSession, *runs.DrainSession:
		s.rows = runs.DrainChunk
	case *runs.Complete:
		s.bytes = len(c.Output)
	case *runs.Heartbeat:
		s.bytes = len(c.Checkpoint)
	case *runs.Release:
		s.bytes = len(c.Checkpoint)
	case *runs.ResolveApprovals:
		s.rows = max(len(c.Resolutions), 1)
		for i := range c.Resolutions {
			s.bytes += len(c.Resolutions[i].UpdatedInput)
		}
	}
	return s
}

func (s *size) addSuspension(suspension *api.Suspension) {
	s.rows += len(suspension.Approvals) + len(suspension.Questions)
	s.bytes += len(suspension.Checkpoint)
	for i := range suspension.Approvals {
		s.bytes += len(suspension.Approvals[i].Input) + len(suspension.Approvals[i].InputSchema)
		s.schemas += len(suspension.Approvals[i].InputSchema)
	}
	for i := range suspension.Questions {
		s.bytes += len(suspension.Questions[i].ResponseSchema)
		s.schemas += len(suspension.Questions[i].ResponseSchema)
	}
}
