package httpapi_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// testNoWorker checks the rows of the lists after a worker has gone. alone says that the store knows of no other
// replica.
func testNoWorker(t *testing.T, engine string, alone bool) {
	t.Helper()
	store := openers[engine](t)
	var clock atomic.Int64
	dispatcher := claims.New(store, claims.Options{ScanInterval: 20 * time.Millisecond, NowMs: clock.Load, Logger: slog.New(slog.DiscardHandler)})
	inBackground(t, dispatcher.Run)
	a := serve(t, store, newContract(t), func(options *httpapi.Options) { options.Claims = dispatcher })
	const silent = 5 * 60_000
	claim := func(agents string) *reply {
		return a.post(t, "/v1/runs/claim", fmt.Sprintf(`{"worker_id":"w","agent_ids":%s}`, agents)).want(http.StatusOK)
	}
	create := func(session, agent, members string) *reply {
		return a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"agent_id":%q,"input":1%s}`, session, agent, members)).want(http.StatusAccepted)
	}
	create("left", "coder", "")
	claimed := claim(`["coder"]`)
	run, fence := claimed.textAt("claims", 0, "run", "run_id"), claimed.textAt("claims", 0, "lease", "fence")
	a.post(t, "/v1/runs/"+run+"/suspend", fmt.Sprintf(`{"fence":%q,"approvals":[%s],"questions":[%s]}`, fence, approval("a"), question("q"))).want(http.StatusOK)
	create("asked", "reader", `,"suspend":{"approvals":[`+approval("b")+`]}`)
	create("call", "coder", `,"kind":"call","suspend":{"approvals":[`+approval("c")+`]}`)
	// explained returns what the lists say of the requests that the worker left, and requires that they say
	// nothing of the others.
	explained := func(list string) any {
		var left any
		for _, path := range []string{list, list + "?page=true&fields=summary", list + "?session_id=left"} {
			rows := a.get(t, path).want(http.StatusOK)
			items := rows.body
			if object, paged := items.(map[string]any); paged {
				items = object["items"]
			}
			for _, item := range items.([]any) { //nolint:forcetypeassert // the contract checked it
				row := item.(map[string]any) //nolint:forcetypeassert // as above
				if row["session_id"] == "left" {
					left = row["explain"]
				} else {
					require.Nil(t, row["explain"], rows.text)
				}
			}
		}
		return left
	}
	require.Nil(t, explained("/v1/approvals"), "it has just asked")
	clock.Add(silent)
	if !alone {
		require.Nil(t, explained("/v1/approvals"), "the worker may ask another replica")
		return
	}
	for _, list := range []string{"/v1/approvals", "/v1/questions"} {
		said, is := explained(list).(map[string]any)
		require.True(t, is, list)
		require.Equal(t, `No worker has asked for runs of agent "coder" for 5 min.`, said["text"])
		require.NotZero(t, said["no_worker_since_ms"])
	}
	why := a.get(t, "/v1/runs/"+run+"/explain").want(http.StatusOK)
	require.Contains(t, why.textAt("text"), `No worker has asked for runs of agent "coder"`)
	handle := why.textAt("requests", 0, "handle")
	require.NotNil(t, a.get(t, "/v1/requests/"+handle+"/explain").want(http.StatusOK).at("no_worker_since_ms"))

	claim(`["other"]`)
	require.NotNil(t, explained("/v1/approvals"), "a worker of another agent does not help")
	claim(`["coder"]`)
	require.Nil(t, explained("/v1/approvals"))
	clock.Add(silent)
	require.NotNil(t, explained("/v1/approvals"))
	claim(`[]`)
	require.Nil(t, explained("/v1/approvals"), "a worker of all agents")
	clock.Add(silent)

	// An agent that holds another run is there, though it asks for no more.
	held := create("held", "coder", `,"claim":{"worker_id":"w2"},"suspend":{"hold":true,"approvals":[`+approval("d")+`]}`)
	require.Nil(t, explained("/v1/approvals"))
	a.post(t, "/v1/runs/"+held.textAt("run", "run_id")+"/cancel", `{}`).want(http.StatusOK)
	require.NotNil(t, explained("/v1/approvals"))
}

func TestNoWorkerInLists(t *testing.T) {
	t.Parallel()
	parallel(t, "sqlite", func(t *testing.T) { testNoWorker(t, "sqlite", true) })
	parallel(t, "postgres", func(t *testing.T) { testNoWorker(t, "postgres", false) })
}

// testMessagesInLists checks what a row says of the messages about a request without an escalation.
func testMessagesInLists(t *testing.T, store runs.Store) {
	t.Helper()
	a := serve(t, store, newContract(t))
	a.post(t, "/v1/runs", `{"session_id":"s","agent_id":"coder","input":1,"suspend":{"approvals":[`+approval("told")+`,`+approval("other")+`]}}`).want(http.StatusAccepted)
	// The list is in the order of the ids.
	list := func() *reply { return a.get(t, "/v1/approvals").want(http.StatusOK) }
	other, told := func() any { return list().at(0, "explain") }, func() any { return list().at(1, "explain", "text") }
	require.Nil(t, told(), "nobody was notified yet")
	handle := list().textAt(1, "request", "handle")
	// claim claims an effect once it is due.
	claim := func(effectID string) *model.Effect {
		for {
			reply, err := store.Do(t.Context(), &runs.ClaimEffect{SessionID: "s", EffectID: effectID})
			require.NoError(t, err)
			if reply.Effect != nil {
				return reply.Effect
			}
		}
	}
	due := claim(model.EffectID(api.EffectAdvanceRequest, handle))
	command, err := runs.CommandOf(due)
	require.NoError(t, err)
	advance, is := command.(*runs.AdvanceRequest)
	require.True(t, is)
	advance.To = []runs.Recipient{{Principal: "user:ada", Channel: "push"}, {Principal: "user:ben", Channel: "mail"}}
	_, err = store.Do(t.Context(), advance)
	require.NoError(t, err)
	require.Equal(t, "Messages to ada (push: not sent yet) and ben (mail: not sent yet).", told())
	require.Nil(t, other())

	finish := func(channel, principal string, change func(*runs.FinishEffect)) {
		effect := claim(model.NoticeEffectID(channel, handle, principal, 0))
		done := &runs.FinishEffect{SessionID: "s", EffectID: effect.EffectID, Attempt: effect.Attempts, RunID: effect.RunID, RequestHandle: handle}
		change(done)
		_, err := store.Do(t.Context(), done)
		require.NoError(t, err)
	}
	finish("push", "user:ada", func(*runs.FinishEffect) {})
	require.Equal(t, "Messages to ben (mail: not sent yet) and ada (push).", told())
	finish("mail", "user:ben", func(f *runs.FinishEffect) { f.Error, f.Permanent = "550 no such user", true })
	require.Equal(t, "Messages to ben (mail: not reached) and ada (push).", told())
}

func TestMessagesInLists(t *testing.T) {
	t.Parallel()
	options := door.Options{NotifyAfter: time.Millisecond}
	parallel(t, "sqlite", func(t *testing.T) {
		store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{Door: options})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		testMessagesInLists(t, store)
	})
	parallel(t, "postgres", func(t *testing.T) {
		store, err := postgres.Open(t.Context(), postgrestest.URL(t), postgres.Options{Door: options})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		testMessagesInLists(t, store)
	})
}
