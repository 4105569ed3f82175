package rules

import (
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"golang.org/x/text/unicode/norm"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

// meaning is the meaning of an input member, which decides how globs match it.
type meaning int

const (
	// meansText is any text. It is also matched as a path if a glob looks like one.
	meansText meaning = iota
	meansCommand
	meansPath
	// meansProse is text for people, or the content of a file.
	meansProse
)

var (
	commandNames = shellcmd.WordSet("command cmd commands commandline cmdline shellcommand bashcommand shcommand script shell bash sh exec run argv program")
	pathNames    = shellcmd.WordSet(`path paths file files filename filenames filepath filepaths targetfile relativepath absolutepath relpath abspath
		dir directory dirs directories folder folders notebookpath notebook uri uris url urls href link location root base basepath baseurl
		source src destination dest dst target from to output outputpath outputfile out cwd workdir workingdirectory`)
	proseNames = shellcmd.WordSet(`description reason explanation justification comment note notes summary title subject body message text content contents
		newcontent filetext oldstring newstring oldstr newstr prompt question query search q label name`)
	windowsShells = shellcmd.WordSet("pwsh cmd")
	shellTools    = shellcmd.WordSet("bash sh zsh fish shell exec execute terminal powershell pwsh console subprocess command commands cmd run")

	// contextNames are members that change the effect of any call.
	contextNames = shellcmd.WordSet(`cwd workdir workingdirectory currentdirectory dir directory chdir root chroot env environment environ envs
		environmentvariables envvars variables host hostname remote container runas asuser asroot sudo elevated elevate privileged
		sandbox sandboxpermissions sandboxpolicy dangerouslydisablesandbox disablesandbox unsandboxed withescalatedpermissions
		escalate escalated shell shellpath interpreter executable stdin args arguments argv flags extraargs`)
	// idleNames are members that do not change the effect of a command.
	idleNames = shellcmd.WordSet(`description reason explanation justification comment note title summary timeout timeoutms timeoutsec timeoutseconds
		timeoutmsec yieldtimems maxoutputtokens maxoutputlength maxoutputbytes maxoutput id callid toolcallid runinbackground isbackground background
		login tty verbose`)
)

// placeEnds are the ends of members' names that name a place.
var placeEnds = strings.Fields(`path paths file files filename filenames dir dirs directory directories folder folders uri uris url urls href
	location target destination dest dst source src root workspace moveto renameto copyto saveas writeto`)

// namesPlace reports whether a member with a folded name names a place.
func namesPlace(name string) bool {
	return pathNames[name] || slices.ContainsFunc(placeEnds, func(end string) bool { return strings.HasSuffix(name, end) })
}

var urlEnds = strings.Fields("uri uris url urls href link")

// namesPath reports whether a member with a folded name names a place that is not a URL.
func namesPath(name string) bool {
	return namesPlace(name) && !slices.ContainsFunc(urlEnds, func(end string) bool { return strings.HasSuffix(name, end) })
}

// holdsPlace reports whether a member has a text that leads out of a folder: an absolute path, one
// with a ".." segment, the URL of a file, or the value of a member that is named like a place: one of
// several edits may be of another file. A member that is too large to read may have one.
func (c *Call) holdsPlace(member string) bool {
	if holds, known := c.places[member]; known {
		return holds
	}
	value := c.members[member]
	holds := !c.Budget.read(string(value)) || slices.ContainsFunc(leaves(value, nil), func(text string) bool {
		text = strings.TrimSpace(text)
		return absolute(cleaned(text)) || climbs(text) || strings.HasPrefix(Folded(text), "file:")
	}) || namesPlaceWithin(value)
	c.places[member] = holds
	return holds
}

// namesPlaceWithin reports whether a value has a member that is named like a place and has a text, or several.
func namesPlaceWithin(value api.JSON) bool {
	switch document.Kind(value) {
	case '[':
		var items []api.JSON
		return json.Unmarshal(value, &items) == nil && slices.ContainsFunc(items, namesPlaceWithin)
	case '{':
		var members map[string]api.JSON
		if json.Unmarshal(value, &members) != nil {
			return false
		}
		for name, one := range members {
			said := func(text string) bool { return text != "" }
			if namesPlace(foldedName(name)) && slices.ContainsFunc(leaves(one, nil), said) || namesPlaceWithin(one) {
				return true
			}
		}
	}
	return false
}

// Folded normalizes a text for what must not be got around by its spelling, such as deny and ask rules:
// no differences of case, Unicode form, or invisible characters.
func Folded(text string) string {
	if foldsOtherwise(text) {
		text = strings.Map(func(r rune) rune {
			if r == 0 || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
				return -1
			}
			return r
		}, norm.NFKC.String(text))
	}
	return strings.ToLower(text)
}

var withoutJoints = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

// foldedName normalizes the spelling of a member's name.
func foldedName(name string) string { return withoutJoints.Replace(Folded(name)) }

// meaningOf returns the meaning of a member of a tool's input.
func meaningOf(tool, member string) meaning {
	name := foldedName(member)
	switch {
	case commandNames[name]:
		return meansCommand
	case pathNames[name]:
		return meansPath
	case idleNames[name]:
		return meansProse
	case shellTool(tool):
		return meansCommand
	case proseNames[name]:
		return meansProse
	}
	return meansText
}

// shellTool reports whether a tool runs commands, by the words of its name.
func shellTool(tool string) bool { return hasWord(tool, shellTools) }

// windowsShell reports whether a tool runs commands of PowerShell or cmd, by the words of its name.
func windowsShell(tool string) bool {
	return hasWord(tool, windowsShells) || strings.Contains(strings.ToLower(tool), "powershell")
}

func hasWord(tool string, of map[string]bool) bool {
	var word strings.Builder
	found := false
	end := func() {
		found = found || of[strings.ToLower(word.String())]
		word.Reset()
	}
	lower := false
	for _, r := range tool {
		if !unicode.IsLetter(r) || unicode.IsUpper(r) && lower {
			end()
		}
		if unicode.IsLetter(r) {
			word.WriteRune(r)
		}
		lower = unicode.IsLower(r)
	}
	end()
	return found
}

// otherMember returns an input member that changes the call's effect and that the rule, an allow
// with params, does not name; "" for none.
func (r *Rule) otherMember(call *Call) string {
	ofCommand, ofPath := false, false
	named := make(map[string]bool, len(r.Match.Params))
	for name, glob := range r.Match.Params {
		means := meaningOf(r.ToolName, name)
		ofCommand = ofCommand || means == meansCommand
		ofPath = ofPath || means == meansPath || means == meansText && strings.ContainsAny(glob, `/\`)
		named[foldedName(name)] = true
	}
	for _, member := range sortedNames(call.members) {
		name := foldedName(member)
		_, exactly := r.Match.Params[member]
		switch {
		case exactly, !named[name] && saysNothing(call.members[member]):
		case r.ToolName == execTool && member == execResolved && !named[name]:
		case named[name], contextNames[name],
			ofCommand && !idleNames[name] && !call.sameCommand(member, r),
			ofPath && (actsOnFile[name] && !readsOnly(call.members[member]) || namesPlace(name) || meaningOf(r.ToolName, member) != meansProse && call.holdsPlace(member)):
			if ofCommand && call.sameCommand(member, r) {
				continue
			}
			return member
		}
	}
	return ""
}

// The member of holdpoint exec's tool with the command as resolved on the machine. It changes
// nothing: exec compares it before the start.
const (
	execTool     = "exec"
	execResolved = "resolved"
)

// actsOnFile are the members that say what a call does with its file or URL. Another action than the one
// that was allowed is another call.
var actsOnFile = shellcmd.WordSet("action operation op editmode delete overwrite method httpmethod verb permission permissions proxy")

// readsOnly reports whether an action changes nothing.
func readsOnly(action api.JSON) bool {
	switch strings.ToLower(string(action)) {
	case "false", `"get"`, `"head"`:
		return true
	}
	return false
}

func saysNothing(value api.JSON) bool {
	switch string(value) {
	case "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// sameCommand reports whether a member has the words of the rule's command.
func (c *Call) sameCommand(member string, r *Rule) bool {
	if document.Kind(c.members[member]) != '[' {
		return false
	}
	for name := range r.Match.Params {
		if meaningOf(r.ToolName, name) != meansCommand {
			continue
		}
		command, there := c.param(name)
		if argv, are := textsOf(c.members[member]); there && are && c.words(name, command, argv) {
			return true
		}
	}
	return false
}
