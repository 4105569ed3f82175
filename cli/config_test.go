package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "holdpoint.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestFlagsWinOverVariablesAndThoseOverTheFile(t *testing.T) {
	t.Parallel()
	path := writeFile(t, `{"listen":"127.0.0.1:1","log_level":"warn","log-format":"json","allowed_host":["a.example","b.example"],"max_attempts":3,"dialects":["hermes","relay"],"pooled":true,"migrate":"off","keep_runs":"90d"}`)
	got := run(t.Context(), map[string]string{"HOLDPOINT_LOG_LEVEL": "error", "HOLDPOINT_LISTEN": "127.0.0.1:2", "HOLDPOINT_CONFIG": path}, "",
		"config", "print", "--listen", "127.0.0.1:3", "--database", "postgres://ada:hunter2@db/holdpoint?sslpassword=hunter2", "--review-hook", "https://hooks.example/hunter2")
	require.Zero(t, got.code, got.stderr)
	require.NotContains(t, got.stdout, "hunter2")
	var printed map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &printed))
	for member, want := range map[string]any{
		"listen": "127.0.0.1:3", "log_level": "ERROR", "log_format": "json", "allowed_host": []any{"a.example", "b.example"},
		"max_attempts": 3.0, "pooled": true, "keep_runs": "90d", "dialects": []any{"hermes", "relay"},
		"review_hook": "https://hooks.example/…", "shutdown_timeout": "30s", "idempotency_retention": "7d",
	} {
		require.Equal(t, want, printed[member], member)
	}

	// The output is a configuration file with the same values.
	delete(printed, "database")
	delete(printed, "review_hook")
	text, err := json.Marshal(printed)
	require.NoError(t, err)
	same := run(t.Context(), nil, "", "config", "print", "--config", writeFile(t, string(text)), "--database", "postgres://ada:hunter2@db/holdpoint?sslpassword=hunter2", "--review-hook", "https://hooks.example/hunter2")
	require.Zero(t, same.code, same.stderr)
	require.JSONEq(t, got.stdout, same.stdout)
}

// Without a password the output is a configuration file as it is, with its members in order.
func TestConfigPrintPrintsAFile(t *testing.T) {
	t.Parallel()
	got := run(t.Context(), nil, "", "config", "print", "--database", "postgres://holdpoint@db.example/holdpoint?sslmode=verify-full")
	require.Zero(t, got.code, got.stderr)
	members := regexp.MustCompile(`(?m)^  "(\w+)"`).FindAllString(got.stdout, -1)
	require.Greater(t, len(members), 30)
	require.True(t, slices.IsSorted(members), got.stdout)
	same := run(t.Context(), nil, "", "config", "print", "--config", writeFile(t, got.stdout))
	require.Zero(t, same.code, same.stderr)
	require.Equal(t, got.stdout, same.stdout)
}

// Numbers of the file arrive as they are, however large.
func TestLargeNumbersInAFile(t *testing.T) {
	t.Parallel()
	got := run(t.Context(), nil, "", "config", "print", "--limit-bytes", "268435456", "--limit-stored", "10737418240", "--max-attempts", "9007199254740993")
	require.Zero(t, got.code, got.stderr)
	same := run(t.Context(), nil, "", "config", "print", "--config", writeFile(t, got.stdout))
	require.Zero(t, same.code, same.stderr)
	require.Equal(t, got.stdout, same.stdout)
	for _, text := range []string{`{"limit_bytes":268435456.0}`, `{"limit_bytes":2.68435456e8}`, `{"limit_bytes":"268435456"}`} {
		got := run(t.Context(), nil, "", "config", "print", "--config", writeFile(t, text))
		require.Zero(t, got.code, got.stderr)
		require.Contains(t, got.stdout, `"limit_bytes": 268435456,`, text)
	}
}

func TestABadFileIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"listn":"x"}`:                     `unknown flag "listn"`,
		`{"config":"x"}`:                    `unknown flag "config"`,
		`{"log_level":"a","log-level":"b"}`: "twice",
		`{"auth":"required","auth":"none"}`: `duplicate object member name "auth"`,
		`{"allowed_host":["a,b"]}`:          "without commas",
		`{"listen":{}}`:                     "a string, a number",
		`{"listen":null}`:                   "a string, a number",
		`[]`:                                "a JSON object",
		`{`:                                 "a JSON object",
		`{"max_attempts":"x"}`:              "max-attempts",
		`{"max_attempts":1.5}`:              "1.5",
		`{"max_attempts":1e999}`:            "a string, a number",
		`{} {}`:                             "a JSON object",
		`{"migrate":"maybe"}`:               "migrate",
	} {
		got := run(t.Context(), nil, "", "config", "print", "--config", writeFile(t, text))
		require.Equal(t, 2, got.code, text)
		require.Contains(t, got.stderr, want, text)
	}
	got := run(t.Context(), nil, "", "serve", "--config", filepath.Join(t.TempDir(), "missing.json"))
	require.Equal(t, 2, got.code)
	require.Contains(t, got.stderr, "missing.json")
	require.Contains(t, got.stderr, "error: configuration: ", "not a flag that is not in it")
	// Other commands read no configuration file.
	got = run(t.Context(), map[string]string{"HOLDPOINT_CONFIG": writeFile(t, `{"listn":1}`)}, "", "version")
	require.Zero(t, got.code)
}

func TestCommandsReachASocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a socket")
	url, stop := serve(t, "--listen", "unix:"+path, "--database", "sqlite::memory:")
	require.Equal(t, "unix:"+path, url)
	got := run(t.Context(), nil, "", "approvals", "list", "--json", "--server", url)
	require.Zero(t, got.code, got.stderr)
	last := stop()
	require.Zero(t, last.code, last.stderr)
	require.Contains(t, last.stdout, "curl --unix-socket '"+path+"' http://localhost/v1/approvals")
	require.Contains(t, last.stdout, "exec --server '"+url+"' ")
	require.NoFileExists(t, path)
	require.Contains(t, run(t.Context(), nil, "", "approvals", "list", "--server", url).stderr, "no holdpoint service answers")
}

// TestConfigPrintRefusesWhatServeRefuses: both refuse each of these with the same message.
func TestConfigPrintRefusesWhatServeRefuses(t *testing.T) {
	t.Parallel()
	const keys = "HOLDPOINT_SECRET_KEY"
	for _, refused := range []struct {
		environment map[string]string
		flags       []string
	}{
		{map[string]string{keys: "x"}, nil},
		{map[string]string{keys: strings.Repeat("A", 43) + "="}, []string{"--secret-key-file", filepath.Join(t.TempDir(), "keys")}},
		{map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, []string{"--otlp-endpoint", "http://collector"}},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector"}, nil},
		{map[string]string{"HOLDPOINT_LISTEN": "nowhere"}, nil},
	} {
		refuseAlike(t, refused.environment, refused.flags)
	}
	for _, flags := range [][]string{
		{"--database", "mysql://db.example/holdpoint"},
		{"--database", "sqlite:holdpoint.db?mode=ro"},
		{"--listen", "127.0.0.1:65536"},
		{"--admin-addr", "127.0.0.1:no-such-service"},
		{"--listen", "nowhere"},
		{"--listen", "unix:"},
		{"--listen", "0.0.0.0:4000", "--auth", "none"},
		{"--admin-addr", "9090"},
		{"--tls-cert", "cert.pem"},
		{"--client-ca", "ca.pem"},
		{"--pooled"},
		{"--direct-database", "postgres://here"},
		{"--pooled", "--direct-database", "postgres://here", "--database", "sqlite:holdpoint.db"},
		{"--pooled", "--direct-database", "here", "--database", "postgres://proxy/holdpoint"},
		{"--pooled", "--direct-database", "postgres://u:50%@here", "--database", "postgres://proxy/holdpoint"},
		{"--callback-roles", "none,admin"},
		{"--max-attempts", "0"},
		{"--shutdown-timeout", "2562047h47m16s"},
		{"--limit-rate=-2"},
		{"--limit-burst=-1"},
		{"--keep-runs", "1h"},
		{"--dialects", "klingon"},
		{"--webhook-allow", "everything"},
		{"--callback-allow", "everything"},
		{"--review-hook", "ftp://example.com"},
		{"--otlp-endpoint", "nowhere"},
		{"--oidc-client-id", "me"},
		{"--oidc-issuer", "https://issuer.example"},
		{"--oidc-issuer", "http://issuer.example", "--oidc-client-id", "me"},
		{"--oidc-issuer", "https://issuer.example", "--oidc-client-id", "me", "--oidc-roles", "nonsense"},
		{"--oidc-issuer", "https://issuer.example", "--oidc-client-id", "me", "--oidc-roles", "people=admin,people=observer"},
		{"--oidc-issuer", "https://u:hunter2@issuer.example", "--oidc-client-id", "me", "--oidc-roles", "people=admin"},
		{"--oidc-issuer", "https://u:hunter2%@issuer.example", "--oidc-client-id", "me", "--oidc-roles", "people=admin"},
		{"--oidc-issuer", "https://issuer.example", "--oidc-client-id", "me", "--oidc-roles", "people=operator", "--external-url", "https://holdpoint.example/path"},
		{"--external-url", "holdpoint.example"},
		{"--external-url", "holdpoint.example:4000"},
		{"--external-url", "ftp://holdpoint.example"},
		{"--external-url", "https://"},
		{"--external-url", "https://:4000"},
		{"--external-url", "https://holdpoint.example/?x"},
		{"--allowed-origin", "https://inbox.example/path"},
	} {
		refuseAlike(t, nil, flags)
	}
}

// Variables that the library for traces reads from the process.
func TestConfigPrintRefusesTheAttributesThatServeRefuses(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "nonsense")
	refuseAlike(t, nil, []string{"--otlp-endpoint", "http://collector"})
	require.Zero(t, run(t.Context(), nil, "", "config", "print").code, "without traces nothing reads them")
}

// Nothing reads the endpoint of traces that are switched off.
func TestConfigPrintPrintsAnEndpointThatIsNotUsed(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector"} {
		got := run(t.Context(), map[string]string{name: value}, "", "config", "print", "--otlp-endpoint", "nowhere")
		require.Zero(t, got.code, "%s: %s", name, got.stderr)
	}
}

// refuseAlike fails unless serve and config print refuse the settings with the same message.
func refuseAlike(t *testing.T, environment map[string]string, flags []string) {
	t.Helper()
	printed := run(t.Context(), environment, "", append([]string{"config", "print"}, flags...)...)
	require.Equal(t, 2, printed.code, "%s %s: %s", environment, flags, printed.stdout)
	served := run(t.Context(), environment, "", append([]string{"serve", "--database", "sqlite::memory:"}, flags...)...)
	require.Equal(t, 2, served.code, "%s %s: %s", environment, flags, served.stderr)
	require.Equal(t, served.stderr, printed.stderr, "%s %s", environment, flags)
	require.NotContains(t, served.stderr, "hunter2")
}
