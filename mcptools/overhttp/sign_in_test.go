package overhttp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
)

// A browser's cookie would reach /mcp, but not the calls that its tools make. A page on a loopback address
// has a sign-in that does.
func TestASignInByCookieIsRefused(t *testing.T) {
	s := serve(t, auth.Required)
	do := func(path, host, body string, header http.Header) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header, r.Host = header, host
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Sec-Fetch-Site": "same-origin",
		} {
			r.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response, string(text)
	}
	operator := http.Header{"Authorization": {"Bearer " + s.secrets[api.RoleOperator]}}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_pending","arguments":{}}}`

	const host = "192.0.2.1" // not a loopback address
	signedIn, told := do("/v1/login", host, "", operator.Clone())
	require.Equal(t, http.StatusOK, signedIn.StatusCode, told)
	cookies := signedIn.Cookies()
	require.Len(t, cookies, 1)
	cookie := cookies[0].Name + "=" + cookies[0].Value
	refused, told := do("/mcp", host, list, http.Header{"Cookie": {cookie}})
	require.Equal(t, http.StatusForbidden, refused.StatusCode, told)
	require.Contains(t, told, `"forbidden"`)
	require.Contains(t, told, "Authorization")
	with := operator.Clone()
	with.Set("Cookie", cookie)
	_, told = do("/mcp", host, list, with)
	require.Contains(t, told, `\"approvals\":[]`, "the header counts")

	_, told = do("/v1/login", "localhost", "", operator.Clone())
	var kept api.SignIn
	require.NoError(t, json.Unmarshal([]byte(told), &kept))
	_, told = do("/mcp", "localhost", list, http.Header{"Authorization": {"Session " + kept.Session}})
	require.Contains(t, told, `\"approvals\":[]`)
}
