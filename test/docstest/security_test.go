package docstest

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/service"
	"github.com/holdpoint/holdpoint/mcptools/overhttp"
	"github.com/holdpoint/holdpoint/notify"
)

var update = flag.Bool("update", false, "write the tables of docs/security.md")

// TestSecurityPrintsTheTable holds the tables of docs/security.md to package auth and the routes of all faces. Run it with
// -update to write them.
func TestSecurityPrintsTheTable(t *testing.T) {
	t.Parallel()
	page := document(t, "docs/security.md")
	wanted := withTable(t, withTable(t, page, "roles", roles()), "routes", routes())
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, "docs/security.md"), []byte(wanted), 0o644))
		return
	}
	require.Equal(t, wanted, page, "go test ./test/docstest -run TestSecurityPrintsTheTable -update")
}

// withTable returns the page with a table after its marker, in place of the one that is there.
func withTable(t *testing.T, page, marker, table string) string {
	t.Helper()
	before, after, found := strings.Cut(page, "<!-- "+marker+" -->\n")
	require.True(t, found, marker)
	after = strings.TrimLeft(after, "\n")
	for strings.HasPrefix(after, "|") {
		_, after, _ = strings.Cut(after, "\n")
	}
	page = before + "<!-- " + marker + " -->\n\n" + table
	if after != "" {
		page += "\n" + strings.TrimLeft(after, "\n")
	}
	return page
}

// roles is the table of actions and roles.
func roles() string {
	var table strings.Builder
	table.WriteString("| |")
	for _, role := range auth.Roles {
		table.WriteString(" " + string(role) + " |")
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(auth.Roles)) + "\n")
	for _, action := range auth.Actions {
		table.WriteString("| " + string(action) + ": " + auth.Meaning(action) + " |")
		for _, role := range auth.Roles {
			may := "–"
			if auth.RoleMay(role, action) {
				may = "yes"
			}
			table.WriteString(" " + may + " |")
		}
		table.WriteString("\n")
	}
	return table.String()
}

// routes is the table of routes and actions.
func routes() string {
	var table strings.Builder
	table.WriteString("| Route | Face | Takes |\n|---|---|---|\n")
	faces := append(dialects.All(dialects.Options{}), overhttp.New(overhttp.Options{}), service.Documents(holdpoint.Documents(), nil))
	for _, face := range httpapi.New(httpapi.Options{Faces: faces, Notify: notify.New(notify.Options{})}).Faces() {
		byPath := slices.Clone(face.Routes)
		slices.SortFunc(byPath, func(a, b wire.Route) int {
			return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Methods[0], b.Methods[0]))
		})
		for _, route := range byPath {
			table.WriteString("| `" + route.Methods[0] + " " + route.Path + "` | " + face.Name + " | " + string(route.Action) + " |\n")
		}
	}
	return table.String()
}

// TestSecretsOfTokensGoIntoPrivateFiles: a file that a page has a token written to is its owner's alone.
func TestSecretsOfTokensGoIntoPrivateFiles(t *testing.T) {
	t.Parallel()
	count := 0
	for _, b := range blocksOf(t) {
		before, _, writes := strings.Cut(b.text, "> ")
		if writes && strings.Contains(before, "holdpoint tokens ") {
			require.Contains(t, before, "umask 077", "%v", b)
			count++
		}
	}
	require.Positive(t, count)
}
