package stream

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// viewing is who has which requests open, as a poll read it. An inbox shows it. The log does not have it, and nothing
// depends on it.
type viewing struct {
	number  int64 // of the change, from 1
	viewers []reads.Viewer
}

// viewingTimeout bounds a read, because events wait for it.
const viewingTimeout = 500 * time.Millisecond

// readViewing reads who has which requests open, if a follower shows it, and wakes the followers after a change.
// Nobody counts as viewing while that is not read.
func (in *inbox) readViewing(ctx context.Context) (err error) {
	var viewers []reads.Viewer
	if in.hub.options.Viewers != nil && in.showsViewing.Load() > 0 {
		timed, cancel := context.WithTimeout(ctx, viewingTimeout)
		defer cancel()
		viewers, err = in.hub.options.Viewers(timed, in.clock.nowMs())
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if !slices.Equal(viewers, in.viewing.viewers) {
		in.viewing = viewing{number: in.viewing.number + 1, viewers: viewers}
		in.window.wake()
	}
	return err
}

// viewed returns the requests that others have open within a scope.
func viewed(viewers []reads.Viewer, scope *reads.Scope, principal string) api.ViewingView {
	view, at := api.ViewingView{Requests: []api.ViewedRequest{}}, map[string]int{}
	for i := range viewers {
		one := &viewers[i]
		if one.Principal == principal || !scope.Fits(one.SessionID, one.AgentID) {
			continue
		}
		if _, known := at[one.Handle]; !known {
			at[one.Handle] = len(view.Requests)
			view.Requests = append(view.Requests, api.ViewedRequest{Handle: one.Handle})
		}
		request := &view.Requests[at[one.Handle]]
		request.Viewing = append(request.Viewing, one.Principal)
	}
	return view
}

// viewed implements inboxRecipient.
func (f *inboxFrameWriter) viewed(now viewing, scope *reads.Scope) (wrote bool, err error) {
	if f.with.Viewing == nil || now.number == f.viewing {
		return false, nil
	}
	f.viewing = now.number
	view := viewed(now.viewers, scope, *f.with.Viewing)
	if len(view.Requests) == 0 && f.viewingText == nil {
		return false, nil // the reader has nobody there
	}
	text, err := appendFrame(nil, "", NameViewing, view)
	if err != nil || bytes.Equal(text, f.viewingText) {
		return false, err
	}
	f.viewingText = text
	return true, f.writeFrame(text, nil)
}

// viewed implements inboxRecipient.
func (s *inboxSinkWriter) viewed(viewing, *reads.Scope) (wrote bool, err error) { return false, nil }
