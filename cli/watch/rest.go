package watch

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// The list holds at most about so many requests and bytes of inputs. The others follow when half of
// these are decided.
const (
	mostRequests = 5_000
	mostBytes    = 64 << 20
	// restEvery is how long after a failure the rest is read again.
	restEvery = 10 * time.Second
)

// rest is what a snapshot that was cut off leaves out.
type rest struct {
	// cut says that requests wait that are not in the list, and below at how many of the list they are
	// read again.
	cut   bool
	below int
	due   time.Time
	// snapshots counts the snapshots: what was read for an earlier one is dropped.
	snapshots int
	// reading says that the lists are being read, and since are the events that have come meanwhile: a request
	// that they settle may still be open in what was read.
	reading bool
	since   []*api.RunEventEntry
}

// restRead is what the lists have returned.
type restRead struct {
	snapshot int
	inbox    api.InboxView
	// cut says that the lists have more.
	cut bool
	err error
}

// readRest reads the lists, if the list on the screen is cut off and it is time to.
func (s *screen) readRest() tea.Cmd {
	if !s.live || !s.rest.cut || s.rest.reading || len(s.items) > s.rest.below || s.now().Before(s.rest.due) {
		return nil
	}
	s.rest.reading, s.rest.since = true, nil
	ctx, opened, read := s.ctx, s.client, restRead{snapshot: s.rest.snapshots}
	return func() tea.Msg {
		size := 0
		for view, err := range opened.AllApprovals(ctx, client.PendingListParams{}) {
			if read.err = err; err != nil {
				return read
			}
			if size += len(view.Request.Input); len(read.inbox.PendingApprovals) == mostRequests || size > mostBytes {
				read.cut = true
				break
			}
			read.inbox.PendingApprovals = append(read.inbox.PendingApprovals, view)
		}
		size = 0
		for view, err := range opened.AllQuestions(ctx, client.PendingListParams{}) {
			if read.err = err; err != nil {
				return read
			}
			if size += len(view.Request.Payload) + len(view.Request.ResponseSchema); len(read.inbox.PendingQuestions) == mostRequests || size > mostBytes {
				read.cut = true
				break
			}
			read.inbox.PendingQuestions = append(read.inbox.PendingQuestions, view)
		}
		return read
	}
}

// takeRest adds what the lists have returned. What stands in the list does not move.
func (s *screen) takeRest(read restRead) {
	if read.snapshot != s.rest.snapshots {
		return
	}
	since := s.rest.since
	s.rest.reading, s.rest.since, s.rest.due = false, nil, s.now().Add(restEvery)
	if read.err != nil {
		s.fail(read.err)
		return
	}
	known := map[string]bool{}
	for i := range s.items {
		known[s.items[i].handle()] = true
	}
	for _, one := range itemsOf(&read.inbox) {
		if !known[one.handle()] {
			s.items = append(s.items, one)
		}
	}
	for _, entry := range since {
		s.items, _ = apply(s.items, entry)
	}
	s.rest.cut, s.rest.below = read.cut, len(s.items)/2
	s.moved()
}
