package prompt

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	patchHeader = regexp.MustCompile(`(?m)^(?:---|\+\+\+|@@|diff |\*\*\* )`)
	patchLine   = regexp.MustCompile(`(?m)^(?:[-+]|\*\*\* Delete File: )`)
	fileOfPatch = regexp.MustCompile(`^(?:\*\*\* (?:Add|Update|Delete) File: |diff --git a/[^\r]+ b/)[^\r]+$`)
	sideOfPatch = regexp.MustCompile(`^(?:\+\+\+|---) (?:[ab]/)?([^\t]+)`)
	addsFile    = regexp.MustCompile(`^(?:\*\*\* Add File: |new file mode |--- /dev/null)`)
	deletesFile = regexp.MustCompile(`^(?:\*\*\* Delete File: |deleted file mode |\+\+\+ /dev/null)`)
	renamesFile = regexp.MustCompile(`^(?:\*\*\* Move to: |rename to )`)
	marksFile   = regexp.MustCompile(`^\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File: )`)
	hunkHead    = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)
	// headOfPatch is a line before the hunks of a file.
	headOfPatch = regexp.MustCompile(`^(?:\+\+\+|---|@@|diff |index |\*\*\* |(?:old|new|new file|deleted file) mode \d|` +
		`(?:dis)?similarity index \d|(?:rename|copy) (?:from|to) |Binary files |GIT binary patch)`)
)

func patch(m members) string {
	text, _ := m.first("patch", "diff", "input")
	if !patchHeader.MatchString(text) || !patchLine.MatchString(text) {
		return ""
	}
	files := filesOf(text)
	named := 0
	for i := range files {
		if files[i].named {
			named++
		}
	}
	if action := files[0].action(); named <= 1 && len(files) == 1 && action != "" {
		return action
	}
	return editing(named)
}

// patchedFile is what a patch does with one file. Its fate is the action of a file that is new or deleted.
type patchedFile struct {
	named          bool
	fate           string
	added, removed int
}

// action returns what becomes of the file, "" if it is changed. One that is called new and loses lines, or deleted and
// gets some, is changed.
func (f *patchedFile) action() string {
	if f.fate == writeFile && f.removed > 0 || f.fate == deleteFile && f.added > 0 {
		return ""
	}
	return f.fate
}

// filesOf splits a patch by the files that it changes. A line of a hunk may look like the head of a file, and does not
// begin one.
func filesOf(text string) []patchedFile {
	var signs signReader
	files, body := []patchedFile{{}}, false
	for line := range strings.SplitSeq(text, "\n") {
		sign := signs.of(line)
		if sign == '@' || !body {
			starts := fileOfPatch.MatchString(line)
			file := &files[len(files)-1]
			if (starts || body && strings.HasPrefix(line, "--- ")) && (file.named || body) {
				files, body = append(files, patchedFile{}), false
				file = &files[len(files)-1]
			}
			file.head(line, starts, body)
			body = body || strings.HasPrefix(line, "@@") || starts && line[0] == '*'
		}
		switch file := &files[len(files)-1]; sign {
		case '+':
			file.added++
		case '-':
			file.removed++
		}
	}
	return files
}

// head reads a line that may name the file or tell its fate.
func (f *patchedFile) head(line string, starts, body bool) {
	side := sideOfPatch.FindStringSubmatch(line)
	f.named = f.named || starts || side != nil && !body && side[1] != "/dev/null"
	switch {
	case addsFile.MatchString(line):
		f.fate = writeFile
	case deletesFile.MatchString(line):
		f.fate = deleteFile
	case renamesFile.MatchString(line):
		f.fate = ""
	}
}

// signReader reads the signs of a patch's lines: '+', '-', ' ' for an equal line, '@' for the head of a file or of a hunk.
type signReader struct {
	// body is how many lines of the hunk its head has promised: none of them is a head.
	body int
	// marked is of a patch that marks its files by "***": it counts no lines, and only its marks are heads.
	marked bool
}

func (r *signReader) of(line string) byte {
	r.marked = r.marked || r.body <= 0 && marksFile.MatchString(line)
	if r.marked {
		switch {
		case strings.HasPrefix(line, "*** ") || strings.HasPrefix(line, "@@"):
			return '@'
		case line != "" && strings.IndexByte("-+ ", line[0]) >= 0:
			return line[0]
		}
		return ' '
	}
	if r.body <= 0 {
		if counts := hunkHead.FindStringSubmatch(line); counts != nil {
			r.body = linesOf(counts[1]) + linesOf(counts[2])
			return '@'
		}
		if headOfPatch.MatchString(line) {
			return '@'
		}
	}
	switch {
	case strings.HasPrefix(line, `\`): // "No newline at end of file"
		return '@'
	case line != "" && (line[0] == '+' || line[0] == '-'):
		r.body--
		return line[0]
	}
	r.body -= 2
	return ' '
}

// linesOf reads how many lines a hunk has of one side. One is not written.
func linesOf(count string) int {
	if count == "" {
		return 1
	}
	lines, err := strconv.ParseInt(count, 10, 31)
	if err != nil {
		return 1<<30 - 1
	}
	return int(lines)
}
