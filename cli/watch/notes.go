package watch

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

const (
	// notesEvery is how often the notes about requests are read.
	notesEvery = time.Minute
	// notedRequests is the maximum number of approvals, and of questions, of which they are read.
	notedRequests = 500
)

// noted has the notes of the lists, by handle. The stream does not have them.
type noted map[string]*api.PendingExplanation

// readNotes reads the notes, if it is time to. After a failure, the notes stay away until the next time.
func (s *screen) readNotes() tea.Cmd {
	if !s.live || len(s.items) == 0 || s.now().Before(s.notesDue) {
		return nil
	}
	s.notesDue = s.now().Add(notesEvery)
	ctx, opened := s.ctx, s.client
	return func() tea.Msg {
		notes, n := noted{}, 0
		for item, err := range opened.AllApprovals(ctx, client.PendingListParams{}) {
			if n++; err != nil || n > notedRequests {
				break
			}
			notes[item.Request.Handle] = item.Explain
		}
		n = 0
		for item, err := range opened.AllQuestions(ctx, client.PendingListParams{}) {
			if n++; err != nil || n > notedRequests {
				break
			}
			notes[item.Request.Handle] = item.Explain
		}
		return notes
	}
}

// mark returns what stands in the list before a request without a worker.
func (n noted) mark(handle string) string {
	if note := n[handle]; note != nil && note.NoWorkerSinceMs != 0 {
		return "(no worker) "
	}
	return ""
}

// text returns the note about the selected request, "" for none.
func (n noted) text(one *item) string {
	if one == nil || n[one.handle()] == nil {
		return ""
	}
	return n[one.handle()].Text
}
