//go:build unix && agents

package mcpsuite

import (
	"embed"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// leftOut are the other scenarios of the suite, with the reason why /mcp does not take them.
var leftOut = map[string]string{
	"tasks-status-notifications": "the suite checks nothing yet",

	"server-session-lifecycle": noSessions, "server-sse-polling": noSessions,
	"tools-call-sampling": noRequests, "tools-call-elicitation": noRequests, "elicitation-sep1034-defaults": noRequests, "elicitation-sep1330-enums": noRequests,
	"logging-set-level": undeclared, "tools-call-with-logging": undeclared, "completion-complete": undeclared,
	"resources-list": undeclared, "resources-read-text": undeclared, "resources-read-binary": undeclared, "resources-templates-read": undeclared,
	"resources-subscribe": undeclared, "resources-unsubscribe": undeclared, "sep-2164-resource-not-found": undeclared,
	"prompts-list": undeclared, "prompts-get-simple": undeclared, "prompts-get-with-args": undeclared, "prompts-get-embedded-resource": undeclared,
	"prompts-get-with-image":               undeclared,
	"json-schema-2020-12":                  "it reads the schema of a tool that only the suite has, and no tool of the service has such keywords",
	"http-custom-header-server-validation": "it needs a tool with x-mcp-header, which no tool of the service has",
}

// Reasons of leftOut.
const (
	noSessions = "the transport is stateless: it has no sessions and no streams to resume"
	noRequests = "the transport is stateless: a tool asks its client by a result, as the scenarios of input-required-result check"
	undeclared = "the service does not declare the capability"
)

// serve starts a service, with the tools of the suite or as it is.
func serve(t *testing.T, withFixtures bool) (url string) {
	t.Helper()
	var service *inprocess.Service
	var worker *client.Client
	service = inprocess.Start(t, inprocess.Memory, inprocess.Options{Faces: func(signatures *signing.Keys) []kit.Mount {
		options := overhttp.Options{Version: "test", Signing: signatures, NowMs: func() int64 { return time.Now().UnixMilli() }}
		if withFixtures {
			options.Streams = true
			options.Extend = func(server *mcp.Server, waits *mcptools.Waits) {
				f := &fixtures{server, waits, func() *client.Client { return worker }}
				f.simple()
				f.forms()
				f.tasks()
			}
		}
		return []kit.Mount{overhttp.New(options)}
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
	suite := install(t)

	requireAllKnown(t, suite)
	url := serve(t, true)
	for _, scenario := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			passed := 0
			for _, check := range suite.checks(t, url, scenario, "2026-07-28") {
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

// requireAllKnown requires every scenario of the suite in a list above or below, so that a later version's are not missed.
func requireAllKnown(t *testing.T, suite *conformance) {
	t.Helper()
	output, err := suite.run("list", "--server")
	require.NoError(t, err, "%s", output)
	var listed []string
	for line := range strings.Lines(string(output)) {
		if entry, is := strings.CutPrefix(strings.TrimSpace(line), "- "); is {
			name, _, _ := strings.Cut(entry, " ")
			listed = append(listed, name)
		}
	}
	known := slices.Clone(scenarios)
	for _, plain := range ofThePlainService {
		known = append(known, plain...)
	}
	for name := range leftOut {
		require.NotContains(t, known, name, "it is left out, and is in a list")
	}
	known = slices.AppendSeq(known, maps.Keys(leftOut))
	slices.Sort(known)
	slices.Sort(listed)
	require.Equal(t, listed, slices.Compact(known))
}

// ofThePlainService are the scenarios that call no tool, prompt or resource of the suite's own, by
// revision. The others are in leftOut.
var ofThePlainService = map[string][]string{
	"2025-06-18": {"server-initialize", "ping", "tools-list"},
	"2025-11-25": {"server-initialize", "ping", "tools-list", "dns-rebinding-protection"},
	"2026-07-28": {
		"server-stateless", "tools-list", "dns-rebinding-protection", "http-header-validation", "server-sse-multiple-streams",
		"input-required-result-unsupported-methods", "sep-2640-skills-enumeration", "sep-2640-skills-directory", "sep-2640-skills-manifest",
	},
}

// TestThePlainServicePasses: the service as the program serves it. A check may only be left out because
// the service lacks a tool of the suite.
func TestThePlainServicePasses(t *testing.T) {
	t.Parallel()
	suite := install(t)
	url := serve(t, false)
	for revision, scenarios := range ofThePlainService {
		for _, scenario := range scenarios {
			t.Run(revision+"/"+scenario, func(t *testing.T) {
				t.Parallel()
				passed := 0
				for _, check := range suite.checks(t, url, scenario, revision) {
					switch {
					case check.Status == "SUCCESS":
						passed++
					case check.Status == "INFO" || check.Status == "SKIPPED":
					case strings.HasPrefix(check.ErrorMessage, "Not testable: server does not list the diagnostic tool"):
					default:
						t.Errorf("%s: %s %s", check.ID, check.Status, check.ErrorMessage)
					}
				}
				require.NotZero(t, passed)
			})
		}
	}
}

// conformance is the installed suite.
type conformance struct{ node, directory string }

func install(t *testing.T) *conformance {
	t.Helper()
	npm, node := rig.Need(t, "npm"), rig.Need(t, "node")
	directory := t.TempDir()
	require.NoError(t, os.CopyFS(directory, nodeFiles))
	suite := &conformance{node, filepath.Join(directory, "node")}
	command := exec.CommandContext(t.Context(), npm, "ci", "--no-audit", "--no-fund", "--silent")
	command.Dir = suite.directory
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return suite
}

func (c *conformance) run(arguments ...string) ([]byte, error) {
	// Parallel subtests go on after the context of the test that has installed the suite.
	command := exec.Command(c.node, append([]string{"--import", "./globsync.mjs", "node_modules/@modelcontextprotocol/conformance/dist/index.js"}, arguments...)...)
	command.Dir = c.directory
	return command.CombinedOutput()
}

// checks runs a scenario and returns its checks.
func (c *conformance) checks(t *testing.T, url, scenario, revision string) (checks []check) {
	t.Helper()
	written := filepath.Join(revision, scenario)
	// It ends with an error if a check fails, which the checks say as well.
	output, ended := c.run("server", "--url", url, "--scenario", scenario, "--spec-version", revision, "--force", "--output-dir", written)
	files, err := filepath.Glob(filepath.Join(c.directory, written, "*", "checks.json"))
	require.NoError(t, err)
	require.Len(t, files, 1, "%v\n%s", ended, output)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &checks))
	return checks
}
