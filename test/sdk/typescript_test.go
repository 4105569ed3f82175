//go:build unix && agents

package sdk

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// nodeProject is a project that has the packed SDK and nothing else, made once in the life of the
// process with the commands of its README, in a clone; sources is where the SDK was built.
var nodeProject = sync.OnceValues(func() (made struct{ project, sources string }, err error) {
	root, err := clone()
	if err != nil {
		return made, err
	}
	commands, err := commandsOf("sdk/typescript/README.md")
	if err != nil {
		return made, err
	}
	if _, err = shell(root, commands["pack"]); err != nil {
		return made, err
	}
	made.sources, made.project = filepath.Join(root, "sdk", "typescript"), filepath.Join(filepath.Dir(root), "my-agent")
	// Nothing but the package itself: offline, it cannot have dependencies.
	_, err = shell(filepath.Dir(root), "export npm_config_offline=true\n"+commands["install"])
	return made, err
})

// needNode returns a project with the SDK, and where the SDK was built.
func needNode(t *testing.T) (project, sources string) {
	t.Helper()
	rig.Need(t, "node")
	rig.Need(t, "npm")
	made, err := nodeProject()
	require.NoError(t, err)
	return made.project, made.sources
}

// nodeScript copies a script of this directory into a project with the SDK.
func nodeScript(t *testing.T, name string) (project string) {
	t.Helper()
	project, _ = needNode(t)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(project, name), text, 0o600))
	return project
}

// TestTypeScriptTypesAreThoseOfTheService: "make sdk-types" would change nothing.
func TestTypeScriptTypesAreThoseOfTheService(t *testing.T) {
	_, sources := needNode(t)
	written := filepath.Join(t.TempDir(), "openapi.ts")
	_, err := run(sources, "node", "scripts/types.mjs", filepath.Join(repository(), "openapi.json"), written)
	require.NoError(t, err)
	requireCommitted(t, written, "sdk/typescript/src/openapi.ts")
}

// TestTypeScriptPackageIsWhatItsReadmeSays: the packed package is type-checked by what its README
// shows, as a user has it who installs it, and its first lines run.
func TestTypeScriptPackageIsWhatItsReadmeSays(t *testing.T) {
	project, sources := needNode(t)
	service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
	shown := blocks(t, "sdk/typescript/README.md", "ts")
	first := strings.ReplaceAll(shown[0], "http://127.0.0.1:4000", service.URL())
	require.LessOrEqual(t, strings.Count(strings.TrimSpace(first), "\n")+1, 10, "the README begins with ten lines")
	require.NoError(t, os.WriteFile(filepath.Join(project, "first.ts"), []byte(first), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(project, "rest.ts"), []byte("import { Holdpoint } from \"@holdpoint/sdk\";\n"+strings.Join(shown[1:], "")), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(project, "tsconfig.json"), []byte(`{
		"compilerOptions": {"target": "es2022", "module": "nodenext", "lib": ["es2022", "dom", "dom.iterable"], "types": [], "strict": true, "exactOptionalPropertyTypes": true},
		"files": ["first.ts", "rest.ts"]}`), 0o600))
	_, err := run(project, filepath.Join(sources, "node_modules", ".bin", "tsc"), "-p", ".")
	require.NoError(t, err)

	start(t, project, "node", "first.js")
	approveFirst(t, service)
}

// approveFirst decides what the first lines of a README ask for, with another input, and requires
// that they go on with it.
func approveFirst(t *testing.T, service *rig.Process) {
	t.Helper()
	people := service.ConnectPatiently()
	var open []api.PendingApprovalView
	rig.Await(t, func() bool {
		page, err := people.ListApprovals(t.Context(), client.PendingListParams{})
		require.NoError(t, err)
		open = page.Items
		return len(open) > 0
	}, "nothing is asked")
	require.JSONEq(t, `{"directory":"build"}`, string(open[0].Request.Input))
	decided := rig.Decide(api.ApprovalResolution{RequestID: open[0].Request.ID, Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"directory":"old"}`)})
	_, err := people.ResolveRunApprovals(t.Context(), open[0].RunID, decided)
	require.NoError(t, err)
	done, err := people.WaitRun(rig.Soon(t), open[0].RunID, client.UntilTerminal)
	require.NoError(t, err)
	require.JSONEq(t, `{"removed":"old"}`, string(done.Output), done.Error)
}
