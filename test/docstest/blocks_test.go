package docstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"mvdan.cc/sh/v3/syntax"

	"github.com/holdpoint/holdpoint/cli"
	"github.com/holdpoint/holdpoint/test/rig"
)

// maxChecked is how many blocks no test runs.
const maxChecked = 4

// block is a fenced block of a page. Its mark is the HTML comment on the line before it.
type block struct {
	page, language, mark, text string
	line                       int
}

func (b block) String() string { return fmt.Sprintf("%s:%d (%s)", b.page, b.line, b.language) }

const readme = "README.md"

var fence = regexp.MustCompile("(?ms)^(?: *<!-- ([^\n]+) -->\n)?( *)```([a-z]*)\n(.*?)^ *```$")

// blocksOf returns the blocks of all pages that people read.
func blocksOf(t *testing.T) (all []block) {
	t.Helper()
	names := documents(t)
	for _, folders := range []string{"sdk/*", "examples", "examples/*"} {
		some, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folders), readme))
		require.NoError(t, err)
		names = append(names, some...)
	}
	for _, name := range names {
		text := read(t, name)
		page, err := filepath.Rel(root, name)
		require.NoError(t, err)
		found := fence.FindAllStringSubmatchIndex(text, -1)
		require.Equal(t, strings.Count(text, "```"), 2*len(found), "%s: a fence is not read", page)
		for _, at := range found {
			one := block{page: filepath.ToSlash(page), language: text[at[6]:at[7]], text: text[at[8]:at[9]], line: lineOf(text, at[6])}
			if at[2] >= 0 {
				one.mark = text[at[2]:at[3]]
			}
			all = append(all, one)
		}
	}
	require.Greater(t, len(all), 250)
	return all
}

// runner is a test that runs blocks of pages as they are written: the blocks with marks of a kind, or
// all blocks of a language.
type runner struct {
	pages           string // a pattern of filepath.Match
	kind, languages string // "test" for <!-- test:name -->; languages separated by blanks
	file, test      string // patterns of files, separated by blanks, and one of their tests
}

var runners = []runner{
	{pages: readme, kind: "smoke", file: ".ci/smoke"},
	{pages: readme, kind: "ci", file: ".ci/jobs/in-process"},
	{pages: readme, kind: "compose", file: ".ci/compose/*"},
	{pages: "docs/deploy.md", kind: "image", file: ".ci/image"},
	{pages: "docs/deploy.md", kind: "test", file: "test/sdk/deploy_test.go", test: "TestTheUnitIsInstalledAsThePageSays"},
	{pages: "docs/benchmark*.md", kind: "nightly", file: ".ci/nightly"},
	{pages: "docs/agents.md", kind: "test", file: "test/agents/*_test.go cli/agent/agent_test.go", test: "TestClaudeCodeWaitsForAPerson"},
	{pages: "docs/mcp.md", kind: "test", file: "mcptools/overhttp/document_test.go", test: "TestTheDocument"},
	{pages: "docs/doctor.md", kind: "test", file: "runs/doctor/storage_test.go", test: "TestDamagedStorageIsFound"},
	{pages: "docs/postgres.md", kind: "test", file: "test/failover/pooler_test.go", test: "TestTwoReplicasBehindAProxyThatPoolsByTransaction"},
	{pages: "docs/security-review.md", kind: "test", file: "test/docstest/review_test.go", test: "TestRolesOfTheReview"},
	{pages: "docs/notifications.md", kind: "test", file: "test/docstest/addresses_test.go", test: "TestAnAddressIsVerifiedAsThePageSays"},
	{pages: "docs/cli.md", languages: "sh", file: "cli/examples_test.go", test: "TestExamplesAreRun"},
	{pages: "docs/webhooks.md", languages: "sh", file: "cli/examples_test.go", test: "TestExamplesAreRun"},
	{pages: "docs/hermes.md", languages: "console", file: "httpapi/dialects/hermes/document_test.go", test: "TestDocument"},
	{pages: "docs/timbal.md", languages: "console", file: "httpapi/dialects/timbal/document_test.go", test: "TestDocument"},
	{pages: "docs/timbal.md", languages: "js", file: "test/clients/timbal_test.go", test: "TestTheProgramOfThePage"},
	{pages: "docs/timbal.md", kind: "test", file: "test/clients/timbal_test.go", test: "TestTheProgramOfThePage"},
	{pages: "docs/behind-a-proxy.md", languages: "js", file: "test/sdk/proxies_test.go", test: "TestViteServesAPageOfTheService"},
	{pages: "docs/behind-a-proxy.md", languages: "caddyfile", file: "test/sdk/proxies_test.go", test: "TestCaddyPassesCalls"},
	{pages: "docs/hermes.md", languages: "caddyfile", file: "test/sdk/proxies_test.go", test: "TestCaddyPassesCalls"},
	{pages: "docs/architecture.md", languages: "mermaid", file: "test/docstest/errors_test.go", test: "TestStateMachineIsDrawn"},
	{pages: "sdk/python/README.md", kind: "test", file: "test/sdk/python_test.go", test: "TestPythonPackageIsWhatItsReadmeSays"},
	{pages: "sdk/python/README.md", languages: "python", file: "test/sdk/python_test.go", test: "TestPythonPackageIsTyped"},
	{pages: "sdk/typescript/README.md", kind: "test", file: "test/sdk/typescript_test.go", test: "TestTypeScriptPackageIsWhatItsReadmeSays"},
	{pages: "sdk/typescript/README.md", languages: "ts", file: "test/sdk/typescript_test.go", test: "TestTypeScriptPackageIsWhatItsReadmeSays"},
	{pages: "docs/sdk.md", kind: "test", file: "test/sdk/module_test.go", test: "TestGoModulesStartFromTheirPages"},
	{pages: "examples/*/" + readme, kind: "test", file: "test/sdk/*_test.go", test: "TestFrameworksWaitWithoutAProcess"},
	{pages: "docs/*.md", kind: "serve", file: "test/docstest/serve_test.go", test: "TestServicesOfPagesStart"},
	{pages: "docs/*.md", languages: "sh", file: "test/sdk/pages_test.go", test: "TestPagesAreTyped"},
}

// runs reports whether the test of r runs a block. sources have the text of its files.
func (r runner) runs(t *testing.T, sources map[string]string, b block) bool {
	t.Helper()
	if ok, err := filepath.Match(r.pages, b.page); err != nil || !ok {
		require.NoError(t, err)
		return false
	}
	kind, name, marked := strings.Cut(b.mark, ":")
	if r.kind != "" && (!marked || kind != r.kind) || r.languages != "" && !slices.Contains(strings.Fields(r.languages), b.language) {
		return false
	}
	source := sources[r.file]
	if r.test != "" {
		require.Regexp(t, `(?m)^func `+r.test+`\(t \*testing\.T\)`, source)
	}
	if r.kind != "" {
		require.True(t, namesMark(source, name), "%v: %s does not name the mark %s", b, r.file, name)
	}
	if strings.HasSuffix(r.pages, "/*.md") { // a runner that lists its pages
		return strings.Contains(source, `"`+strings.TrimSuffix(filepath.Base(b.page), ".md")+`"`)
	}
	return true
}

// namesMark reports whether a test names a mark, or the beginning that it has in common with others.
func namesMark(source, name string) bool {
	for at, sign := range name {
		if beginning := name[:at+1]; sign == '-' && (strings.Contains(source, beginning+`"`) || strings.Contains(source, beginning+"[")) {
			return true
		}
	}
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(source)
}

// TestEveryBlockIsRunOrChecked: a block of a page is run by a test as it is written, or it is data that
// its parser takes, or a piece of a Go program that TestGoBlocksBuild compiles, or it is marked:
// "text" is output or a drawing, "<!-- checked: REASON -->" is not run, for the reason. Commands that are not run
// are still read: bash knows the syntax, holdpoint each command and flag, and what is started in the tree exists.
func TestEveryBlockIsRunOrChecked(t *testing.T) {
	t.Parallel()
	sources := map[string]string{}
	for _, r := range runners {
		for pattern := range strings.FieldsSeq(r.file) {
			files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
			require.NoError(t, err)
			require.NotEmpty(t, files, pattern)
			for _, file := range files {
				sources[r.file] += read(t, file)
			}
		}
	}
	count := map[string]int{}
	for _, b := range blocksOf(t) {
		reason, checked := strings.CutPrefix(b.mark, "checked: ")
		run := !checked && slices.ContainsFunc(runners, func(r runner) bool { return r.runs(t, sources, b) })
		switch b.language {
		case "text":
			count["output"]++
		case "json":
			require.True(t, json.Valid([]byte(b.text)), "%v is not JSON: mark what is left out as text", b)
			count["data"]++
		case "yaml":
			var value any
			require.NoError(t, yaml.Unmarshal([]byte(b.text), &value), "%v", b)
			count["data"]++
		case "go", "nginx":
			count["built"]++ // TestGoBlocksBuild, TestProxiesAreConfigured
		case "console", "sh", "bash":
			if !run || b.mark != "" { // a mark may mean that it is not typed
				checkCommands(t, b)
			}
			fallthrough
		case "mermaid", "python", "ts", "js", "sql", "toml", "caddyfile":
			require.True(t, run || checked, "%v is run by no test: write why with <!-- checked: REASON -->, or let a test run it", b)
			if checked {
				require.Greater(t, len(strings.Fields(reason)), 2, "%v: say why no test runs it", b)
				count["checked"]++
			} else {
				count["run"]++
			}
		default:
			require.Fail(t, "a block without a language that this test knows", "%v: output and drawings are text", b)
		}
	}
	t.Logf("%v", count)
	require.LessOrEqual(t, count["checked"], maxChecked, "blocks that no test runs: lower maxChecked after one is run, never raise it")
}

// checkCommands reads the commands of a block without running them. Of a console block these are the
// lines after a prompt.
func checkCommands(t *testing.T, b block) {
	t.Helper()
	text := b.text
	if b.language == "console" {
		text = strings.Join(regexp.MustCompile(`(?m)^\$ .*$`).FindAllString(b.text, -1), "\n")
		text = strings.ReplaceAll("\n"+text, "\n$ ", "\n")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), b.String())
	require.NoError(t, err)
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		words := make([]string, len(call.Args))
		for i, word := range call.Args {
			words[i] = plain(word)
		}
		switch filepath.Base(words[0]) {
		case "holdpoint":
			checkHoldpoint(t, b, words[1:])
		case "go":
			at := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "./") && word != "./..." })
			if at < 0 || words[1] == "test" {
				break
			}
			if words[at] == "./cmd/holdpoint" && words[1] == "run" {
				checkHoldpoint(t, b, words[at+1:])
			}
			if words[1] != "build" || !slices.Contains(words[:at], "-o") || strings.HasPrefix(words[at], "./cmd") {
				require.DirExists(t, filepath.Join(root, words[at]), "%v", b)
			}
		case "make":
			require.Regexp(t, `(?m)^`+regexp.QuoteMeta(words[1])+`:`, document(t, "Makefile"), "%v", b)
		}
		return true
	})
}

// checkHoldpoint requires that the program knows a command and its flags. Help is asked for first, so
// nothing else happens.
func checkHoldpoint(t *testing.T, b block, words []string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	nothing := func(string) (string, bool) { return "", false }
	code := cli.Run(t.Context(), append([]string{"--help"}, words...), nothing, strings.NewReader(""), &stdout, &stderr)
	require.Zero(t, code, "%v: holdpoint %s\n%s", b, strings.Join(words, " "), &stderr)
}

// plain returns a word without its quotes; an expansion is a name.
func plain(word *syntax.Word) string {
	var text strings.Builder
	var parts func(all []syntax.WordPart)
	parts = func(all []syntax.WordPart) {
		for _, part := range all {
			switch part := part.(type) {
			case *syntax.Lit:
				text.WriteString(part.Value)
			case *syntax.SglQuoted:
				text.WriteString(part.Value)
			case *syntax.DblQuoted:
				parts(part.Parts)
			default:
				text.WriteString("expansion")
			}
		}
	}
	parts(word.Parts)
	return text.String()
}

// TestPythonBlocksCompile compiles each block of Python.
func TestPythonBlocksCompile(t *testing.T) {
	t.Parallel()
	python := rig.Need(t, "python3")
	for _, b := range blocksOf(t) {
		if b.language != "python" {
			continue
		}
		command := exec.CommandContext(t.Context(), python, "-c", "import sys; compile(sys.stdin.read(), 'block', 'exec', 0x2000)")
		command.Stdin = strings.NewReader(b.text)
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%v: %s", b, output)
	}
}

// TestProxiesAreConfigured lets nginx read each of its configurations.
func TestProxiesAreConfigured(t *testing.T) {
	t.Parallel()
	nginx := rig.Need(t, "nginx")
	for _, b := range blocksOf(t) {
		if b.language != "nginx" {
			continue
		}
		text := b.text
		if !strings.Contains(text, "http {") {
			text = "events {}\nhttp {\n" + text + "}\n"
		}
		// Any user can read the configuration of a server on a high port.
		text = strings.ReplaceAll("error_log stderr;\n"+text, "listen 443 ssl;", "listen 127.0.0.1:8443 ssl;")
		directory := t.TempDir()
		writeCertificate(t, directory)
		require.NoError(t, os.WriteFile(filepath.Join(directory, "nginx.conf"), []byte(text), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(directory, "token.inc"), []byte("proxy_set_header Authorization \"Bearer x\";\n"), 0o600))
		output, err := exec.CommandContext(t.Context(), nginx, "-t", "-p", directory, "-c", filepath.Join(directory, "nginx.conf")).CombinedOutput()
		require.NoError(t, err, "%v: %s", b, output)
	}
}
