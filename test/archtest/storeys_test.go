package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The storeys of package runs, from the ground up. Below them stand the packages that
// hold documents, refusals, rules and rows. A file uses its own storey and those below.
// The files that are not listed hold commands: they use no other command's file.
var storeys = [][]string{
	// What is known before any row: identifiers, texts, checks of what a caller gives.
	{"ids.go", "limits.go", "digests.go", "verdicts.go", "secrets.go", "rule_versions.go", "status.go", "decision.go", "remember.go", "suspension.go", "answer_check.go", "texts.go", "event_bodies.go", "brought_values.go", "requester_names.go", "callbacks.go", "about.go", "escalation.go", "escalation_check.go"},
	// The rows of a decision, and how an engine is asked for them.
	{"state.go", "writes.go", "needs.go", "store.go", "spec.go", "command.go", "call.go", "authority.go", "remembered.go", "idempotency.go", "names.go", "owe_webhooks.go", "owe_notices.go", "working_copy.go"},
	// The moves: what a decision does to the working copy.
	{
		"queue.go", "lease.go", "settle.go", "raise.go", "messages.go", "notices.go", "escalate.go", "outbox.go", "standing_rules.go", "rule_bounds.go", "rule_escalation.go", "rule_hint.go", "waiting_bounds.go",
		"clarification.go", "endings.go", "requesters.go", "record_approvals.go", "record_secrets.go", "record_answer.go", "resolve.go",
	},
	nil, // commands
	// What gives commands: a question of a child, and the effects of a decision.
	{"ancestors.go", "listed_requesters.go", "ask.go", "carry_out.go", "check_values.go", "seal_values.go", "match_rules.go", "handover.go"},
}

const commandStorey = 3

// runsFile is one file of package runs: the names that it declares, and those that it
// uses of the package.
type runsFile struct {
	declares, uses []string
}

// TestStoreys holds that nothing in package runs uses what stands above it, and that no
// command knows another one.
func TestStoreys(t *testing.T) {
	t.Parallel()
	files := runsFiles(t)
	home := map[string]string{}
	for name, file := range files {
		for _, declared := range file.declares {
			home[declared] = name
		}
	}
	for _, listed := range slices.Concat(storeys...) {
		require.Contains(t, files, listed, "a file of the storeys is not there")
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, used := range files[name].uses {
			target, ofRuns := home[used]
			if !ofRuns || target == name {
				continue
			}
			from, to := storeyOf(name), storeyOf(target)
			require.GreaterOrEqual(t, from, to, "%s uses %s of %s, which stands above it", name, used, target)
			require.False(t, from == commandStorey && to == commandStorey, "the command in %s uses %s of the command in %s", name, used, target)
		}
	}
}

func storeyOf(name string) int {
	for number, files := range storeys {
		if slices.Contains(files, name) {
			return number
		}
	}
	return commandStorey
}

// runsFiles reads the files of package runs. A method of the working copy counts as a
// name that begins with its receiver, "w.".
func runsFiles(t *testing.T) map[string]runsFile {
	t.Helper()
	paths, err := filepath.Glob("../../runs/*.go")
	require.NoError(t, err)
	files := map[string]runsFile{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "doc.go" {
			continue
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		// The parser's own resolution leaves the names that are not of the file.
		parsed, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		require.NoError(t, err)
		var file runsFile
		for _, declaration := range parsed.Decls {
			switch declaration := declaration.(type) {
			case *ast.FuncDecl:
				name := declaration.Name.Name
				if declaration.Recv != nil {
					name = declaration.Recv.List[0].Names[0].Name + "." + name
				}
				file.declares = append(file.declares, name)
			case *ast.GenDecl:
				for _, spec := range declaration.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						file.declares = append(file.declares, spec.Name.Name)
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							file.declares = append(file.declares, name.Name)
						}
					}
				}
			}
		}
		for _, unresolved := range parsed.Unresolved {
			file.uses = append(file.uses, unresolved.Name)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			if selector, ok := node.(*ast.SelectorExpr); ok {
				if receiver, ok := selector.X.(*ast.Ident); ok && receiver.Name == "w" {
					file.uses = append(file.uses, "w."+selector.Sel.Name)
				}
			}
			return true
		})
		files[filepath.Base(path)] = file
	}
	return files
}
