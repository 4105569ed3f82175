package archtest

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The packages of others that not everybody may see. What is below them is meant
// as well.
const (
	sqlPackage  = "database/sql"
	httpPackage = "net/http"
	pgx         = "github.com/jackc/pgx/v5"
	sqlite      = "modernc.org/sqlite"
	goose       = "github.com/pressly/goose/v3"
	chi         = "github.com/go-chi/chi/v5"
)

// place says what the packages of one name may link, directly or not.
type place struct {
	// name is a package below the module, "." for its root, or a [path.Match]
	// pattern of several.
	name string
	// ours are the packages of the module that it may link, as patterns.
	ours []string
	// never are packages of others that it must not link.
	never []string
}

// domain are the packages that the domain stands on.
var domain = []string{"api", "internal/canonical", "internal/cpulimit", "internal/panics", "internal/dirsync", "internal/calltrace", "internal/loopback", "audit/chain", "audit/journal", "auth", "auth/keyfile", "webhooks", "runs/refusal", "runs/document", "runs/rules/shellcmd", "runs/rules", "runs/model", "runs/escalation", "runs/reads", "runs/upkeep"}

// with returns the packages together with those that the domain stands on.
func with(names ...string) []string { return append(names, domain...) }

// program are the packages that the command line puts together.
var program = with("internal/visible", "prompt", "internal/service", "internal/multiplex", "internal/failpoint", "internal/cpulimit", "webhooks/egress", "webhooks/deliver", "notify", "notify/channels", ".", "audit", "auth/signing", "auth/sealing", "runs", "runs/*", "migrations", "store", "store/*",
	"httpapi", "httpapi/*", "httpapi/v1/*", "httpapi/dialects/*", "web", "web/docsite", "client", "client/ask", "mcptools", "mcptools/tasks", "mcptools/overhttp", "examples/*", "telemetry", "telemetry/tracing", "telemetry/tracing/statements", "cli/*")

// assembled are the packages that a service in a program is made of.
func assembled(more ...string) []string {
	return append(with("internal/visible", "prompt", "audit", "auth/signing", "auth/sealing", "webhooks/egress", "webhooks/deliver", "notify", "notify/channels", "internal/multiplex", "internal/failpoint", "runs", "runs/*", "migrations", "store", "store/*",
		"httpapi", "httpapi/*", "httpapi/v1/*", "httpapi/dialects/kit", "httpapi/dialects/codex", "web", "web/docsite", "client", "client/ask", "mcptools", "mcptools/tasks", "mcptools/overhttp"), more...)
}

// places is the package map of docs/architecture.md. The first line that matches a
// package counts. Every package must match one, so that a new one is placed on
// purpose.
var places = []place{
	{name: ".", ours: assembled("internal/service")},
	{name: "internal/service", ours: assembled()},
	{name: "api", never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "auth", ours: []string{"api", "internal/canonical", "audit/chain", "audit/journal", "runs/refusal"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "auth/keyfile", ours: []string{"internal/dirsync"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "auth/signing", ours: []string{"api", "internal/dirsync", "auth/keyfile", "internal/canonical", "audit/chain", "audit/journal"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "auth/sealing", ours: []string{"internal/dirsync", "auth/keyfile"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "audit", ours: with("auth/signing", "runs"), never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "webhooks", ours: []string{"api", "internal/canonical", "audit/chain", "audit/journal", "auth", "runs/refusal"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "webhooks/egress", ours: []string{"api"}, never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "webhooks/deliver", ours: with("internal/failpoint", "runs", "webhooks/egress"), never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "notify", ours: with("runs", "prompt"), never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "notify/channels", ours: with("runs", "notify", "prompt", "internal/visible", "webhooks/egress"), never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "audit/journal", ours: []string{"api", "internal/canonical", "audit/chain"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "audit/chain", ours: []string{"internal/canonical"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	// The storeys of the domain, from the ground up.
	{name: "runs/refusal", ours: []string{"api"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "runs/document", ours: []string{"api", "internal/canonical", "runs/refusal"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "runs/rules/shellcmd", never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "runs/rules", ours: []string{"api", "internal/canonical", "runs/refusal", "runs/document", "runs/rules/shellcmd"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "runs/model", ours: []string{"api", "internal/canonical", "audit/chain", "audit/journal", "runs/refusal", "runs/document", "runs/rules/shellcmd", "runs/rules"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "runs/reads", ours: []string{"api", "internal/canonical", "audit/chain", "audit/journal", "auth", "runs/refusal", "runs/document", "runs/rules/shellcmd", "runs/rules", "runs/model"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "runs/upkeep", ours: []string{"api", "internal/canonical", "audit/chain", "audit/journal", "auth", "runs/refusal", "runs/document", "runs/rules/shellcmd", "runs/rules", "runs/model", "runs/reads"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "runs/escalation", ours: []string{"api", "internal/canonical", "runs/refusal", "runs/document"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "runs", ours: domain, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "runs/explain", ours: with("runs", "runs/doctor"), never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "runs/*", ours: with("runs"), never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "internal/canonical", never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "internal/visible", never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "internal/testcache", never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "internal/failpoint", never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "internal/calltrace", never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "internal/dirsync", never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "internal/panics", never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "internal/loopback", never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "internal/cpulimit", ours: []string{"api", "internal/canonical", "audit/chain", "audit/journal", "auth", "runs/refusal", "runs/document"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "internal/multiplex", never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "migrations", never: []string{pgx, sqlite, chi}},
	{name: "store", ours: with("notify", "prompt", "audit", "auth/signing", "auth/sealing", "internal/failpoint", "internal/cpulimit", "runs", "migrations", "store/*"), never: []string{chi}},
	{name: "store/facts", ours: with("internal/failpoint", "internal/cpulimit", "runs"), never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "store/lanes", never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "store/door", ours: with("internal/failpoint", "internal/cpulimit", "runs", "store/facts", "store/lanes"), never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "store/columns", ours: domain, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "store/load", ours: with("internal/failpoint", "internal/cpulimit", "runs", "store/facts", "store/lanes", "store/door", "store/columns"), never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "store/read", ours: with("internal/cpulimit", "runs", "store/columns"), never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "store/retain", ours: with("audit", "auth/signing", "internal/cpulimit", "internal/failpoint", "runs", "store/columns", "store/read", "store/tokens"), never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "store/postgres", ours: with("notify", "prompt", "audit", "auth/signing", "auth/sealing", "internal/failpoint", "internal/cpulimit", "runs", "migrations", "store/facts", "store/lanes", "store/door", "store/columns", "store/load", "store/read", "store/retain", "store/tokens", "store/hooks"), never: []string{sqlite, chi}},
	{name: "store/sqlite", ours: with("notify", "prompt", "audit", "auth/signing", "auth/sealing", "internal/failpoint", "internal/cpulimit", "runs", "migrations", "store/facts", "store/lanes", "store/door", "store/columns", "store/load", "store/read", "store/retain", "store/tokens", "store/hooks"), never: []string{pgx, chi}},
	{name: "store/tokens", ours: with("audit", "auth/signing", "auth/sealing", "internal/cpulimit", "runs", "store/columns", "store/read"), never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "store/hooks", ours: with("notify", "prompt", "audit", "auth/signing", "auth/sealing", "internal/cpulimit", "runs", "store/columns", "store/read", "store/tokens"), never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "httpapi", ours: with("notify", "prompt", "internal/visible", "internal/multiplex", "audit", "auth/signing", "auth/sealing", "internal/failpoint", "internal/cpulimit", "runs", "runs/*", "httpapi/*", "httpapi/v1/*", "httpapi/dialects/kit"), never: []string{sqlPackage, pgx, sqlite, goose}},
	{name: "httpapi/dialects/dialecttest", ours: with("notify", "prompt", "internal/visible", "internal/multiplex", "audit", "auth/signing", "auth/sealing", "internal/failpoint", "internal/cpulimit", "internal/testcache", "runs", "runs/*", "migrations", "store/*", "store/*/*", "httpapi", "httpapi/*", "httpapi/v1/*", "httpapi/dialects/kit")}, // for tests
	{name: "httpapi/dialects/kit", ours: with("internal/visible", "prompt", "internal/failpoint", "internal/cpulimit", "runs", "runs/*", "httpapi/wire", "httpapi/stream"), never: []string{sqlPackage, pgx, sqlite, goose}},
	{name: "httpapi/dialects", ours: with("internal/visible", "prompt", "internal/failpoint", "internal/cpulimit", "runs", "runs/*", "httpapi/wire", "httpapi/stream", "httpapi/dialects/*"), never: []string{sqlPackage, pgx, sqlite, goose}},
	// A dialect links no other dialect.
	{name: "httpapi/dialects/*", ours: with("internal/visible", "prompt", "internal/failpoint", "internal/cpulimit", "runs", "runs/*", "httpapi/wire", "httpapi/stream", "httpapi/dialects/kit"), never: []string{sqlPackage, pgx, sqlite, goose}},
	{name: "httpapi/v1/paging", ours: with("internal/failpoint", "runs", "httpapi/wire"), never: []string{sqlPackage, pgx, sqlite, goose}},
	{name: "httpapi/v1/kit", ours: with("internal/failpoint", "runs", "runs/watch", "httpapi/wire"), never: []string{sqlPackage, pgx, sqlite, goose}},
	{name: "httpapi/v1/people", ours: with("notify", "prompt", "internal/failpoint", "internal/cpulimit", "runs", "httpapi/wire"), never: []string{sqlPackage, pgx, sqlite, goose}},
	{name: "httpapi/v1/tokens", ours: with("internal/failpoint", "runs", "httpapi/wire", "httpapi/oidc", "httpapi/v1/paging"), never: []string{sqlPackage, pgx, sqlite, goose}},
	{name: "httpapi/v1/audit", ours: with("internal/failpoint", "audit", "auth/signing", "runs", "httpapi/wire", "httpapi/v1/paging"), never: []string{sqlPackage, pgx, sqlite, goose}},
	{name: "httpapi/v1/streams", ours: with("internal/failpoint", "runs", "runs/watch", "httpapi/wire", "httpapi/stream", "httpapi/v1/paging"), never: []string{sqlPackage, pgx, sqlite, goose}},
	{name: "httpapi/v1/work", ours: with("internal/failpoint", "auth/signing", "runs", "runs/watch", "runs/claims", "httpapi/wire", "httpapi/v1/kit", "httpapi/v1/paging"), never: []string{sqlPackage, pgx, sqlite, goose}},
	{name: "httpapi/v1/runs", ours: with("internal/failpoint", "runs", "runs/watch", "runs/doctor", "runs/explain", "httpapi/wire", "httpapi/v1/kit", "httpapi/v1/paging"), never: []string{sqlPackage, pgx, sqlite, goose}},
	{name: "httpapi/v1/*", ours: with("internal/failpoint", "internal/cpulimit", "runs", "runs/watch", "httpapi/wire", "httpapi/v1/kit", "httpapi/v1/paging"), never: []string{sqlPackage, pgx, sqlite, goose}},
	{name: "httpapi/links", ours: with("notify", "prompt", "internal/visible", "internal/failpoint", "internal/cpulimit", "runs", "runs/*", "httpapi/wire"), never: []string{sqlPackage, pgx, sqlite, goose}},
	// Another contract: it shares the dialects' kit.
	{name: "httpapi/kheish", ours: with("internal/visible", "prompt", "internal/failpoint", "internal/cpulimit", "runs", "runs/*", "httpapi/wire", "httpapi/stream", "httpapi/dialects/kit"), never: []string{sqlPackage, pgx, sqlite, goose}},
	{name: "httpapi/*", ours: with("internal/failpoint", "internal/cpulimit", "runs", "runs/*", "httpapi/wire"), never: []string{sqlPackage, pgx, sqlite, goose}},
	{name: "httpapi/oidc/oidctest"}, // for tests
	// The Prometheus client knows database/sql, for those who want its numbers.
	{name: "telemetry", ours: with("internal/failpoint", "internal/cpulimit", "runs", "store/facts", "store/lanes", "store/door"), never: []string{pgx, sqlite, goose, chi}},
	{name: "telemetry/tracing", ours: with("internal/failpoint", "internal/cpulimit", "runs", "store/facts", "store/lanes", "store/door"), never: []string{pgx, sqlite, goose, chi}},
	{name: "telemetry/tracing/tracingtest"}, // for tests
	{name: "prompt", ours: []string{"api", "internal/canonical"}, never: []string{sqlPackage, httpPackage, pgx, sqlite, goose, chi}},
	{name: "telemetry/tracing/statements", never: []string{sqlite, goose, chi}},
	// The pages are files, and a client of the API like any other.
	{name: "web", never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "web/docsite", never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "client", ours: []string{"api", "internal/canonical", "internal/multiplex"}, never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "client/ask", ours: []string{"api", "internal/canonical", "internal/multiplex", "client"}, never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "mcptools/tasks", never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "mcptools", ours: []string{"api", "internal/canonical", "internal/multiplex", "internal/visible", "prompt", "client", "client/ask", "mcptools/tasks"}, never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "mcptools/overhttp", ours: with("internal/visible", "prompt", "internal/failpoint", "internal/cpulimit", "auth", "auth/signing", "runs", "runs/*", "httpapi/wire", "httpapi/stream", "httpapi/dialects/kit", "internal/multiplex", "client", "client/ask", "mcptools", "mcptools/tasks"), never: []string{sqlPackage, pgx, sqlite, goose}},
	// An example is what anybody could write: it knows the client, and not what answers it.
	{name: "examples/agents", ours: []string{"api", "internal/canonical", "internal/multiplex", "client"}, never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "examples/*", ours: []string{"api", "internal/canonical", "internal/multiplex", "client", "examples/agents"}, never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	// What all commands share knows no command; gate and operate know a service by its
	// client alone.
	{name: "cli/console", ours: []string{"api", "internal/canonical", "internal/multiplex", "internal/visible", "prompt", "client", "runs/document", "runs/refusal"}, never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "cli/gate", ours: with("internal/visible", "prompt", "runs", "internal/multiplex", "client", "cli/console"), never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "cli/operate", ours: with("internal/visible", "prompt", "runs", "internal/multiplex", "client", "cli/console"), never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "cli/contexts", ours: []string{"api", "internal/canonical", "internal/multiplex", "internal/visible", "prompt", "client", "runs/document", "runs/refusal", "cli/console"}, never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "cli/watch", ours: []string{"api", "internal/canonical", "internal/multiplex", "internal/visible", "prompt", "client", "runs/document", "runs/refusal", "cli/console"}, never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "cli/agent", ours: with("internal/visible", "prompt", "auth/signing", "internal/multiplex", "client", "client/ask", "mcptools", "mcptools/tasks", "cli/console"), never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "cli/database", ours: with("internal/visible", "prompt", "notify", "audit", "auth/signing", "auth/sealing", "internal/failpoint", "internal/cpulimit", "runs", "runs/*", "migrations", "store", "store/*", "internal/multiplex", "client", "cli/console"), never: []string{chi}},
	{name: "cli/*", ours: program},
	{name: "cli", ours: program},
	{name: "cmd/*", ours: append([]string{"cli"}, program...)},

	// Shared by tests. It is not part of the program; see forTests.
	{name: "store/storebench", ours: with("audit", "auth/signing", "auth/sealing", "internal/failpoint", "internal/cpulimit", "internal/testcache", "runs", "store/*", "store/*/*")},
	{name: "store/storetest", ours: with("audit", "auth/signing", "auth/sealing", "internal/failpoint", "internal/cpulimit", "internal/testcache", "runs", "runs/*", "migrations", "store", "store/*", "store/*/*")},
	{name: "store/*/*", ours: with("audit", "auth/signing", "auth/sealing", "internal/failpoint", "internal/cpulimit", "internal/testcache", "runs", "migrations", "store/*"), never: []string{chi}},
	{name: "bench/load", never: []string{sqlPackage, pgx, sqlite, goose, chi}},
	{name: "bench/churn", ours: with("notify", "prompt", "audit", "auth/signing", "auth/sealing", "internal/failpoint", "internal/cpulimit", "runs", "runs/*", "migrations", "store", "store/*"), never: []string{chi}},
	{name: "bench/waits", ours: with("notify", "prompt", "audit", "auth/signing", "auth/sealing", "internal/failpoint", "internal/cpulimit", "internal/testcache", "runs", "runs/*", "migrations", "store", "store/*", "store/*/*", "internal/multiplex", "client", "bench/load"), never: []string{chi}},
	{name: "test/*", ours: with("internal/visible", "prompt", "webhooks/egress", "webhooks/deliver", "notify", "notify/channels", "audit", "auth/signing", "auth/sealing", "internal/failpoint", "internal/service", "web", "web/docsite", "internal/service", "web", "web/docsite", "internal/cpulimit", "internal/testcache", ".", "runs", "runs/*", "migrations", "store", "store/*", "store/*/*", "httpapi", "httpapi/*", "httpapi/v1/*", "httpapi/dialects/*", "internal/multiplex", "client", "client/ask", "mcptools", "mcptools/tasks", "mcptools/overhttp", "examples/*", "telemetry/tracing", "telemetry/tracing/*", "cli", "cli/*")},
	{name: "test/*/*", ours: with("internal/visible", "prompt", "webhooks/egress", "webhooks/deliver", "notify", "notify/channels", "audit", "auth/signing", "auth/sealing", "internal/failpoint", "internal/service", "web", "web/docsite", "internal/service", "web", "web/docsite", "internal/cpulimit", "internal/testcache", ".", "runs", "runs/*", "migrations", "store", "store/*", "store/*/*", "httpapi", "httpapi/*", "httpapi/v1/*", "httpapi/dialects/*", "internal/multiplex", "client", "client/ask", "mcptools", "mcptools/tasks", "mcptools/overhttp", "examples/*", "telemetry/tracing", "telemetry/tracing/*", "cli", "cli/*", "test/*")},
}

// forTests are packages of the module and of others that the program must not link.
var forTests = []string{
	module + "/internal/testcache", module + "/store/storetest", module + "/store/postgres/postgrestest", module + "/httpapi/dialects/dialecttest", module + "/httpapi/oidc/oidctest", module + "/telemetry/tracing/tracingtest", module + "/test", module + "/bench",
	"testing", "github.com/stretchr/testify", "github.com/google/go-cmp", "pgregory.net/rapid",
	"github.com/testcontainers/testcontainers-go", "github.com/getkin/kin-openapi",
	"github.com/rogpeppe/go-internal", "go.uber.org/goleak", "github.com/chromedp/chromedp", "github.com/godbus/dbus/v5",
}

// TestArrows holds the direction of imports: cmd → cli → httpapi, store → runs, and
// never back.
func TestArrows(t *testing.T) {
	t.Parallel()
	all := packages(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := slices.IndexFunc(places, func(p place) bool { return matches(p.name, name) })
			require.GreaterOrEqual(t, at, 0, "package %s has no place in the package map", name)
			rule := places[at]
			for _, linked := range all[name].Deps {
				ours, isOurs := strings.CutPrefix(linked, module+"/")
				if linked == module {
					ours, isOurs = ".", true
				}
				if isOurs {
					require.True(t, slices.ContainsFunc(rule.ours, func(pattern string) bool { return matches(pattern, ours) }),
						"%s links %s: only %v are allowed", name, ours, rule.ours)
					continue
				}
				for _, never := range rule.never {
					require.False(t, within(linked, never), "%s links %s", name, linked)
				}
			}
		})
	}
}

// TestProgramLinksNoTestTools keeps what only tests need out of the binary.
func TestProgramLinksNoTestTools(t *testing.T) {
	t.Parallel()
	program := packages(t)["cmd/holdpoint"]
	require.NotNil(t, program)
	require.Contains(t, program.Deps, module+"/runs", "go list must tell what the program links")
	for _, linked := range program.Deps {
		for _, tool := range forTests {
			require.False(t, within(linked, tool), "the program links %s", linked)
		}
	}
}

// TestDomainReadsNoClock holds that the domain is handed the moment and randomness.
// Identifiers are the exception: runs.NewID is the source of production, which the
// door is handed.
func TestDomainReadsNoClock(t *testing.T) {
	t.Parallel()
	domain := packages(t)["runs"]
	require.NotNil(t, domain)
	require.NotContains(t, domain.Imports, "time")
	require.NotContains(t, domain.Imports, "math/rand")
	require.NotContains(t, domain.Imports, "math/rand/v2")
	require.NotContains(t, domain.Imports, "crypto/rand")
}

func matches(pattern, name string) bool {
	matched, err := path.Match(pattern, name)
	return err == nil && matched
}

// within reports whether a package is the other one or below it.
func within(imported, parent string) bool {
	if imported == "database/sql/driver" {
		return false // interfaces alone, which libraries for identifiers implement
	}
	return imported == parent || strings.HasPrefix(imported, parent+"/")
}
