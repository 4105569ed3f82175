package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// TestPlantedDefectsOfMessagesAreFound: what the tests of messages require holds, and does not hold with a defect.
func TestPlantedDefectsOfMessagesAreFound(t *testing.T) {
	t.Parallel()
	for name, holds := range map[string]func(t *testing.T, planted bool) error{
		"every message is the first of a flood": floods,
		"a button has another request's row":    presses,
		"a press never arrives":                 arrives,
		"withdrawals are dropped":               withdraws,
		"a message has no link":                 links,
		"a settled request is read as open":     staysSilent,
		"nobody stands in for an empty list":    asksSomebody,
		"the code is in the link":               scans,
		"a restart starts the clock again":      reminds,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, holds(t, false))
			require.Error(t, holds(t, true))
		})
	}
}

// TestARestartKeepsTheClockOfAReminder: the steps of an escalation are due at their moments, however often the service
// starts meanwhile.
func TestARestartKeepsTheClockOfAReminder(t *testing.T) {
	t.Parallel()
	require.NoError(t, reminds(t, false))
}

// uncounted numbers every message as the first one.
type uncounted struct{ notify.Store }

func (uncounted) CountNotice(context.Context, string, *notify.NoticeToCount, int64) (number, holdMs int64, err error) {
	return 1, 0, nil
}

// floodIsBounded returns an error unless a flood became the most messages about one request, and one that counts the others.
func floodIsBounded(single, counts int) error {
	if single != api.FloodMessages || counts != 1 {
		return fmt.Errorf("a flood was %d messages about one request and %d that count", single, counts)
	}
	return nil
}

func floods(t *testing.T, planted bool) error {
	t.Helper()
	s := raiseFlood(t, func(stored notify.Store) notify.Store {
		if planted {
			return uncounted{stored}
		}
		return stored
	})
	for i := range s.record.Requests {
		if err := s.attempt(t, s.record.Requests[i].RequestID, 1); !errors.Is(err, runs.ErrNotSent) {
			require.NoError(t, err)
		}
	}
	return floodIsBounded(s.channel.count())
}

// misdirected returns rows about another request.
type misdirected struct {
	notify.Store
	handle string
}

func (m misdirected) LinkByHash(ctx context.Context, hash string) (*notify.LinkRow, error) {
	row, err := m.Store.LinkByHash(ctx, hash)
	if row != nil {
		row.RequestHandle = m.handle
	}
	return row, err
}

// buttoned is a channel that keeps the secret of the last message's buttons.
type buttoned struct {
	contentless
	secret string
}

func (b *buttoned) Send(_ context.Context, _ string, m *notify.Message) error {
	b.secret = m.Buttons.Secret
	return nil
}

func (b *buttoned) pressDeny(ctx context.Context) {
	b.press(ctx, &notify.Press{Address: slackAda, Secret: b.secret, Behavior: api.BehaviorDeny})
}

// pressed is a channel whose last message can be denied by a press.
type pressed interface {
	notify.Channel
	pressDeny(ctx context.Context)
}

// pressRecorded returns an error unless a resolution is what a press of Ada's in Slack records. It is nil while the request is
// open.
func pressRecorded(made *api.Resolution, outcome api.Outcome) error {
	switch {
	case made == nil:
		return errors.New("the request is open")
	case made.Outcome != outcome, made.ResolvedBy != "user:ada", made.Via != "slack":
		return fmt.Errorf("it was %s by %s, via %s", made.Outcome, made.ResolvedBy, made.Via)
	}
	return nil
}

func presses(t *testing.T, planted bool) error {
	t.Helper()
	return pressesDeny(t, &buttoned{}, planted)
}

// pressesDeny presses "Deny" under a message. misdirects has the button find another request.
func pressesDeny(t *testing.T, channel pressed, misdirects bool) error {
	t.Helper()
	s := &service{database: inprocess.Memory, log: &safeBuffer{}}
	s.Service = inprocess.Start(t, s.database, inprocess.Options{Logger: s.log.logger()})
	stored := storeAs[notify.Store](t, s.Store)
	reader := storeAs[notify.Reader](t, s.Store)
	_, err := stored.AddSubscription(t.Context(), &notify.Address{
		AddressID: "address_ada", Principal: "user:ada", Channel: "slack", Address: slackAda, VerifiedAtMs: 1, CreatedAtMs: 1,
	}, auth.EntryBy(nil, 1, api.AuditEvent{Type: api.AuditAddressAdded}))
	require.NoError(t, err)
	runID := raise(t, s.Connect(), "s", "a", "b")
	record := s.recordOf(t, runID)
	if misdirects {
		stored = misdirected{stored, record.Requests[1].Handle}
	}
	sender := notify.New(notify.Options{
		Store: stored, Reader: reader, Channels: map[string]notify.Channel{"slack": channel}, NewID: runs.NewID,
		NowMs: func() int64 { return time.Now().UnixMilli() }, Logger: s.log.logger(),
		Deciders: func(context.Context, *model.Run, *model.Request) ([]string, error) { return []string{"user:ada"}, nil },
		ByLink: func(context.Context, string, *model.Run) (*auth.Identity, error) {
			return &auth.Identity{Principal: "user:ada"}, nil
		},
		Decide: func(_ context.Context, command runs.Command) error {
			_, err := s.Store.Do(t.Context(), command)
			return err
		},
	})
	require.NoError(t, sender.Listeners()[0](t.Context()))
	asked := &record.Requests[0]
	payload, err := json.Marshal(model.PersonNotice{RequestHandle: asked.Handle, RequestID: asked.RequestID, Principal: "user:ada", Channel: "slack"})
	require.NoError(t, err)
	_, err = sender.Send(t.Context(), &model.Effect{
		EffectID: model.NoticeEffectID("slack", asked.Handle, "user:ada", 0), Kind: api.EffectNotify, Payload: payload, Attempts: 1,
	})
	require.NoError(t, err)
	channel.pressDeny(t.Context())
	record = s.recordOf(t, runID)
	if record.Requests[0].Open() {
		return pressRecorded(nil, api.OutcomeDenied)
	}
	made := record.Requests[0].Recorded()
	return pressRecorded(&made, api.OutcomeDenied)
}

// forgetful is a board that withdraws nothing.
type forgetful struct{ *board }

func (forgetful) Withdraw(context.Context, string, *notify.SentMessage, *notify.Message) error {
	return nil
}

// outcomeShown returns an error unless the messages that a person sees have an outcome once.
func outcomeShown(texts []string, outcome string) error {
	if all := strings.Join(texts, "|"); strings.Count(all, outcome) != 1 {
		return fmt.Errorf("%q is not shown once: %s", outcome, all)
	}
	return nil
}

// told starts replicas whose channel is a board, behind the planted one if there is one, and sends ada a message.
func told(t *testing.T, isPlanted bool, planted func(*board) notify.Channel) (*replicas, *board) {
	t.Helper()
	b := newBoard()
	var channel notify.Channel = b
	if isPlanted {
		channel = planted(b)
	}
	s := startReplicas(t, inprocess.Memory, channel)
	s.sends(t, s.message(t, "user:ada", 0))
	return s, b
}

func withdraws(t *testing.T, planted bool) error {
	t.Helper()
	s, b := told(t, planted, func(b *board) notify.Channel { return forgetful{b} })
	s.settle(t)
	s.sends(t, s.withdrawal(t))
	return outcomeShown(b.of("ada"), "denied")
}

// stepsMs are the moments of an escalation's steps.
var stepsMs = []int64{10 * time.Minute.Milliseconds(), time.Hour.Milliseconds()}

// restarted counts the time until the first step from its own start.
type restarted struct {
	store.Store
	startedMs int64
	clock     *atomic.Int64
}

func (r restarted) DueEffects(ctx context.Context, limit int) ([]reads.DueEffect, error) {
	if r.clock.Load() < r.startedMs+stepsMs[0] {
		return nil, nil
	}
	return r.Store.DueEffects(ctx, limit)
}

func reminds(t *testing.T, planted bool) error {
	t.Helper()
	const raisedMs = 1_750_000_000_000
	var clock atomic.Int64
	clock.Store(raisedMs)
	database := "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db")
	open := func() store.Store {
		opened, err := store.Open(t.Context(), database, store.Options{NowMs: clock.Load, NotifyAfter: time.Second})
		require.NoError(t, err)
		if planted {
			return restarted{opened, clock.Load(), &clock}
		}
		return opened
	}
	s := open()
	defer func() { require.NoError(t, s.Close()) }()
	do := func(command runs.Command) runs.Reply {
		reply, err := s.Do(t.Context(), command)
		require.NoError(t, err)
		return reply
	}
	escalation := &api.Escalation{}
	for _, afterMs := range stepsMs {
		escalation.Steps = append(escalation.Steps, api.EscalationStep{AfterMs: afterMs, Notify: []string{"role:operator"}})
	}
	do(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", AgentID: "coder", Input: api.JSON(`1`), Suspend: &api.Suspension{
		Approvals: []api.ApprovalRequest{{ID: "a", ToolCallID: "a", ToolName: "deploy", Input: api.JSON(`1`), Escalation: escalation}},
	}})
	for step, afterMs := range stepsMs {
		require.NoError(t, s.Close())
		clock.Store(raisedMs + afterMs/2)
		s = open()
		clock.Store(raisedMs + afterMs - 1)
		early, err := s.DueEffects(t.Context(), 10)
		require.NoError(t, err)
		clock.Store(raisedMs + afterMs)
		due, err := s.DueEffects(t.Context(), 10)
		require.NoError(t, err)
		if len(early) != 0 || len(due) != 1 {
			return fmt.Errorf("step %d: %d effects are due before its moment, and %d at it", step, len(early), len(due))
		}
		claimed := do(&runs.ClaimEffect{SessionID: "s", EffectID: due[0].EffectID})
		command, err := runs.CommandOf(claimed.Effect)
		require.NoError(t, err)
		advance, is := command.(*runs.AdvanceRequest)
		require.True(t, is)
		advance.Steps = []runs.DueStep{{Step: int64(step)}}
		do(advance)
	}
	return nil
}
