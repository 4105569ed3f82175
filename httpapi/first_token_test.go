package httpapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs"
)

// A first token closes the service that was open, at this replica and another, and ends the calls that were open.
func TestTheFirstTokenClosesTheService(t *testing.T) {
	t.Parallel()
	for name, passedMs := range clockChanges {
		parallel(t, name, func(t *testing.T) { testFirstToken(t, passedMs) })
	}
}

// clockChanges are changes of a clock after which nothing is taken from a cache.
var clockChanges = map[string]int64{"half a second later": 500, "the clock is set back": -3_600_000}

func testFirstToken(t *testing.T, passedMs int64) {
	t.Helper()
	store := openSQLite(t)
	var nowMs int64 = 1_750_000_000_000
	keyrings := make([]*auth.Keyring, 2)
	rigs := make([]*rig, 2)
	for i := range keyrings {
		keyrings[i] = auth.NewKeyring(auth.Options{Tokens: store.(auth.Tokens), Mode: auth.Auto, NewID: runs.NewID, NowMs: func() int64 { return nowMs }})
		rigs[i] = serve(t, store, newContract(t), func(o *httpapi.Options) { o.Keyring, o.KeepAlive = keyrings[i], time.Hour })
		rigs[i].get(t, "/v1/runs").want(http.StatusOK)
	}
	var streams []*reader
	var held []<-chan *reply
	for i, a := range rigs {
		require.Eventually(t, func() bool { return keyrings[i].Calls() == 0 }, patience, patienceStep)
		streams = append(streams, a.follow(t, "/v1/stream"))
		streams[i].snapshot()
		held = append(held, later(func() *reply { return a.post(t, "/v1/runs/claim", `{"worker_id":"w","wait_ms":60000}`) }))
		require.Eventually(t, func() bool { return keyrings[i].Calls() == 2 }, patience, patienceStep)
		keyrings[i].Look(t.Context())
		require.Equal(t, 2, keyrings[i].Calls(), "there is no token yet")
	}
	secret := rigs[0].post(t, "/v1/tokens", `{"name":"first","role":"admin"}`).want(http.StatusCreated).textAt("secret")
	rigs[0].get(t, "/v1/runs").refused(api.CodeUnauthenticated)
	streams[0].ends()
	soon(t, held[0]).refused(api.CodeUnauthenticated)
	keyrings[1].Look(t.Context())
	streams[1].ends()
	soon(t, held[1]).refused(api.CodeUnauthenticated)
	nowMs += passedMs
	for _, a := range rigs {
		a.get(t, "/v1/runs").refused(api.CodeUnauthenticated)
		a.get(t, "/v1/runs", bearer(secret)).want(http.StatusOK)
	}
	// Revoked is not the same as never made.
	id := rigs[0].get(t, "/v1/me", bearer(secret)).want(http.StatusOK).textAt("token_id")
	require.NoError(t, keyrings[0].Revoke(t.Context(), id, false))
	again := auth.NewKeyring(auth.Options{Tokens: store.(auth.Tokens), Mode: auth.Auto, NewID: runs.NewID, NowMs: func() int64 { return nowMs }})
	open, err := again.Open(t.Context())
	require.NoError(t, err)
	require.False(t, open)
}
