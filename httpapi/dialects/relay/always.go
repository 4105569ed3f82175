package relay

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

// tooBroad are programs that no prefix rule is derived from, in addition to those that run others: they delete, run a text, or
// change the machine. A rule for every call that begins with their name would allow everything.
var tooBroad = shellcmd.WordSet(
	"crontab make curl wget",
	// programs that delete and overwrite
	"rm rmdir unlink shred srm del erase rd trash truncate dd mkfs fdisk parted wipefs mv cp install ln tee format",
	// programs that change the machine, or work on another one
	"scp sftp rsync telnet nc ncat socat",
	"chmod chown chgrp setfacl mount umount kill killall pkill reboot shutdown halt poweroff systemctl service",
)

// allowAlways returns the decision of an answer with "always", and the text of the rule that it
// would create at nowMs. The rule is for the exact call, or, with AlwaysPrefix, for all calls with the
// same beginning (docs/spec/relay.md#always). The text is empty when no rule is possible.
func (f *face) allowAlways(approval *api.ApprovalRequest, sessionID string, nowMs int64) (decision runs.ApprovalDecision, text string) {
	decision = runs.ApprovalDecision{RequestID: approval.ID, Behavior: api.BehaviorAllow, Remember: api.RememberSession}
	// Without its sensitive values a call is another one.
	if params := prefixGlobs(approval.Input); f.alwaysPrefix && params != nil && len(approval.SensitivePaths) == 0 {
		broad := decision
		broad.RememberMatch = &api.RuleMatch{Params: params}
		if rule, err := runs.PreviewRule(*approval, sessionID, broad, f.MaxRuleAgeMs, nowMs); err == nil {
			return broad, rule.Text
		}
	}
	rule, err := runs.PreviewRule(*approval, sessionID, decision, f.MaxRuleAgeMs, nowMs)
	if err != nil {
		return decision, ""
	}
	return decision, rule.Text
}

// prefixGlobs derives globs from an input: of each member that is text, its first word
// and whatever follows, or the whole text when it is one word; other members are left
// out. It returns nil, and the rule is for the exact call, where the globs would mean
// something else or far too much:
//
//   - no member is text, so that every call of the tool would match;
//   - a text is empty or begins with a space;
//   - a glob would hold * or ?, which it cannot mean literally;
//   - the first of several words is among tooBroad, runs other programs, or sets a variable
//     for a program that follows it.
func prefixGlobs(input api.JSON) map[string]string {
	var globs map[string]string
	for name, value := range kit.Members(input) {
		if document.Kind(value) != '"' {
			continue
		}
		text := kit.Text(value)
		first, _, several := strings.Cut(text, " ")
		// The words after the first are matched by ** and are not part of the glob.
		if first == "" || strings.ContainsAny(first, "*?") || several && broadWord(first) {
			return nil
		}
		if globs == nil {
			globs = map[string]string{}
		}
		if globs[name] = text; several {
			globs[name] = first + " **"
		}
	}
	return globs
}

// broadWord reports whether a first word says nothing about the rest. A program is recognized by
// any of its names, in any directory.
func broadWord(word string) bool {
	name := strings.Trim(word, `"'\`)
	return tooBroad[shellcmd.OneName(name)] || shellcmd.RunsOthers(name) || strings.ContainsAny(word, "=$`;|&<>(){}\n\t\\\"'")
}
