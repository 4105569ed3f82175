package rules

import (
	"path"
	"regexp"
	"strings"

	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

// climbs reports whether a path, or a list of paths, has a ".." segment, encoded or not.
func climbs(text string) bool {
	last := text
	for plain := range shellcmd.Unescaped(text) {
		for segment := range strings.FieldsFuncSeq(Folded(plain), func(r rune) bool { return strings.ContainsRune(`/\"`, r) }) {
			if strings.Trim(segment, " \t\r\n\x00") == ".." || shellcmd.Climbs(segment) {
				return true
			}
		}
		last = plain
	}
	return shellcmd.IsEscaped(last)
}

// cleaned returns a path in its shortest form, with slashes for backslashes. A trailing slash
// stays.
func cleaned(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ReplaceAll(text, `\`, "/")
	short := path.Clean(text)
	if strings.HasSuffix(text, "/") && short != "/" {
		short += "/"
	}
	return short
}

// absolute reports whether a path is independent of a folder.
func absolute(text string) bool {
	return strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || len(text) > 2 && text[1] == ':' && text[2] == '/'
}

// placeForms returns the forms of a path that deny and ask rules compare: as written, and every
// reading by a program. A relative path is relative to each of the folders, whose forms have that many bytes.
func placeForms(text string, folders []string) (forms []string, inFolders int) {
	seen := map[string]bool{}
	add := func(form string) {
		if form = Folded(form); !seen[form] {
			seen[form] = true
			forms = append(forms, form)
		}
	}
	whole := func(short string) {
		for _, form := range []string{short, withoutAlias(short)} {
			add(form)
			bare := strings.TrimSuffix(form, "/")
			for _, form := range []string{bare, withoutTails(bare)} {
				add(form)
				add(form + "/") // a folder: "/etc/**" matches "/etc"
			}
		}
	}
	place := func(text string) {
		add(text)
		short := cleaned(strings.TrimSpace(text))
		if short == "" {
			add(short)
			return
		}
		whole(short)
		if absolute(short) {
			return
		}
		before := len(forms)
		for _, folder := range folders {
			whole(cleaned(folder + "/" + short))
		}
		for _, form := range forms[before:] {
			inFolders += len(form)
		}
		if above := leadingUp.ReplaceAllString(short, "/"); above != short {
			whole(above) // the folder that it starts in may be that deep
		}
	}
	text = shellcmd.Scrub(text)
	place(text)
	for plain := range shellcmd.Unescaped(text) {
		place(plain)
		if local, is := strings.CutPrefix(Folded(plain), "file:"); is {
			if hosted, is := strings.CutPrefix(local, "//"); is {
				_, local, _ = strings.Cut(hosted, "/")
			}
			place("/" + strings.TrimLeft(local, "/"))
		}
		if before, _, cut := strings.Cut(plain, "\x00"); cut {
			place(before)
		}
	}
	return forms, inFolders
}

// leadingUp is the way up at the beginning of a path in its shortest form.
var leadingUp = regexp.MustCompile(`^(\.\./)+`)

// alias is the beginning of a path that leads to the path behind it.
var alias = regexp.MustCompile(`(?i)^(/proc/(self|thread-self|[0-9]+)(/task/[0-9]+)?/root|/private|/system/volumes/data|/[?.])/`)

// withoutAlias returns an absolute path without such beginnings.
func withoutAlias(path string) string {
	for {
		to := alias.FindStringIndex(path)
		if to == nil {
			return path
		}
		path = path[to[1]-1:]
	}
}

// withoutTails cuts the parts of a segment that some systems ignore: trailing dots and blanks,
// and the name of a stream.
func withoutTails(text string) string {
	segments := strings.Split(text, "/")
	for i, segment := range segments {
		if drive := i == 0 && len(segment) == 2; !drive {
			segment, _, _ = strings.Cut(segment, ":")
		}
		if short := strings.TrimRight(segment, ". "); short != "" {
			segments[i] = short
		}
	}
	return strings.Join(segments, "/")
}

// placeGlobs returns the globs that a path glob of a deny or ask rule stands for. Those in
// relative apply to absolute paths only.
func placeGlobs(glob string) (globs, relative []string) {
	glob = Folded(glob)
	short := cleaned(glob)
	globs = []string{glob}
	if short != glob {
		globs = append(globs, short)
	}
	if !absolute(short) && !strings.HasPrefix(short, "*") && short != "" {
		relative = []string{"**/" + short}
	}
	return globs, relative
}

// spelledPlace marks the bytes of a path that a wildcard must not cover: invisible characters,
// and the ones that end or change the host of a URL.
func spelledPlace(text string) []bool {
	spelled := make([]bool, len(text))
	for at, r := range text {
		if r < ' ' || r == 0x7f || Folded(string(r)) == "" {
			spelled[at] = true
		}
	}
	if before, host, is := strings.Cut(text, beforeHost); is && host != "" {
		markHost(text, len(before)+len(beforeHost), false, spelled)
	}
	return spelled
}

// spelledStructure marks the bytes of a JSON text that a wildcard must not cover: everything
// outside of its strings, and their quotes.
func spelledStructure(text string) []bool {
	spelled := make([]bool, len(text))
	inText := false
	for at := 0; at < len(text); at++ {
		switch {
		case text[at] == '"':
			spelled[at], inText = true, !inText
		case inText && text[at] == '\\':
			at++
		case !inText:
			spelled[at] = true
		}
	}
	return spelled
}
