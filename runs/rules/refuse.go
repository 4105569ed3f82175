package rules

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

// refusingTexts are the folded texts of an input member for deny and ask rules.
type refusingTexts struct {
	texts []string
	seen  map[string]bool
	// unread says that the list is incomplete: the rule applies.
	unread bool
	// vague says that a glob may match without its letters in a text: parts of a text are unknown,
	// or it is too long for globs.
	vague bool
	// written is the member as written, in lower case; empty if folding changes nothing else.
	written string
}

func (t *refusingTexts) add(text string) { t.addOnce(text, t.seen) }

func (t *refusingTexts) addOnce(text string, seen map[string]bool) {
	if text = Folded(text); !seen[text] {
		seen[text] = true
		t.texts = append(t.texts, text)
		t.vague = t.vague || shellcmd.HasUnknown(text) || len(text) > api.MaxGlobText
	}
}

// refusingGlobs are the globs for the same texts, built when the first call needs them.
type refusingGlobs struct {
	once     sync.Once
	globs    []string
	relative []string // for absolute paths only
	// written, if the glob has wildcards, is for the member as written. Folded, a character may be
	// several, none, or one with the letter before it.
	written string
}

// preparedGlobs has the globs of deny and ask rules, by rule and param.
type preparedGlobs map[*Rule]map[string]*refusingGlobs

func (p preparedGlobs) add(rule *Rule) {
	if rule.Effect == api.RuleAllow || len(rule.Match.Params) == 0 {
		return
	}
	p[rule] = make(map[string]*refusingGlobs, len(rule.Match.Params))
	for name := range rule.Match.Params {
		p[rule][name] = &refusingGlobs{}
	}
}

// of builds the globs of a param.
func (g *refusingGlobs) of(tool, name, glob string) {
	g.once.Do(func() {
		if hasWildcard(glob) {
			g.written = strings.ToLower(glob)
		}
		if meaningOf(tool, name) != meansCommand {
			g.globs, g.relative = placeGlobs(glob)
			return
		}
		forms, further := []string{glob, strings.Join(strings.Fields(glob), " "), shellcmd.PlainGlob(glob)}, strings.HasSuffix(glob, "*")
		if bare := (&Rule{}).bareCommand(glob); bare != "" {
			// A deny is at least as wide as an allow with the same glob.
			forms = slices.Concat(forms, []string{bare, shellcmd.PlainGlob(bare)}, shellcmd.NamedGlobs(bare))
		}
		var folded []string
		for _, form := range append(forms, shellcmd.NamedGlobs(glob)...) {
			if form = Folded(form); slices.Contains(folded, form) {
				continue
			}
			folded = append(folded, form)
			written, inNone := starred(form), starred(strings.ReplaceAll(form, " **/", " "))
			for _, form := range []string{written, inNone, shellcmd.CommutingGlob(written, further), shellcmd.CommutingGlob(inNone, further)} {
				if form != "" && !slices.Contains(g.globs, form) || len(g.globs) == 0 {
					g.globs = append(g.globs, form)
				}
			}
		}
	})
}

// starred makes each star of a glob match slashes: in a command they do not separate segments.
func starred(glob string) string {
	var wide strings.Builder
	for at := 0; at < len(glob); at++ {
		wide.WriteByte(glob[at])
		if glob[at] == '*' && (at == 0 || glob[at-1] != '*') {
			wide.WriteByte('*')
		}
	}
	return wide.String()
}

// refusalFault returns why a param of a deny or ask rule does not match a call. It matches if
// any member with a similar name does, in any form that a program may accept.
func (r *Rule) refusalFault(call *Call, name string) paramFault {
	call.decode()
	members := call.folded[foldedName(name)]
	if len(members) == 0 {
		return paramMissing
	}
	globs := call.prepared[r][name]
	if globs == nil {
		globs = &refusingGlobs{}
		if !call.Budget.read(r.Match.Params[name]) {
			return noFault
		}
	}
	globs.of(r.ToolName, name, r.Match.Params[name])
	for _, member := range members {
		if call.refuses(globs, member) || call.isNumber(member, r.Match.Params[name]) {
			return noFault
		}
	}
	return paramDiffers
}

func (c *Call) isNumber(member, glob string) bool {
	if document.Kind(c.members[member]) != '0' {
		return false
	}
	value, there := c.param(member)
	number, is := canonicalNumber(glob)
	return there && is && number == value
}

func hasWildcard(glob string) bool { return strings.ContainsAny(glob, "*?") }

// foldsOtherwise reports whether folding may change more of a text than its case.
func foldsOtherwise(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf || r == 0 })
}

func (c *Call) refuses(globs *refusingGlobs, member string) bool {
	looked := c.refusingTexts(member)
	if looked.unread {
		return true
	}
	for _, text := range looked.texts {
		for _, glob := range globs.globs {
			if matches, decided := c.Budget.match(globMatch{glob: glob, text: text, folders: true, unknown: true}); matches || !decided {
				return true
			}
		}
		if !absolute(text) {
			continue
		}
		for _, glob := range globs.relative {
			if matches, decided := c.Budget.match(globMatch{glob: glob, text: text, folders: true, unknown: true}); matches || !decided {
				return true
			}
		}
	}
	if looked.written == "" || globs.written == "" {
		return false
	}
	matches, decided := c.Budget.match(globMatch{glob: globs.written, text: looked.written, folders: true})
	return matches || !decided
}

// refusingTexts returns the texts of a member.
func (c *Call) refusingTexts(member string) *refusingTexts {
	if known := c.refusing[member]; known != nil {
		return known
	}
	looked := &refusingTexts{seen: map[string]bool{}}
	c.refusing[member] = looked
	value, there := c.param(member)
	if !there || !c.Budget.read(value) {
		looked.unread = true
		return looked
	}
	command := meaningOf(c.ToolName, member) == meansCommand
	looked.add(shellcmd.Scrub(value))
	if foldsOtherwise(value) {
		looked.written = strings.ToLower(value)
	}
	if holdsStatements(member) {
		for _, text := range leaves(c.members[member], nil) {
			all, read := statements(shellcmd.Scrub(text))
			looked.unread = looked.unread || !read
			for _, one := range all {
				looked.add(one)
			}
		}
	}
	var arguments []argument
	if command {
		var read bool
		if arguments, read = c.arguments(member); !read {
			looked.unread = true
			return looked
		}
	}
	texts := []string{value}
	if document.Kind(c.members[member]) != '"' {
		texts = leaves(c.members[member], nil)
		if command && c.lookAtLists(looked, member, arguments) {
			texts = nil
		}
	}
	var folders []string
	inFolders, allFolders := 0, true
	if !command {
		folders, allFolders = c.folders(member)
		for _, folder := range folders {
			inFolders += len(folder)
		}
	}
	for _, text := range texts {
		if looked.unread {
			return looked
		}
		looked.add(strings.Join(strings.Fields(shellcmd.Scrub(text)), " "))
		switch {
		case !command:
			if !c.Budget.spend(inFolders+len(folders)*len(text)) || !allFolders && !absolute(cleaned(strings.TrimSpace(text))) {
				looked.unread = true
				return looked
			}
			forms, joined := placeForms(text, folders)
			if further := joined - inFolders - len(folders)*len(text); !c.Budget.spend(max(further, 0)) {
				looked.unread = true
				return looked
			}
			for _, form := range forms {
				looked.add(form)
			}
		case strings.TrimSpace(text) != "":
			c.lookAtCommand(looked, text, arguments)
		}
	}
	return looked
}

// lookAtCommand adds the parts of a command, with arguments from another member.
func (c *Call) lookAtCommand(looked *refusingTexts, text string, arguments []argument) {
	text = shellcmd.Scrub(text)
	command, err := shellcmd.Read(text)
	if err != nil {
		looked.unread = true
		return
	}
	looked.parts(command.Parts())
	if windowsShell(c.ToolName) {
		looked.parts(shellcmd.WindowsParts(text), true)
	}
	words := strings.Fields(text)
	for _, more := range arguments {
		if looked.unread {
			return
		}
		c.lookAtArgv(looked, slices.Concat(words, more.words))
		if more.text == "" {
			continue
		}
		if !c.Budget.spend(len(text) + len(more.text)) {
			looked.unread = true
			return
		}
		if command, err := shellcmd.Read(text + " " + more.text); err == nil {
			looked.parts(command.Parts())
		}
	}
}

// maxTexts bounds the texts of one member: each text of a list may have as many parts as one command.
const maxTexts = 1 << 16

func (t *refusingTexts) parts(texts []string, all bool) {
	t.unread = t.unread || !all || len(t.texts) > maxTexts
	seen := make(map[string]bool, len(texts))
	for _, text := range texts {
		t.addOnce(text, seen)
	}
}

// maxFolders bounds the folders that a relative path is read in.
const maxFolders = 16

// folders returns the places which a member's relative paths may be in: the places that other members name, and the call's
// directory for a member that names a path. It returns false if such a member may be in more.
func (c *Call) folders(member string) (found []string, all bool) {
	if !c.Budget.spend(len(c.members)) {
		return nil, false
	}
	path := namesPath(foldedName(member))
	if path && absolute(cleaned(c.Directory)) {
		found = append(found, c.Directory)
	}
	for _, other := range sortedNames(c.members) {
		if other == member || !namesPlace(foldedName(other)) || document.Kind(c.members[other]) != '"' {
			continue
		}
		text, there := c.param(other)
		switch {
		case !there || !absolute(cleaned(text)) || slices.Contains(found, text):
		case len(found) == maxFolders:
			return found, !path
		default:
			found = append(found, text)
		}
	}
	return found, true
}

// leaves returns all strings in a value.
func leaves(value api.JSON, found []string) []string {
	switch document.Kind(value) {
	case '"':
		var text string
		if json.Unmarshal(value, &text) == nil {
			found = append(found, text)
		}
	case '[':
		var items []api.JSON
		if json.Unmarshal(value, &items) == nil {
			for _, item := range items {
				found = leaves(item, found)
			}
		}
	case '{':
		var members map[string]api.JSON
		if json.Unmarshal(value, &members) == nil {
			for _, name := range sortedNames(members) {
				found = leaves(members[name], found)
			}
		}
	}
	return found
}
