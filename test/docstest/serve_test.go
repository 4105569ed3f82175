package docstest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/httpapi/oidc"
	"github.com/holdpoint/holdpoint/httpapi/oidc/oidctest"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// services are the pages of TestServicesOfPagesStart, each with the number of services of its blocks.
var services = map[string]int{"sqlite": 3, "retention": 1, "postgres": 2, "security": 1, "codex": 1, "upgrade": 0}

// greeted tells the URL that a service greets with once it answers.
type greeted struct {
	once sync.Once
	url  chan string
}

var greeting = regexp.MustCompile(`http://[^\s/]*\w`)

func (g *greeted) Write(p []byte) (int, error) {
	if url := greeting.Find(p); url != nil {
		g.once.Do(func() { g.url <- string(url) })
	}
	return len(p), nil
}

// TestServicesOfPagesStart runs the commands of the blocks that are marked serve:PAGE. A service is started on a free port and in
// a folder of its own, and stopped once it answers. The databases of a page on Postgres are one, whose schema is there.
func TestServicesOfPagesStart(t *testing.T) {
	t.Parallel()
	started := map[string]int{}
	addresses := map[string]*strings.Replacer{}
	for _, b := range blocksOf(t) {
		name, is := strings.CutPrefix(b.mark, "serve:")
		if !is {
			continue
		}
		if _, known := started[name]; !known {
			started[name] = 0
			if strings.Contains(b.text, "postgres://") || strings.Contains(b.text, "$URL") {
				database := postgrestest.URL(t)
				addresses[name] = strings.NewReplacer("postgres://holdpoint:secret@db.example:5432/holdpoint?sslmode=verify-full", database, "$URL", database)
			}
		}
		use := func(string) {}
		if name == "security" {
			addresses[name], use = theIssuer(t)
		}
		for line := range strings.Lines(strings.ReplaceAll(b.text, "\\\n", "")) {
			if to := addresses[name]; to != nil {
				line = to.Replace(line)
			}
			words := wordsOf(t, line)
			require.Equal(t, "holdpoint", words[0], "%v: %s", b, line)
			if words[1] == "serve" {
				startOnce(t, line, words[1:], use)
				started[name]++
				continue
			}
			var stdout bytes.Buffer
			code, stderr := runTyping(t.Context(), "yes\n", nil, words[1:], &stdout)
			require.Zero(t, code, "%s: %s", line, stderr)
			require.Regexp(t, map[string]string{"status": `applied`, "up": `nothing is pending`, "down": `^This reverts[^~]*reverted`}[words[2]], &stdout, line)
		}
	}
	require.Equal(t, services, started)
}

// wordsOf are the words of a command, without their quotes.
func wordsOf(t *testing.T, command string) (words []string) {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), command)
	require.NoError(t, err)
	require.Len(t, file.Stmts, 1, command)
	call, is := file.Stmts[0].Cmd.(*syntax.CallExpr)
	require.True(t, is, command)
	for _, word := range call.Args {
		words = append(words, plain(word))
	}
	return words
}

// theIssuer puts an issuer and free ports into the place of those of the page, and looks at the sign-in of a service and at the
// roles of people by their groups.
func theIssuer(t *testing.T) (addresses *strings.Replacer, use func(url string)) {
	t.Helper()
	issuer := oidctest.Start(t)
	secret := filepath.Join(t.TempDir(), "oidc")
	require.NoError(t, os.WriteFile(secret, []byte(oidctest.ClientSecret), 0o600))
	addresses = strings.NewReplacer("https://login.example/realms/acme", issuer.URL, "/run/secrets/oidc", secret, "0.0.0.0:4000", "127.0.0.1:0")
	return addresses, func(url string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+oidc.StartPath, nil)
		require.NoError(t, err)
		request.Host = "holdpoint.example"
		answer, err := http.DefaultTransport.RoundTrip(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		to, err := answer.Location()
		require.NoError(t, err)
		require.Equal(t, issuer.URL, to.Scheme+"://"+to.Host)
		require.Equal(t, "https://holdpoint.example"+oidc.CallbackPath, to.Query().Get("redirect_uri"))
		for group, role := range map[string]api.Role{"platform": api.RoleAdmin, "oncall": api.RoleOperator, "everybody": api.RoleObserver} {
			issuer.Is("mara", group)
			mara, err := client.New(url, client.WithToken(issuer.IDToken(nil)))
			require.NoError(t, err)
			me, err := mara.Me(t.Context())
			mara.Close()
			require.NoError(t, err)
			require.Equal(t, role, me.Role)
		}
	}
}

// startOnce starts a service on a free port, uses it, and stops it.
func startOnce(t *testing.T, line string, words []string, use func(url string)) {
	t.Helper()
	folder := t.TempDir()
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "/var/lib/holdpoint", folder)
	}
	environment := map[string]string{
		"HOLDPOINT_LISTEN": "127.0.0.1:0", "HOLDPOINT_DATABASE": "sqlite:" + filepath.Join(folder, "holdpoint.db"),
	}
	ctx, stop := context.WithCancel(t.Context())
	stdout, ended := &greeted{url: make(chan string, 1)}, make(chan struct{})
	var code int
	var stderr string
	go func() {
		defer close(ended)
		code, stderr = runIn(ctx, environment, words, stdout)
	}()
	defer func() {
		stop()
		<-ended
		require.Zero(t, code, "%s: %s", line, stderr)
	}()
	select {
	case url := <-stdout.url:
		use(url)
	case <-ended:
		t.Fatalf("%s ended with %d: %s", line, code, stderr)
	}
}

// runIn runs a command with an environment.
func runIn(ctx context.Context, environment map[string]string, words []string, stdout io.Writer) (code int, stderr string) {
	return runTyping(ctx, "", environment, words, stdout)
}

// runTyping is runIn for a command that asks.
func runTyping(ctx context.Context, typed string, environment map[string]string, words []string, stdout io.Writer) (code int, stderr string) {
	var errs bytes.Buffer
	code = cli.Run(ctx, words, func(name string) (string, bool) {
		value, is := environment[name]
		return value, is
	}, strings.NewReader(typed), stdout, &errs)
	return code, errs.String()
}
