package docstest

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

var (
	// link finds the target of a link in Markdown.
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// elsewhere matches a target outside of the tree.
	elsewhere = regexp.MustCompile(`^[a-z]+:`)
	codeSpan  = regexp.MustCompile("`[^`]*`")
	// named finds a document of docs/ in code, with the heading that may follow: as an
	// anchor, or in quotes, then also on the next line of a comment.
	named = regexp.MustCompile(`docs/[\w./-]+\.md(?:#([\w-]+)|\s+(?:(?://|#|--) )?"([^"\n]+)")?`)
	// anyDocument finds the name of any Markdown file, with a number that may follow.
	anyDocument = regexp.MustCompile(`[\w./-]*[\w-]\.md\b(?: §?\d[\d.]*)?`)
)

// TestLinksLeadSomewhere follows every link from a document to a file of the tree, and
// to a heading in it.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, file := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(prose(read(t, file)), ""), -1) {
			if elsewhere.MatchString(match[1]) {
				continue
			}
			name, anchor, _ := strings.Cut(match[1], "#")
			target := file
			if name != "" {
				target = filepath.Join(filepath.Dir(file), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links %s, which is not there", file, match[1])
				continue
			}
			if anchor != "" && !slices.Contains(headings(read(t, target)), anchor) {
				t.Errorf("%s links %s, and there is no such heading", file, match[1])
			}
		}
	}
}

// TestCodeNamesDocuments holds that every document of docs/ that a comment or a string
// of the code names is there, and so is the heading.
func TestCodeNamesDocuments(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t) {
		text := read(t, filepath.Join(root, file))
		for _, at := range named.FindAllStringSubmatchIndex(text, -1) {
			reference := text[at[0]:at[1]]
			name := reference[:strings.Index(reference, ".md")+len(".md")]
			page, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				continue // TestCodeNamesNoOtherDocument reports it
			}
			there := headings(string(page))
			switch {
			case at[2] >= 0 && !slices.Contains(there, text[at[2]:at[3]]):
				t.Errorf("%s:%d names %s, and there is no such heading", file, lineOf(text, at[0]), reference)
			case at[4] >= 0 && !slices.Contains(there, anchorOf(text[at[4]:at[5]])):
				t.Errorf("%s:%d names %q, and there is no such heading", file, lineOf(text, at[0]), reference)
			}
		}
	}
}

// TestCodeNamesNoOtherDocument holds that code names no Markdown file that is not in
// the repository, and none by the number of a section: no document has numbered ones.
func TestCodeNamesNoOtherDocument(t *testing.T) {
	t.Parallel()
	var offenders []string
	for _, file := range sources(t) {
		for i, line := range strings.Split(read(t, filepath.Join(root, file)), "\n") {
			if strings.Contains(line, "TempDir()") {
				continue // a file that a test makes
			}
			for _, at := range anyDocument.FindAllStringIndex(line, -1) {
				found := line[at[0]:at[1]]
				name, section, _ := strings.Cut(found, " ")
				if at[0] > 0 && line[at[0]-1] == '$' {
					_, name, _ = strings.Cut(name, "/") // a variable of a shell
				}
				if section != "" || !isDocument(file, name) {
					offenders = append(offenders, fmt.Sprintf("%s:%d: %s", file, i+1, found))
				}
			}
		}
	}
	if len(offenders) > 0 {
		t.Errorf("%d references to documents that are not in the repository:\n%s", len(offenders), strings.Join(offenders, "\n"))
	}
}

// TestAnchors holds anchorOf to the rule by which GitHub makes them.
func TestAnchors(t *testing.T) {
	t.Parallel()
	text := "# A `code`, and: more\n## Lease and fence\n```sh\n# no heading\n```\n## Lease and fence\n### [Linked](#lease) _name_s\n"
	require.Equal(t, []string{"a-code-and-more", "lease-and-fence", "lease-and-fence-1", "linked-_name_s"}, headings(text))
}

// isDocument reports whether a name in a file refers to a document: relative to the root,
// to the file, or to a directory above it.
func isDocument(file, name string) bool {
	for _, from := range []string{".", path.Dir(file)} {
		joined := path.Join(from, name)
		if strings.HasPrefix(joined, "..") {
			continue
		}
		if info, err := os.Stat(filepath.Join(root, joined)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// headings returns the anchors of a document, in order.
func headings(text string) []string {
	var anchors []string
	seen := map[string]int{}
	for line := range strings.SplitSeq(prose(text), "\n") {
		level := len(line) - len(strings.TrimLeft(line, "#"))
		if level == 0 || level > 6 || !strings.HasPrefix(line[level:], " ") {
			continue
		}
		anchor := anchorOf(line[level:])
		count := seen[anchor]
		seen[anchor]++
		if count > 0 {
			anchor = fmt.Sprintf("%s-%d", anchor, count)
		}
		anchors = append(anchors, anchor)
	}
	return anchors
}

var linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// anchorOf makes the anchor of a heading as GitHub does: lower case, letters, digits,
// hyphens and underscores stay, spaces become hyphens, everything else goes.
func anchorOf(heading string) string {
	heading = linkText.ReplaceAllString(strings.TrimSpace(heading), "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// prose returns a document without its blocks of code, whose lines become empty.
func prose(text string) string {
	lines := strings.Split(text, "\n")
	inside := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence || inside {
			lines[i] = ""
		}
		inside = inside != fence
	}
	return strings.Join(lines, "\n")
}

// sources returns the files of the tree that are code, as paths from its root.
func sources(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == ".git" || entry.Name() == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		switch ext := path.Ext(relative); {
		case ext == ".go", ext == ".sql", ext == ".sh", ext == ".yaml", ext == ".yml", ext == ".mjs",
			relative == "Makefile", path.Dir(relative) == ".ci":
			files = append(files, relative)
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func lineOf(text string, at int) int { return strings.Count(text[:at], "\n") + 1 }

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}
