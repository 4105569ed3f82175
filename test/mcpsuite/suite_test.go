//go:build unix && agents

package mcpsuite

import (
	"embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/mcptools"
	"github.com/holdpoint/holdpoint/mcptools/overhttp"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/rig"
)

//go:embed node
var nodeFiles embed.FS

// scenarios are the scenarios of the suite that /mcp must pass: all about tasks, multi
// round-trip requests and tools in revision 2026-07-28, and what its transport must refuse.
var scenarios = []string{
	"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
	"tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition",

	"input-required-result-basic-elicitation", "input-required-result-basic-sampling", "input-required-result-basic-list-roots",
	"input-required-result-request-state", "input-required-result-multiple-input-requests", "input-required-result-multi-round",
	"input-required-result-missing-input-response", "input-required-result-non-tool-request", "input-required-result-result-type",
	"input-required-result-unsupported-methods", "input-required-result-tampered-state", "input-required-result-capability-check",
	"input-required-result-ignore-extra-params", "input-required-result-validate-input",

	"tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource",
	"tools-call-mixed-content", "tools-call-error", "tools-call-with-progress",

	"dns-rebinding-protection", "caching", "http-header-validation",
}

// unanswered are scenarios that check nothing yet.
var unanswered = []string{"tasks-status-notifications"}

func serve(t *testing.T) (url string) {
	t.Helper()
	var service *inprocess.Service
	var worker *client.Client
	service = inprocess.Start(t, inprocess.Memory, inprocess.Options{Faces: func(signatures *signing.Keys) []kit.Mount {
		return []kit.Mount{overhttp.New(overhttp.Options{
			Version: "test", Signing: signatures, NowMs: func() int64 { return time.Now().UnixMilli() }, Streams: true,
			Extend: func(server *mcp.Server, waits *mcptools.Waits) {
				f := &fixtures{server, waits, func() *client.Client { return worker }}
				f.simple()
				f.forms()
				f.tasks()
			},
		})}
	}})
	worker = service.Connect()
	return service.URL + "/mcp"
}

// check is one line of what the suite writes about a scenario.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

// TestTheOfficialSuitePasses: no scenario is excused, and a warning counts as a failure.
func TestTheOfficialSuitePasses(t *testing.T) {
	t.Parallel()
	npm, node := rig.Need(t, "npm"), rig.Need(t, "node")
	directory := t.TempDir()
	require.NoError(t, os.CopyFS(directory, nodeFiles))
	directory = filepath.Join(directory, "node")
	install := exec.CommandContext(t.Context(), npm, "ci", "--no-audit", "--no-fund", "--silent")
	install.Dir = directory
	output, err := install.CombinedOutput()
	require.NoError(t, err, "%s", output)
	suite := []string{"--import", "./globsync.mjs", "node_modules/@modelcontextprotocol/conformance/dist/index.js"}
	run := func(arguments ...string) ([]byte, error) {
		command := exec.CommandContext(t.Context(), node, append(suite, arguments...)...)
		command.Dir = directory
		return command.CombinedOutput()
	}

	// A scenario of a later version of the suite is not to be missed.
	output, err = run("list", "--server")
	require.NoError(t, err, "%s", output)
	for line := range strings.Lines(string(output)) {
		name, _, is := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), " ")
		ours := strings.HasPrefix(name, "tasks-") || strings.HasPrefix(name, "input-required-result-") || strings.HasPrefix(name, "tools-") && strings.Contains(line, "2026-07-28")
		if is && ours {
			require.Contains(t, append(scenarios, unanswered...), name)
		}
	}

	url := serve(t)
	for _, scenario := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			output, err := run("server", "--url", url, "--scenario", scenario, "--spec-version", "2026-07-28", "--force", "--output-dir", scenario)
			require.NoError(t, err, "%s", output)
			written, err := filepath.Glob(filepath.Join(directory, scenario, "*", "checks.json"))
			require.NoError(t, err)
			require.Len(t, written, 1)
			text, err := os.ReadFile(written[0])
			require.NoError(t, err)
			var checks []check
			require.NoError(t, json.Unmarshal(text, &checks))
			passed := 0
			for _, check := range checks {
				switch check.Status {
				case "SUCCESS":
					passed++
				case "INFO":
				default:
					t.Errorf("%s: %s %s", check.ID, check.Status, check.ErrorMessage)
				}
			}
			require.NotZero(t, passed)
		})
	}
}
