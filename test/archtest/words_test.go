package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxStiltedPhrases is how many phrases of stilted the tree still has: all are "owed", the name of a member. Lower it after
// rewording some; never raise it.
const maxStiltedPhrases = 8

// phrase is an unidiomatic phrase and its replacement.
type phrase struct {
	find *regexp.Regexp
	rule string
	// shown limits the rule to strings and Markdown, which users read.
	shown bool
}

// stilted are phrases that readers have to decode: a pronoun or a relative clause in
// place of a noun, or an unusual word order.
var stilted = []phrase{
	stiltedPhrase(`\bis no\b`, `write "is not a ..."`),
	stiltedPhrase(`\bwhoever\b`, `name the actor: the caller, the worker, a user`),
	stiltedPhrase(`(?:\A|\n\n|[.:;] |\bis |\bare )(?:those|that) of\b`, `name the thing instead of "that of" or "those of"`),
	stiltedPhrase(`\bbeside\b`, `write "next to", "with" or "outside of"`),
	stiltedPhrase(`\balso when\b`, `write "even if"`),
	stiltedPhrase(`\bfor ever\b`, `write "forever", or "never expires"`),
	stiltedPhrase(`\bwhat (?:waits|is owed|was asked)\b`, `write "pending requests", "pending deliveries" or "the question"`),
	stiltedPhrase(`\bowes?\b`, `name the effect, the delivery or the events`),
	stiltedPhrase(`\banew\b`, `write "again", or name the verb: restart, rewrite, recompute`),
	{find: stiltedPhrase(`\bowed\b`, "").find, rule: `write "pending" or "due"`, shown: true},
}

// idiomatic are good English although a phrase of stilted is in them.
var idiomatic = stiltedPhrase(`\bthere is no\b|\bis no (?:longer|more|less|better|worse|later|earlier)\b`, "").find

// stiltedPhrase returns a phrase. A blank of the pattern matches any white space, so a
// line break does not hide the phrase.
func stiltedPhrase(pattern, rule string) phrase {
	return phrase{find: regexp.MustCompile(`(?i)` + strings.ReplaceAll(pattern, " ", `\s+`)), rule: rule}
}

// TestWordsAreIdiomatic counts the phrases of stilted in comments, strings and Markdown.
func TestWordsAreIdiomatic(t *testing.T) {
	var found []string
	for _, text := range readTexts(t, root(t)) {
		found = append(found, text.stilted()...)
	}
	t.Logf("%d stilted phrases, at most %d are allowed", len(found), maxStiltedPhrases)
	if len(found) > maxStiltedPhrases {
		t.Errorf("%d stilted phrases, at most %d are allowed; reword the new ones:\n%s",
			len(found), maxStiltedPhrases, strings.Join(found, "\n"))
	}
}

// TestStiltedPhrasesAreFound checks the search itself.
func TestStiltedPhrasesAreFound(t *testing.T) {
	source := "// Package p works, also\n// when it is closed.\npackage p\n\n" +
		"// A lease that is no longer valid. There is no other.\n" +
		"var a = `one\nis no two`\n\n" +
		"type b struct {\n\tC int `json:\"owed\"` // the owed c\n}\n"
	var found []string
	for _, text := range textsOfGo(t, "p.go", source) {
		found = append(found, text.stilted()...)
	}
	require.Equal(t, []string{`p.go:1: "also when": write "even if"`, `p.go:7: "is no": write "is not a ..."`}, found)

	found = nil
	prose := "Those of\nothers are owed; whoever.\n"
	for _, text := range textsOfMarkdown("README.md", "# P\n\n```\nbeside\n```\n"+prose) {
		found = append(found, text.stilted()...)
	}
	require.Len(t, found, 3, "the fenced block is skipped: %v", found)
	require.Contains(t, found[0], `README.md:7: "whoever": name the actor`)
	require.Contains(t, found[1], `README.md:6: "Those of": name the thing`)
	require.Contains(t, found[2], `README.md:7: "owed"`)
	page := textOfPage("a.js", "// It works, also\n// when it is closed.\nconst a = html`<p>"+prose+"</p>`;\n")
	shown := strings.Join(page.stilted(), "\n")
	require.Contains(t, shown, "a.js:1: ", "a comment may break a phrase")
	require.Contains(t, shown, "a.js:4: ", "markup is read, too")
}

// readText is a text for readers with its place.
type readText struct {
	file string
	line int
	text string
	// shown says that users read it.
	shown bool
}

// stilted describes the stilted phrases in the text, with their file and line.
func (r *readText) stilted() []string {
	blanked := idiomatic.ReplaceAllStringFunc(r.text, func(match string) string {
		return strings.Map(func(c rune) rune {
			if c == '\n' {
				return c
			}
			return '_'
		}, match)
	})
	var found []string
	for i := range stilted {
		if stilted[i].shown && !r.shown {
			continue
		}
		for _, at := range stilted[i].find.FindAllStringIndex(blanked, -1) {
			words := strings.TrimLeft(blanked[at[0]:at[1]], ".:; \t\n")
			line := r.line + strings.Count(blanked[:at[1]-len(words)], "\n")
			words = strings.Join(strings.Fields(words), " ")
			found = append(found, fmt.Sprintf("%s:%d: %q: %s", r.file, line, words, stilted[i].rule))
		}
	}
	return found
}

// readTexts returns the comments and strings of all Go files, all Markdown, and the pages with their scripts.
func readTexts(t *testing.T, directory string) (texts []readText) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != directory && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor") {
				return filepath.SkipDir
			}
			return nil
		}
		isGo := filepath.Ext(name) == ".go" && name != "words_test.go"
		isPage := filepath.Ext(name) == ".html" || filepath.Ext(name) == ".js"
		if !isGo && !isPage && filepath.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		shown, err := filepath.Rel(directory, path)
		if err != nil {
			return err
		}
		switch {
		case isGo:
			texts = append(texts, textsOfGo(t, filepath.ToSlash(shown), string(text))...)
		case isPage:
			texts = append(texts, textOfPage(filepath.ToSlash(shown), string(text)))
		default:
			texts = append(texts, textsOfMarkdown(filepath.ToSlash(shown), string(text))...)
		}
		return nil
	}))
	require.NotEmpty(t, texts)
	return texts
}

// textsOfGo returns the comments and strings of a Go file, without struct tags and
// imports.
func textsOfGo(t *testing.T, name, source string) (texts []readText) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, group := range file.Comments {
		lines := make([]string, 0, len(group.List))
		for _, comment := range group.List {
			lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(comment.Text, "//"), " "))
		}
		texts = append(texts, readText{name, files.Position(group.Pos()).Line, strings.Join(lines, "\n"), false})
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			node.Tag = nil
		case *ast.BasicLit:
			if node.Kind == token.STRING {
				value := strings.Trim(node.Value, "\"`")
				texts = append(texts, readText{name, files.Position(node.Pos()).Line, value, true})
			}
		}
		return true
	})
	return texts
}

// textOfPage returns an HTML file or a script, of which nearly all is read by users. A comment is one text, as if its
// lines had no slashes.
func textOfPage(name, source string) readText {
	return readText{name, 1, regexp.MustCompile(`(?m)^//`).ReplaceAllString(source, ""), true}
}

// textsOfMarkdown returns a Markdown file without its fenced blocks.
func textsOfMarkdown(name, source string) []readText {
	lines := strings.Split(source, "\n")
	fenced := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fenced || fence {
			lines[i] = ""
		}
		fenced = fenced != fence
	}
	return []readText{{name, 1, strings.Join(lines, "\n"), true}}
}
