package notify_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// deaf is a channel that loses presses.
type deaf struct{ buttoned }

func (d *deaf) Listen(_ context.Context, _ func(context.Context, *notify.Press) notify.PressReply) error {
	d.press = func(context.Context, *notify.Press) notify.PressReply { return notify.PressReply{} }
	return nil
}

func arrives(t *testing.T, planted bool) error {
	t.Helper()
	if planted {
		return pressesDeny(t, &deaf{}, false)
	}
	return pressesDeny(t, &buttoned{}, false)
}

// linkless is a board whose messages have no links.
type linkless struct{ *board }

func (linkless) Links() api.LinkMode { return api.LinkNone }

// opensRequest returns an error unless there is a message, and each has a link.
func opensRequest(texts []string) error {
	if len(texts) == 0 {
		return errors.New("there is no message")
	}
	for _, text := range texts {
		if !linkLine.MatchString(text) {
			return fmt.Errorf("nothing opens the request: %s", text)
		}
	}
	return nil
}

func links(t *testing.T, planted bool) error {
	t.Helper()
	_, b := told(t, planted, func(b *board) notify.Channel { return linkless{b} })
	return opensRequest(b.of("ada"))
}

// stale is a reader that finds a request as it was.
type stale struct {
	notify.Reader
	was *model.DecidedRequest
}

func (r stale) DecisionByHandle(context.Context, string) (*model.DecidedRequest, error) {
	return r.was, nil
}

// staysQuiet returns an error if somebody gets a message about a settled request.
func staysQuiet(texts []string, failure error) error {
	switch {
	case len(texts) > 0:
		return fmt.Errorf("it is settled: %q", texts)
	case !errors.Is(failure, runs.ErrNotSent):
		return fmt.Errorf("it is settled, and the message is not dropped: %w", failure)
	}
	return nil
}

func staysSilent(t *testing.T, planted bool) error {
	t.Helper()
	s := startReplicas(t, inprocess.Memory)
	reader := storeAs[notify.Reader](t, s.Store)
	if planted {
		was, err := reader.DecisionByHandle(t.Context(), s.open.Handle)
		require.NoError(t, err)
		reader = stale{reader, was}
	}
	s.send = s.senderOf(t, storeAs[notify.Store](t, s.Store), reader, s.board)
	s.settle(t)
	_, err := s.send.Send(t.Context(), s.message(t, "user:ada", 0))
	return staysQuiet(s.board.of("ada"), err)
}

// notified returns an error unless a step of an escalation notifies somebody.
func notified(to []runs.Recipient) error {
	if !slices.ContainsFunc(to, func(one runs.Recipient) bool { return one.Channel != "" }) {
		return fmt.Errorf("nobody is notified: %v", to)
	}
	return nil
}

func asksSomebody(t *testing.T, planted bool) error {
	t.Helper()
	admins := []*auth.Identity{{Principal: "user:root", Role: api.RoleAdmin}}
	if planted {
		admins = nil
	}
	s := notify.New(notify.Options{
		Store: manyPeople{}, Channels: map[string]notify.Channel{"board": newBoard()}, OnCall: map[string]notify.OnCall{"empty": &rota{}},
		Reader: &oneRequest{request: model.Request{
			Handle: "h", Kind: model.KindApproval, CreatedAtMs: 1, EscalationState: api.JSON(`{"next_at_ms":1}`),
			Body: api.JSON(`{"escalation":{"steps":[{"after_ms":0,"notify":["oncall:empty"]}]}}`),
		}},
		Deciders:   func(context.Context, *model.Run, *model.Request) ([]string, error) { return []string{"user:root"}, nil },
		Identities: func(context.Context) ([]*auth.Identity, error) { return admins, nil },
	})
	advance := &runs.AdvanceRequest{Handle: "h"}
	require.NoError(t, s.Recipients(t.Context(), advance))
	require.Len(t, advance.Steps, 1)
	return notified(advance.Steps[0].To)
}

// scan does what a scanner of mail may do with an address: it opens it, and presses what it finds there with values from
// the address.
func (s *service) scan(t *testing.T, address string) {
	t.Helper()
	found, err := url.Parse(address)
	require.NoError(t, err)
	for range 10 {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			require.Equal(t, http.StatusOK, s.load(t, method, address, nil).status)
		}
	}
	for _, decision := range []string{"", "allow", "deny"} {
		s.load(t, http.MethodPost, found.Path, url.Values{"code": {found.Query().Get("code")}, "decision": {decision}})
	}
}

// undecided returns an error unless an approval is open.
func undecided(request *model.Request) error {
	if !request.Open() {
		return fmt.Errorf("it was %s", request.Outcome)
	}
	return nil
}

func scans(t *testing.T, planted bool) error {
	t.Helper()
	s := startLinked(t, inprocess.Memory)
	mail, runID := s.asks(t, "s")
	address := mail.path
	if planted {
		address += "?" + url.Values{"code": {mail.code}}.Encode()
	} else {
		require.NotContains(t, strings.TrimPrefix(address, notify.LinkPath), "?")
	}
	s.scan(t, address)
	record := s.recordOf(t, runID)
	return undecided(&record.Requests[0])
}
