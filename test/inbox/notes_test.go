//go:build unix && browser

package inbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// notes shows in a row and where it is open what the lists say of a request, here who is told next.
func (f *flows) notes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "channels.yaml")
	require.NoError(t, os.WriteFile(file, []byte("channels:\n  pager: {kind: http, url: \"http://127.0.0.1:9/\"}\n"), 0o600))
	service := rig.Start(t, rig.Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db"), Args: []string{"--channels", file, "--webhook-allow", "127.0.0.0/8"}})
	noted, plain := approval("noted", `{"command":"ls noted"}`), approval("plain", `{"command":"ls plain"}`)
	noted.Escalation = &api.Escalation{Steps: []api.EscalationStep{{AfterMs: 5_400_000, Notify: []string{"role:admin"}}}}
	handles := make([]string, 0, 2)
	for _, request := range []api.ApprovalRequest{noted, plain} {
		suspension := one(request)
		run, err := service.ConnectPatiently().CreateRun(t.Context(), client.CreateRunParams{SessionID: "s-" + request.ToolName, Input: "go", Suspend: &suspension})
		require.NoError(t, err)
		handles = append(handles, run.PendingApprovals[0].Handle)
	}
	p := openPage(t, f.browser, service.URL(), "/")
	row := func(handle string) string {
		return p.read(`document.getElementById("prompt-` + handle + `")?.textContent ?? ""`)
	}
	p.until("the row says who is told next", func() bool { return strings.Contains(row(handles[0]), "Next: admins, in 1 h.") })
	require.Contains(t, p.read(`document.getElementById("prompt-`+handles[0]+`").ariaLabel`), "Next: admins, in 1 h.")
	require.NotContains(t, row(handles[1]), "Next")
	require.Contains(t, p.prompt("noted").text(), "Next: admins, in 1 h.")
	for theme, width := range map[string]int64{"dark": 360, "light": 1280} {
		p.in(theme, width, 900)
		p.accessible("rows with notes")
	}
}
