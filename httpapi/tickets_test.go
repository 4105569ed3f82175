package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs"
)

// ticket creates a ticket for a path.
func (a *rig) ticket(t *testing.T, path string, options ...option) string {
	t.Helper()
	return a.post(t, ticketsPath, `{"path":"`+path+`"}`, options...).want(http.StatusCreated).textAt("ticket")
}

// ended creates a finished run, whose stream ends at once, and returns the path of the stream.
func (a *rig) ended(t *testing.T, options ...option) string {
	t.Helper()
	run := a.post(t, "/v1/runs", `{"session_id":"`+a.name("s")+`","input":1}`, options...).want(http.StatusAccepted).textAt("run_id")
	a.post(t, "/v1/runs/"+run+"/cancel", `{}`, options...).want(http.StatusOK)
	return "/v1/runs/" + run + "/stream"
}

// testTickets needs a service that asks for tokens.
func testTickets(t *testing.T, a *rig, keyring *auth.Keyring) {
	t.Helper()
	admin, observer := ofRole(t, keyring, api.RoleAdmin), ofRole(t, keyring, api.RoleObserver)
	path, other := a.ended(t, bearer(admin)), a.ended(t, bearer(admin))
	a.get(t, path).refused(api.CodeUnauthenticated)

	t.Run("it is shown for its stream once", func(t *testing.T) {
		made := a.post(t, ticketsPath, `{"path":"`+path+`"}`, bearer(observer)).want(http.StatusCreated)
		require.Equal(t, "no-store", made.header.Get("Cache-Control"))
		ticket := made.textAt("ticket")
		refused := a.get(t, other+"?ticket="+ticket).refused(api.CodeInvalidToken)
		require.Equal(t, `Bearer realm="holdpoint", error="invalid_token"`, refused.header.Get("WWW-Authenticate"))
		a.get(t, path+"?fields=summary&ticket="+ticket).refused(api.CodeInvalidToken)
		a.get(t, path+"?ticket="+ticket+"&ticket="+ticket).refused(api.CodeInvalidToken)
		require.Contains(t, a.get(t, path+"?cursor=0&ticket="+ticket).want(http.StatusOK).text, "event: cancelled")
		a.get(t, path+"?ticket="+ticket).refused(api.CodeInvalidToken)
	})
	t.Run("it is not a token, and opens nothing else", func(t *testing.T) {
		ticket := a.ticket(t, path, bearer(observer))
		a.get(t, "/v1/me", bearer(ticket)).refused(api.CodeInvalidToken)
		a.get(t, "/v1/me?ticket="+ticket).refused(api.CodeUnauthenticated)
		a.get(t, strings.TrimSuffix(path, "/stream")+"?ticket="+ticket).refused(api.CodeUnauthenticated)
		for _, wrong := range []string{observer, auth.NewSecret(), "x", ""} {
			a.get(t, path+"?ticket="+wrong).refused(api.CodeInvalidToken)
		}
		a.get(t, path+"?ticket="+ticket, bearer("x")).refused(api.CodeInvalidToken) // a header has precedence
		a.get(t, path+"?ticket="+ticket, bearer(observer)).want(http.StatusOK)
		a.get(t, path+"?ticket="+ticket).want(http.StatusOK)
	})
	t.Run("only streams have any", func(t *testing.T) {
		for _, wrong := range []string{"", "/", "v1/stream", "/v1/runs", "/v1/tokens", "/v1/stream/", "/v1//stream", "/v1/runs//stream", "//evil.example/v1/stream", "https://evil.example/v1/stream", "/v1/../v1/stream", "/nowhere", "/v1/runs/%00/stream", "/v1/runs/%ff/stream", "/v1/stream/" + strings.Repeat("x", api.MaxTicketPath)} {
			options := []option{bearer(admin)}
			if len(wrong) > 0 && len(wrong) < api.MaxTicketPath {
				options = append(options, expecting(semantic))
			}
			a.post(t, ticketsPath, `{"path":"`+wrong+`"}`, options...).refused(api.CodeInvalidRequest).pointer("/path")
		}
		a.post(t, ticketsPath, `{}`, bearer(admin)).refused(api.CodeInvalidRequest).pointer("/path")
	})
	t.Run("of all who use one at once one does", func(t *testing.T) {
		ticket := a.ticket(t, path, bearer(observer))
		statuses := make(chan int, 8)
		for range cap(statuses) {
			go func() {
				got, err := a.try(t, http.MethodGet, path+"?ticket="+ticket, "")
				if err != nil {
					statuses <- 0
					return
				}
				statuses <- got.status
			}()
		}
		count := map[int]int{}
		for range cap(statuses) {
			count[<-statuses]++
		}
		require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusUnauthorized: cap(statuses) - 1}, count)
	})
	t.Run("a browser that is signed in makes them for itself", func(t *testing.T) {
		sent := a.do(t, http.MethodPost, "/v1/login", "", bearer(observer)).want(http.StatusOK).sessionOf()
		first, second := a.ticket(t, path, sent, sameOrigin()), a.ticket(t, path, sent, sameOrigin())
		a.get(t, path+"?ticket="+first).want(http.StatusOK)
		a.do(t, http.MethodPost, "/v1/logout", "", sent, sameOrigin()).want(http.StatusNoContent)
		a.get(t, path+"?ticket="+second).refused(api.CodeInvalidToken)
	})
}

// A ticket is valid at other replicas too, for a minute, and its stream ends with the token.
func TestTicketsOfAnotherReplica(t *testing.T) {
	onEngines(t, func(t *testing.T, store runs.Store) {
		var nowMs int64 = 1_750_000_000_000
		var keyrings [2]*auth.Keyring
		var replicas [2]*rig
		for i := range replicas {
			keyrings[i] = auth.NewKeyring(auth.Options{Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return nowMs }})
			replicas[i] = serve(t, store, newContract(t), func(o *httpapi.Options) { o.Keyring = keyrings[i] })
		}
		tokenID, secret := token(t, keyrings[0], api.CreateTokenBody{Name: "x", Role: api.RoleObserver})
		path := replicas[0].ended(t, bearer(ofRole(t, keyrings[0], api.RoleAdmin)))
		made := replicas[0].post(t, ticketsPath, `{"path":"`+path+`"}`, bearer(secret)).want(http.StatusCreated)
		require.InDelta(t, nowMs+60_000, made.at("expires_at_ms"), 0)
		late := replicas[0].ticket(t, path, bearer(secret))
		nowMs += 59_999
		replicas[1].get(t, path+"?ticket="+made.textAt("ticket")).want(http.StatusOK)
		replicas[0].get(t, path+"?ticket="+made.textAt("ticket")).refused(api.CodeInvalidToken)
		nowMs++
		replicas[1].get(t, path+"?ticket="+late).refused(api.CodeInvalidToken)

		// One that is not used yet when its token is revoked opens nothing, and a stream ends.
		unused, used := replicas[0].ticket(t, "/v1/stream", bearer(secret)), replicas[0].ticket(t, "/v1/stream", bearer(secret))
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _ = replicas[1].try(t, http.MethodGet, "/v1/stream?ticket="+used, "") // it ends in whatever way
		}()
		require.Eventually(t, func() bool { return keyrings[1].Calls() == 1 }, patience, patienceStep)
		require.NoError(t, keyrings[0].Revoke(t.Context(), tokenID, true))
		replicas[0].get(t, "/v1/stream?ticket="+unused).refused(api.CodeInvalidToken)
		nowMs += 1000
		keyrings[1].Look(t.Context())
		<-over
		replicas[1].get(t, "/v1/stream?ticket="+unused).refused(api.CodeInvalidToken)
	})
}

// The tickets of a token that are not used are bounded.
func TestTicketsAreBounded(t *testing.T) {
	t.Parallel()
	store := openSQLite(t)
	nowMs := int64(1_750_000_000_000)
	keyring := auth.NewKeyring(auth.Options{Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return nowMs }})
	identity, err := keyring.Authenticate(t.Context(), ofRole(t, keyring, api.RoleObserver))
	require.NoError(t, err)
	var made []string
	for range auth.MaxTickets + 1 {
		nowMs++
		ticket, err := keyring.Ticket(t.Context(), identity, "/v1/stream")
		require.NoError(t, err)
		made = append(made, ticket.Ticket)
	}
	_, _, _, err = keyring.EnterTicket(t.Context(), made[0], "/v1/stream")
	require.ErrorIs(t, err, auth.Invalid())
	_, _, leave, err := keyring.EnterTicket(t.Context(), made[1], "/v1/stream")
	require.NoError(t, err)
	leave()
}
