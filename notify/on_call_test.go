package notify_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs/escalation"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// rota is an on-call source.
type rota struct {
	people []string
	err    error
	asked  atomic.Int64
}

func (r *rota) People(context.Context) ([]string, error) {
	r.asked.Add(1)
	return r.people, r.err
}

// meeting is an on-call source that answers once another one is asked, too.
type meeting struct {
	asked sync.Once
	both  *sync.WaitGroup
}

func (m *meeting) People(context.Context) ([]string, error) {
	m.asked.Do(m.both.Done)
	m.both.Wait()
	return []string{"user:ben"}, nil
}

// The sources of the due steps are asked at the same time.
func TestOnCallSourcesAreAskedTogether(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	s := start(t, inprocess.Memory, time.Second, true, func(o *inprocess.Options) {
		o.OnCall = map[string]notify.OnCall{"one": &meeting{both: &both}, "two": &meeting{both: &both}}
		o.Store.Escalations = &escalation.Settings{OnCall: map[string]bool{"one": true, "two": true}}
	})
	people := s.people(t)
	s.verified(t, people["ben"], "ops", "ben", s.http)
	runID := raiseEscalating(t, people["maker"], "s", &api.Escalation{Steps: []api.EscalationStep{{Notify: []string{"oncall:one", "oncall:two", "oncall:one"}}}})
	eventually(t, "the step is done", func() bool {
		return strings.Contains(s.eventTexts(t, runID), `"to":[{"who":"user:ben","channels":["ops"]}]`)
	})
}

// A step notifies the people on call when it is due. A source that fails or names nobody who may decide
// does not end it in silence.
func TestAnEscalationAsksWhoIsOnCall(t *testing.T) {
	sources := map[string]*rota{
		"payments": {people: []string{"user:ben"}},
		"stale":    {people: []string{"user:ben"}, err: errors.New("status 500")},
		"broken":   {err: errors.New("status 500")},
		"empty":    {},
		"strange":  {people: []string{"user:maker", "user:nobody"}},
	}
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true, func(o *inprocess.Options) {
			settings := &escalation.Settings{OnCall: map[string]bool{}}
			o.OnCall = map[string]notify.OnCall{}
			for name, source := range sources {
				settings.OnCall[name], o.OnCall[name] = true, source
			}
			settings.OnCall["removed"] = true
			o.Store.Escalations = settings
		})
		people := s.people(t)
		for _, name := range []string{"ada", "ben"} {
			s.verified(t, people[name], "ops", name, s.http)
		}
		const (
			toAda = `{"who":"user:ada","channels":["ops"]}`
			toBen = `{"who":"user:ben","channels":["ops"]}`
		)
		for session, c := range map[string]struct {
			notify []string
			to     string
		}{
			"named":   {[]string{"oncall:payments"}, toBen},
			"last":    {[]string{"oncall:stale"}, `{"who":"oncall:stale","channels":[],"why_not":"on_call_failed"},` + toBen},
			"failed":  {[]string{"oncall:broken"}, `{"who":"oncall:broken","channels":[],"why_not":"on_call_failed"},` + toAda},
			"others":  {[]string{"oncall:broken", "user:ben"}, `{"who":"oncall:broken","channels":[],"why_not":"on_call_failed"},` + toBen},
			"nobody":  {[]string{"oncall:empty"}, `{"who":"oncall:empty","channels":[],"why_not":"nobody_on_call"},` + toAda},
			"removed": {[]string{"oncall:removed"}, `{"who":"oncall:removed","channels":[],"why_not":"on_call_failed"},` + toAda},
			"strange": {
				[]string{"oncall:strange"},
				`{"who":"user:maker","channels":[],"why_not":"may_not_decide"},{"who":"user:nobody","channels":[],"why_not":"may_not_decide"},` + toAda,
			},
		} {
			runID := raiseEscalating(t, people["maker"], session, &api.Escalation{Steps: []api.EscalationStep{{Notify: c.notify}}})
			eventually(t, session+": the step is done", func() bool { return strings.Contains(s.eventTexts(t, runID), `"request_notified"`) })
			require.Contains(t, s.eventTexts(t, runID), `"to":[`+c.to+`]`, session)
		}
		require.NotZero(t, sources["payments"].asked.Load())
		s.healthy(t)
	})
}
