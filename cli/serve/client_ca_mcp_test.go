package serve

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// The tools of /mcp work with a client certificate, each call as the agent of its own certificate.
func TestToolsWithAClientCertificate(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	command := &Command{
		ClientCA: filepath.Join(directory, "ca.pem"), TLSCert: filepath.Join(directory, "cert.pem"), TLSKey: filepath.Join(directory, "key.pem"),
	}
	writeCertificate(t, command.TLSCert, command.TLSKey, 1)
	ours := newAuthority(t)
	ours.write(t, command.ClientCA)
	files, err := command.certificates()
	require.NoError(t, err)
	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	hub := watch.NewHub()
	service := httpapi.New(httpapi.Options{
		Store: store, Hub: hub, Claims: claims.New(store, claims.Options{}), ClientCertificates: true, Faces: command.faces(nil),
		Keyring: auth.NewKeyring(auth.Options{Tokens: store, Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return time.Now().UnixMilli() }}),
	})
	server := httptest.NewUnstartedServer(service.Handler())
	server.TLS = files.config()
	server.StartTLS()
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, store.Close())
	})
	agent := func(name string) *http.Transport {
		certificate := ours.issue(t, func(c *x509.Certificate) { c.Subject.CommonName = name })
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{*certificate}}}
		t.Cleanup(transport.CloseIdleConnections)
		return transport
	}
	// call calls a tool and returns its text, and the headers of the reply.
	call := func(as *http.Transport, session, tool, arguments string) (string, http.Header) {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/mcp", strings.NewReader(body))
		require.NoError(t, err)
		request.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session},
		}
		response, err := as.RoundTrip(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, response.StatusCode, string(text))
		var reply struct {
			Result struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"result"`
		}
		require.NoError(t, json.Unmarshal(text, &reply))
		require.NotEmpty(t, reply.Result.Content, string(text))
		return reply.Result.Content[0].Text, response.Header
	}
	// raised returns the principal of the raised run with its id, and the session.
	raised := func(as *http.Transport, session string) (owned, sessionID string) {
		text, header := call(as, session, "request_approval", `{"tool_name":"deploy","input":{},"key":"k","wait_seconds":0}`)
		var told struct {
			RunID string `json:"run_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &told), text)
		run, err := store.Run(t.Context(), told.RunID)
		require.NoError(t, err)
		return run.Run.Principal + " " + told.RunID, header.Get("Mcp-Session-Id")
	}
	coder, other := agent("coder"), agent("other")
	first, session := raised(coder, "")
	require.True(t, strings.HasPrefix(first, "agent:coder "), first)
	again, _ := raised(coder, session)
	require.Equal(t, first, again)

	// The session of one certificate gives another one nothing.
	second, _ := raised(other, session)
	require.True(t, strings.HasPrefix(second, "agent:other "), second)
	text, _ := call(other, session, "check_decision", `{"run_id":"`+strings.TrimPrefix(first, "agent:coder ")+`","wait_seconds":0}`)
	require.Contains(t, text, "unknown run")
}
