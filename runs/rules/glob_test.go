package rules_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// The wildcards of docs/spec/v1.md#glob, and what is literal.
func TestGlob(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		glob    string
		matches []string
		not     []string
	}{
		{"", []string{""}, []string{" ", "a"}},
		{"ls", []string{"ls"}, []string{"", "l", "lss", "LS", "ls ", "xls", "ls\n", "\nls"}},
		{"*", []string{"", "a", "a b\n", "é"}, []string{"/", "a/b"}},
		{"**", []string{"", "a", "/", "a/b\n/c", "\n"}, nil},
		{"***", []string{"", "/", "a/b"}, nil},
		{"?", []string{"a", "é", "\n", "😀"}, []string{"", "/", "ab"}},
		{"npm *", []string{"npm ", "npm test", "npm test; rm -rf ~"}, []string{"npm", "npm a/b", " npm test"}},
		{"rm **", []string{"rm ", "rm -rf /"}, []string{"rm", "sudo rm -rf /"}},
		{"/home/*/x", []string{"/home/a/x", "/home//x"}, []string{"/home/a/b/x", "/home/x"}},
		{"/home/**/x", []string{"/home/a/x", "/home/a/b/x", "/home//x"}, []string{"/home/x"}},
		{"**/*.go", []string{"/a.go", "x/y/z.go"}, []string{"a.go", "x/y/z.go/"}},
		{"a*b**c", []string{"abc", "axb/c", "ab/bc"}, []string{"a/bc", "abcd"}},
		{"a.c", []string{"a.c"}, []string{"abc"}},
		{`[ab]{1,2}(x)|y+^$\d`, []string{`[ab]{1,2}(x)|y+^$\d`}, []string{"a", "y", "(x)"}},
		{`\*`, []string{`\`, `\x`}, []string{"*"}},
		{"?**", []string{"a", "ab/c"}, []string{"", "/a"}},
	} {
		for _, text := range test.matches {
			require.True(t, rules.MatchGlob(test.glob, text), "%q and %q", test.glob, text)
		}
		for _, text := range test.not {
			require.False(t, rules.MatchGlob(test.glob, text), "%q and %q", test.glob, text)
		}
	}
	for _, glob := range []string{"**", "*", "?", "\xff", "*\xff", ""} {
		require.False(t, rules.MatchGlob(glob, "\xff"), "%q matches invalid UTF-8", glob)
	}
}

// slowGlob is a direct implementation of the contract, character by character.
func slowGlob(glob, text string) bool {
	switch {
	case glob == "":
		return text == ""
	case strings.HasPrefix(glob, "**"):
		_, size := utf8.DecodeRuneInString(text)
		return slowGlob(strings.TrimLeft(glob, "*"), text) || text != "" && slowGlob(glob, text[size:])
	case glob[0] == '*':
		_, size := utf8.DecodeRuneInString(text)
		return slowGlob(glob[1:], text) || text != "" && text[0] != '/' && slowGlob(glob, text[size:])
	case text == "":
		return false
	}
	wanted, globSize := utf8.DecodeRuneInString(glob)
	there, size := utf8.DecodeRuneInString(text)
	if wanted == '?' && there != '/' || wanted != '?' && wanted == there {
		return slowGlob(glob[globSize:], text[size:])
	}
	return false
}

func TestGlobSaysWhatTheContractSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.StringOfN(rapid.RuneFrom([]rune("aaé/?**.\n")), 0, 8, -1).Draw(t, "glob")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("aaé/.\n")), 0, 10, -1).Draw(t, "text")
		// Some share a long prefix, to test positions past 64 characters.
		same := strings.Repeat("b", rapid.SampledFrom([]int{0, 60, 63, 64, 130}).Draw(t, "same"))
		glob, text = same+glob, same+text
		require.Equal(t, slowGlob(glob, text), rules.MatchGlob(glob, text))
		for folders, expected := range map[bool]bool{false: slowGlob(glob, text), true: rules.MatchFolders(glob, text)} {
			matches, decided := rules.MatchByBudget(glob, text, folders)
			require.True(t, decided)
			require.Equal(t, expected, matches, "folders: %v", folders)
		}
	})
}

// FuzzGlob: nothing panics, a glob without wildcards matches only itself, and invalid UTF-8
// matches nothing.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""}, {"ls", "ls"}, {"npm *", "npm test"}, {"**/?", "a/b"}, {"[", "["}, {`\E(`, `\E(`}, {"\xff*", "\xff"}, {"a{1000}", "a"}, {"(?i)a", "A"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, text string) {
		matched := rules.MatchGlob(glob, text)
		if !utf8.ValidString(text) {
			require.False(t, matched)
		}
		if !strings.ContainsAny(glob, "*?") {
			require.Equal(t, glob == text && utf8.ValidString(text), matched)
		}
		if utf8.ValidString(glob) {
			require.True(t, rules.MatchGlob(glob+"**", strings.Map(func(r rune) rune {
				if r == '*' || r == '?' {
					return 'x'
				}
				return r
			}, glob)+"/tail"))
		}
	})
}

// A backtracking matcher would never finish with these globs and texts.
func TestGlobDoesNotBacktrack(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", api.MaxGlobText)
	for _, part := range []string{"*a", "**a", "**?", "*"} {
		glob := strings.Repeat(part, api.MaxGlobLength/len(part)-1)
		require.False(t, rules.MatchGlob(glob+"b", text), part)
		require.True(t, rules.MatchGlob(glob, text), part)
	}
}
