package explain_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

func told(people ...string) func(*model.PendingRequest) {
	return func(p *model.PendingRequest) {
		list := `{"who":"user:` + strings.Join(people, `"},{"who":"user:`) + `"}`
		p.Request.EscalationState = api.JSON(`{"messages":1,"told":[` + list + `]}`)
	}
}

func message(handle, who, channel string, step, turn int64, state api.EffectState, change ...func(*reads.PersonMessage)) reads.PersonMessage {
	m := reads.PersonMessage{
		Handle: handle, Channel: channel, NoticePlace: model.NoticePlace{Person: model.PersonInID("user:" + who), Step: step, Turn: turn},
		State: state, Attempts: 1,
	}
	for _, change := range change {
		change(&m)
	}
	return m
}

// A row says to whom there were messages, without an escalation too, and what became of them.
func TestMessagesOfARow(t *testing.T) {
	t.Parallel()
	unsent := func(m *reads.PersonMessage) { m.Attempts = 0 }
	w := &workers{knownMs: math.MaxInt64, channels: []string{"mail", "push"}, messages: []reads.PersonMessage{
		message("default", "ada", "push", 0, 0, api.EffectDone), message("default", "ben", "mail", 0, 0, api.EffectPending, unsent),
		message("given up", "ada", "mail", 0, 0, api.EffectFailed), message("given up", "ben", "push", 0, 0, api.EffectDone),
		message("inbox", "ada", "push", 0, 0, api.EffectPending, unsent, func(m *reads.PersonMessage) { m.AtInbox = true }),
		message("flood", "ada", "push", 0, 0, api.EffectDone, unsent),
		// The newest message counts: of a later step, and at a later address.
		message("newest", "ada", "push", 1, 0, api.EffectPending), message("newest", "ada", "mail", 0, 1, api.EffectDone),
		message("newest", "ben", "push", 0, 0, api.EffectDone), message("newest", "ben", "mail", 0, 1, api.EffectDone),
		message("local", "local", "push", 0, 0, api.EffectDone),
	}}
	row := func(handle string, people ...string) model.PendingRequest { return pending(handle, told(people...)) }
	got := w.explain(t, row("default", "ada", "ben"), row("given up", "ben", "ada"), row("inbox", "ada"), row("flood", "ada"), row("newest", "ada", "ben"),
		row("unknown", "ada", "ben", "cyd", "dan"), row("local", "local"), pending("silent"))
	for i, want := range []string{
		"Messages to ben (mail: not sent yet) and ada (push).", "Messages to ada (mail: not reached) and ben (push).",
		"Messages to ada (push: held back while their inbox is open).", "Messages to ada (push: no message of its own).",
		"Messages to ada (push: not sent yet) and ben (mail).", "Messages to ada, ben, cyd and 1 more.", "Message by push.",
	} {
		require.Equal(t, &api.PendingExplanation{Text: want}, got[i])
	}
	require.Nil(t, got[7], "no message")
	require.Equal(t, 1, w.reads, "for all rows")

	w.reads, w.channels = 0, nil
	require.Nil(t, w.explain(t, row("default", "ada"))[0], "a service that notifies nobody")
	require.Zero(t, w.reads)
}

// A long list takes one read, and none without messages.
func TestMessagesOfALongList(t *testing.T) {
	t.Parallel()
	rows := make([]model.PendingRequest, 1_000)
	w := &workers{knownMs: math.MaxInt64, channels: []string{"push"}}
	for i := range rows {
		rows[i] = pending(fmt.Sprintf("h%d", i))
	}
	require.Nil(t, w.explain(t, rows...)[0])
	require.Zero(t, w.reads)
	for i := range rows {
		told("ada")(&rows[i])
		w.messages = append(w.messages, message(rows[i].Request.Handle, "ada", "push", 0, 0, api.EffectDone))
	}
	require.Equal(t, "Messages to ada (push).", w.explain(t, rows...)[999].Text)
	require.Equal(t, 1, w.reads)

	// What is not read is not said.
	for step := range int64(4) {
		for i := range rows {
			w.messages = append(w.messages, message(rows[i].Request.Handle, "ada", "push", step+1, 0, api.EffectPending))
		}
	}
	require.Equal(t, "Messages to ada.", w.explain(t, rows...)[0].Text)
}
