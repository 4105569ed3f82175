package watch

import (
	"iter"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// At most so many approvals, and as many questions, are read, and so many bytes of each. The others follow when half of
// the list is decided.
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
		if read.inbox.PendingApprovals, read.cut, read.err = collect(opened.AllApprovals(ctx, client.PendingListParams{})); read.err != nil {
			return read
		}
		var cut bool
		read.inbox.PendingQuestions, cut, read.err = collect(opened.AllQuestions(ctx, client.PendingListParams{}))
		read.cut = read.cut || cut
		return read
	}
}

// collect reads a list up to the bounds. cut says that it has more.
func collect[T any](list iter.Seq2[T, error]) (found []T, cut bool, err error) {
	size := 0
	for one, err := range list {
		if err != nil {
			return nil, false, err
		}
		text, err := json.Marshal(one)
		if err != nil {
			return nil, false, err
		}
		if size += len(text); len(found) == mostRequests || size > mostBytes {
			return found, true, nil
		}
		found = append(found, one)
	}
	return found, false, nil
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
