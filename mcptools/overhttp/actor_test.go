package overhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/client"
)

// X-Actor is read as by /v1: it counts only for a token that may act for others, and is then one text.
func TestTheActorIsReadAsByOtherFaces(t *testing.T) {
	s := serve(t, auth.Required)
	admin, err := client.New(s.url, client.WithToken(s.secrets[api.RoleAdmin]))
	require.NoError(t, err)
	t.Cleanup(admin.Close)
	gateway, err := admin.CreateToken(t.Context(), api.CreateTokenBody{Name: "chat", Role: api.RoleOperator, Principal: "service:chat", MayActFor: true})
	require.NoError(t, err)
	require.Contains(t, text(t.Context(), s.connect(api.RoleAgent, "?session=work"), "request_approval", `{"tool_name":"deploy","input":{},"wait_seconds":0}`), `"status":"pending"`)
	open := s.pending(s.connect(api.RoleOperator, ""))

	var vias []string // X-Via
	post := func(path, secret, body string, actors ...string) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + secret}, "X-Actor": actors, "X-Via": vias,
		}
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		reply, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response, string(reply)
	}
	call := func(name, arguments string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
	}
	resolve := call("resolve", resolution(open))
	for _, actors := range [][]string{{"ada", "ben"}, {""}, {" "}, {strings.Repeat("a", api.MaxActorLength+1)}} {
		for path, body := range map[string]string{
			"/v1/runs/" + open.RunID + "/approvals": `{"resolutions":[{"request_id":"` + open.Request.ID + `","behavior":"allow"}]}`, "/mcp": resolve,
		} {
			response, reply := post(path, gateway.Secret, body, actors...)
			require.Equal(t, http.StatusBadRequest, response.StatusCode, "%s %q: %s", path, actors, reply)
			require.Contains(t, reply, "the X-Actor header must be one text", "%s %q", path, actors)
		}
		response, reply := post("/mcp", s.secrets[api.RoleOperator], call("list_pending", `{}`), actors...)
		require.Equal(t, http.StatusOK, response.StatusCode, "%q: %s", actors, reply)
		require.Contains(t, reply, open.RunID, "%q", actors)
		require.Contains(t, response.Header.Get("Warning"), "X-Actor was ignored", "%q", actors)
	}
	vias = []string{"not an id", ""} // /mcp has its own via
	_, reply := post("/mcp", gateway.Secret, resolve, " ada ")
	require.Contains(t, reply, `\"decided\":true`)
	decisions, err := admin.ListDecisions(t.Context(), client.DecisionListParams{})
	require.NoError(t, err)
	require.Equal(t, "ada", decisions.Items[0].Resolution.ResolvedBy)
	require.Equal(t, "service:chat", decisions.Items[0].Resolution.ViaPrincipal)
	require.Equal(t, api.ViaAPI+":mcp", decisions.Items[0].Resolution.Via)
}

// A service without tokens reads X-Actor, too.
func TestTheActorOfAnOpenService(t *testing.T) {
	s := serve(t, auth.None)
	for status, actors := range map[int][][]string{http.StatusBadRequest: {{"ada", "ben"}, {""}}, http.StatusOK: {nil, {"ada"}}} {
		for _, actors := range actors {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
			require.NoError(t, err)
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "X-Actor": actors}
			response, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, status, response.StatusCode, "%q", actors)
		}
	}
}
