package storetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

var eventTests = map[string]func(*harness){
	"events/about requests alone": func(h *harness) {
		suspension := approvals("a", "b")
		suspension.Questions = questions("q").Questions
		fence := h.started("s", "r")
		h.do(&runs.AppendEvents{RunID: "r", Fence: fence, Events: []api.JSON{api.JSON(`{"type":"step"}`), api.JSON(`{"type":"output","content":"x"}`)}})
		h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: suspension})
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		h.do(&runs.AnswerQuestion{RunID: "r", Resolution: answer("q", "left"), Actor: person})
		h.wait("other", "other", approvals("a"))
		h.create("s", "next")
		h.do(&runs.CancelRun{RunID: "r"})
		fence = h.claim("next")
		h.do(&runs.AppendEvents{RunID: "next", Fence: fence, Events: []api.JSON{api.JSON(`{"type":"step"}`)}})
		h.do(&runs.Suspend{RunID: "next", Fence: fence, Suspension: suspension})
		open := h.run("next").Requests[0]
		h.do(&runs.AcknowledgeRequest{RunID: "next", RequestID: open.RequestID, Handle: open.Handle, State: api.Acknowledged, Actor: person})
		h.do(&runs.ResolveApprovals{RunID: "next", Resolutions: allow("a"), Actor: person})
		all := h.events("s")
		for _, q := range []reads.EventQuery{{SessionID: "s"}, {RunID: "r"}, {RunID: "next"}, {RunID: "next", After: all[len(all)-2].EventID}} {
			var wanted, found []model.Event
			for _, event := range all {
				if model.AboutRequest(event.Type) && event.EventID > q.After && (q.RunID == "" || q.RunID == event.RunID) {
					wanted = append(wanted, event)
				}
			}
			require.NotEmpty(h, wanted)
			q.AboutRequests, q.Limit, q.MaxBytes = true, 2, 1<<20
			for more := true; more; {
				var part []model.Event
				part, more = h.eventsWithin(q)
				found = append(found, part...)
				q.After = part[len(part)-1].EventID
			}
			require.Equal(h, wanted, found, "%+v", q)
		}
		_, _, err := h.store.EventsWithin(h.ctx, reads.EventQuery{RunID: "nobody", AboutRequests: true, Limit: 1})
		require.Equal(h, api.CodeRunNotFound, refusal.CodeOf(err))
	},
	"events/gapless in a session, with many callers": func(h *harness) {
		const callers, each = 16, 10
		for i := range callers {
			h.create(numbered("s", i%3), numbered("r", i))
		}
		var wait sync.WaitGroup
		errs := make([]error, callers)
		for i := range callers {
			wait.Go(func() {
				for n := range each {
					_, err := h.store.Do(h.ctx, &runs.CreateRun{
						SessionID: numbered("s", i%3), SessionGiven: true, RunID: fmt.Sprintf("r-%d-%d", i, n), Input: api.JSON(`1`),
					})
					if err != nil {
						errs[i] = err
					}
				}
			})
		}
		wait.Wait()
		for i := range errs {
			require.NoError(h, errs[i])
		}
		total := 0
		for i := range 3 {
			events := h.events(numbered("s", i))
			for n, event := range events {
				require.Equal(h, int64(n+1), event.EventID)
			}
			record := h.session(numbered("s", i))
			require.Equal(h, int64(len(events)), record.Session.LastEventID)
			require.Len(h, record.QueuedRunIDs, int(record.Session.QueuedCount))
			total += len(events)
		}
		require.Equal(h, callers*(each+1)*2, total)
	},
	"events/pages": func(h *harness) {
		h.create("s", "r-1")
		h.create("s", "r-2")
		fence := h.claim("r-1")
		reply := h.do(&runs.AppendEvents{RunID: "r-1", Fence: fence, Events: []api.JSON{
			api.JSON(`{"type":"note","text":"one"}`), api.JSON(`{"type":"note","text":"two"}`),
		}})
		require.Equal(h, int64(7), reply.LastEventID)
		page, _, err := h.store.EventsWithin(h.ctx, reads.EventQuery{SessionID: "s", After: 2, Limit: 3, MaxBytes: api.MaxReplyBytes})
		require.NoError(h, err)
		require.Equal(h, []int64{3, 4, 5}, eventIDs(page))
		page, _, err = h.store.EventsWithin(h.ctx, reads.EventQuery{RunID: "r-1", Limit: 3, MaxBytes: api.MaxReplyBytes})
		require.NoError(h, err)
		require.Equal(h, []int64{1, 2, 5}, eventIDs(page))
		page, _, err = h.store.EventsWithin(h.ctx, reads.EventQuery{RunID: "r-1", After: 5, Limit: 10, MaxBytes: api.MaxReplyBytes})
		require.NoError(h, err)
		require.Equal(h, []int64{6, 7}, eventIDs(page))
		require.Equal(h, `{"type":"note","text":"two"}`, string(page[1].Body))
		_, _, err = h.store.EventsWithin(h.ctx, reads.EventQuery{SessionID: "s", After: 100, Limit: 10, MaxBytes: api.MaxReplyBytes})
		requireCode(h, api.CodeEventCursorReset, err)
		for _, q := range []reads.EventQuery{
			{SessionID: "s"}, {SessionID: "s", AboutRequests: true}, {RunID: "r-1"}, {RunID: "r-1", Outputs: true}, {RunID: "r-1", AboutRequests: true},
		} {
			q.After, q.Limit, q.MaxBytes = math.MaxInt64, 10, api.MaxReplyBytes
			_, _, err := h.store.EventsWithin(h.ctx, q)
			requireCode(h, api.CodeEventCursorReset, err)
		}
	},
	"events/the newest outputs are shown": func(h *harness) {
		h.create("s", "r")
		h.create("s", "next")
		fence := h.claim("r")
		var batch []api.JSON
		for n := range api.MaxOutputsShown + 10 {
			batch = append(batch, api.JSON(fmt.Sprintf(`{"type":"output","content":"%d","parts":[{"n":%d}]}`, n, n)), api.JSON(`{"type":"delta"}`))
		}
		h.do(&runs.AppendEvents{RunID: "r", Fence: fence, Events: batch})
		require.True(h, h.session("s").OutputsTruncated)
		require.True(h, h.run("r").View().OutputsTruncated)
		require.EqualValues(h, api.MaxOutputsShown+10, h.run("r").View().OutputsCount)
		require.EqualValues(h, api.MaxOutputsShown+10, h.session("s").View().OutputsCount)
		for _, outputs := range [][]api.OutputRecord{h.run("r").Outputs, h.session("s").Outputs} {
			require.Len(h, outputs, api.MaxOutputsShown)
			require.Equal(h, api.OutputRecord{SessionID: "s", RunID: "r", Content: "10", Parts: []api.JSON{api.JSON(`{"n":10}`)}, CreatedAtMs: clockStart}, outputs[0])
			require.Equal(h, "109", outputs[len(outputs)-1].Content)
		}
		h.do(&runs.Complete{RunID: "r", Fence: fence})
		second := h.claim("next")
		h.do(&runs.AppendEvents{RunID: "next", Fence: second, Events: []api.JSON{api.JSON(`{"type":"output","content":"last"}`)}})
		require.Len(h, h.run("r").Outputs, api.MaxOutputsShown)
		require.Len(h, h.run("next").Outputs, 1)
		outputs := h.session("s").Outputs
		require.Equal(h, "last", outputs[len(outputs)-1].Content)
		require.EqualValues(h, api.MaxOutputsShown+11, h.session("s").View().OutputsCount, "of all runs")
		list := h.runs(reads.RunQuery{Limit: 10})
		for _, listed := range list {
			require.Empty(h, listed.Outputs, "lists show how many there are")
			require.NotNil(h, listed.View().Outputs)
		}
		require.Equal(h, []int64{1, api.MaxOutputsShown + 10}, []int64{list[0].View().OutputsCount, list[1].View().OutputsCount}, "next, r")
	},
	"events/views and pages end at their bytes": func(h *harness) {
		const bytes, count = api.MaxEventBytesPerCall, 17
		h.create("s", "r")
		h.create("s", "small")
		fence := h.claim("r")
		for n := range count {
			// Eight and the short one fit into a page of outputs, but not with the other events.
			text := strings.Repeat("x", bytes-116)
			if n == 1 {
				text = "short"
			}
			h.do(&runs.AppendEvents{RunID: "r", Fence: fence, Events: []api.JSON{
				api.JSON(fmt.Sprintf(`{"type":"output","content":"%c%s"}`, 'a'+n, text)), api.JSON(`{"type":"delta"}`),
			}})
		}
		letters := func(contents ...string) (list []string) {
			for _, content := range contents {
				list = append(list, content[:1])
			}
			return list
		}
		for _, outputs := range [][]api.OutputRecord{h.run("r").Outputs, h.session("s").Outputs} {
			var contents []string
			for _, output := range outputs {
				contents = append(contents, output.Content)
			}
			require.Equal(h, []string{"j", "k", "l", "m", "n", "o", "p", "q"}, letters(contents...))
		}
		require.True(h, h.run("r").View().OutputsTruncated)
		require.True(h, h.session("s").OutputsTruncated)
		require.False(h, h.run("small").View().OutputsTruncated)

		page := func(q reads.EventQuery) (ids []int64, more bool) {
			q.Limit = max(q.Limit, 1)
			events, more := h.eventsWithin(q)
			for _, event := range events {
				ids = append(ids, event.EventID)
			}
			return ids, more
		}
		all := h.events("s")
		sizes := map[int64]int{}
		for _, event := range all {
			sizes[event.EventID] = len(event.Body)
		}
		whole := func(q reads.EventQuery) (ids []int64, pages int) {
			for more := true; more; pages++ {
				var part []int64
				part, more = page(q)
				require.NotEmpty(h, part)
				total := 0
				for _, id := range part {
					total += sizes[id]
				}
				require.LessOrEqual(h, total, max(q.MaxBytes, sizes[part[0]]))
				ids = append(ids, part...)
				q.After = part[len(part)-1]
			}
			return ids, pages
		}
		var wanted, outputs, ofRun []int64
		for _, event := range all {
			wanted = append(wanted, event.EventID)
			if event.RunID == "r" {
				ofRun = append(ofRun, event.EventID)
			}
			if event.Type == api.EventOutput {
				outputs = append(outputs, event.EventID)
			}
		}
		for _, test := range []struct {
			q      reads.EventQuery
			wanted []int64
			pages  int
		}{
			{reads.EventQuery{SessionID: "s", Limit: 1000, MaxBytes: api.MaxReplyBytes}, wanted, 3},
			{reads.EventQuery{RunID: "r", Limit: 1000, MaxBytes: api.MaxReplyBytes}, ofRun, 3},
			{reads.EventQuery{RunID: "r", Outputs: true, Limit: 1000, MaxBytes: api.MaxReplyBytes}, outputs, 2},
			{reads.EventQuery{RunID: "r", Outputs: true, Limit: 2, MaxBytes: api.MaxReplyBytes}, outputs, 9},
			// Never less than one, however large.
			{reads.EventQuery{RunID: "r", Outputs: true, Limit: 1000, MaxBytes: 1}, outputs, count},
			{reads.EventQuery{SessionID: "s", Limit: 1, MaxBytes: api.MaxReplyBytes}, wanted, len(wanted)},
		} {
			ids, pages := whole(test.q)
			require.Equal(h, test.wanted, ids, "%+v", test.q)
			require.Equal(h, test.pages, pages, "%+v", test.q)
		}
		none, more := page(reads.EventQuery{RunID: "small", Outputs: true, MaxBytes: 1})
		require.Empty(h, none)
		require.False(h, more)
		for _, unknown := range []reads.EventQuery{{SessionID: "nobody"}, {RunID: "nobody"}, {RunID: "a b", Outputs: true}} {
			_, _, err := h.store.EventsWithin(h.ctx, unknown)
			require.Contains(h, []api.Code{api.CodeSessionNotFound, api.CodeRunNotFound}, refusal.CodeOf(err))
		}
	},
	"events/a page is the same however much of it waits for a turn": func(h *harness) {
		random := rand.New(rand.NewPCG(1, 2))
		fence := h.started("s", "r")
		for range 4 {
			events := make([]api.JSON, 10)
			for i := range events {
				events[i] = api.JSON(fmt.Sprintf(`{"type":"step","text":"%s"}`, strings.Repeat("x", random.IntN(20_000))))
			}
			h.do(&runs.AppendEvents{RunID: "r", Fence: fence, Events: events})
		}
		all := h.events("s")
		for range 40 {
			after := random.IntN(len(all))
			q := reads.EventQuery{SessionID: "s", After: int64(after), Limit: 1 + random.IntN(len(all)), MaxBytes: random.IntN(500_000)}
			fit, bytes := 0, 0
			for ; after+fit < len(all) && fit < q.Limit; fit++ {
				if bytes += len(all[after+fit].Body); fit > 0 && bytes > q.MaxBytes {
					break
				}
			}
			events, more := h.eventsWithin(q)
			require.Equal(h, all[after:after+fit], events, "%+v", q)
			require.Equal(h, after+fit < len(all), more, "%+v", q)
		}
	},
	"events/a long page waits for its turn and a short one does not": func(h *harness) {
		h.create("s", "r")
		h.do(&runs.AppendEvents{RunID: "r", Fence: h.claim("r"), Events: []api.JSON{
			api.JSON(`{"type":"step","text":"` + strings.Repeat("x", cpulimit.Bytes) + `"}`), api.JSON(`{"type":"step"}`),
		}})
		all := h.events("s")
		var ends []func()
		for range max(runtime.GOMAXPROCS(0)/2, 1) {
			end, err := cpulimit.Begin(h.ctx)
			require.NoError(h, err)
			ends = append(ends, end)
		}
		long := reads.EventQuery{SessionID: "s", Limit: 100, MaxBytes: api.MaxReplyBytes}
		short := reads.EventQuery{SessionID: "s", Limit: 3, MaxBytes: api.MaxReplyBytes}
		events, more, err := h.store.EventsWithin(h.ctx, short)
		require.NoError(h, err)
		require.Equal(h, all[:3], events)
		require.True(h, more)
		leaving, leave := context.WithTimeout(h.ctx, 20*time.Millisecond)
		defer leave()
		_, _, err = h.store.EventsWithin(leaving, long)
		require.ErrorIs(h, err, context.DeadlineExceeded)
		read := make(chan []model.Event)
		go func() {
			events, _, _ := h.store.EventsWithin(h.ctx, long) // without events after an error
			read <- events
		}()
		for _, end := range ends {
			end()
		}
		require.Equal(h, all, <-read)
	},
	"events/notices come after the commit": func(h *harness) {
		// A notice without a session only says that some may have been lost.
		notices := make(chan reads.Notice, 100)
		unsubscribe := h.store.Subscribe(func(notice reads.Notice) {
			if notice.SessionID != "" {
				notices <- notice
			}
		})
		h.create("s", "r")
		notice := <-notices
		var events []model.Event
		for _, event := range notice.Events {
			events = append(events, *event)
		}
		require.Empty(h, Diff(h.events("s"), events))
		notice.Events = nil
		require.Equal(h, reads.Notice{SessionID: "s", Life: model.MarkOf(events[0].Hash()), FirstEventID: 1, LastEventID: 2, Claimable: []reads.Claimable{
			{RunID: "r", SessionID: "s", AgentID: model.DefaultAgentID, ClaimableAtMs: clockStart},
		}}, notice)
		unsubscribe()
		h.create("s", "r-2")
		require.Len(h, h.events("s"), 4)
	},
}

func eventIDs(events []model.Event) []int64 {
	ids := make([]int64, len(events))
	for i := range events {
		ids[i] = events[i].EventID
	}
	return ids
}

var bigText = strings.Repeat(`many "words" \ and ünïcödé 🙂 `, 12_000)
