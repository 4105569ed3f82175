package relay

import (
	"path"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
)

// tooBroad are programs from whose name nothing is derived: they remove, they run
// whatever they are told, or they become somebody else. A rule for all that begins
// with their name would be a rule for everything.
var tooBroad = wordSet(
	// shells and what runs a command line
	"sh bash dash ash zsh fish csh tcsh ksh mksh pwsh powershell cmd cmd.exe busybox toybox eval exec source . command builtin",
	"env nohup nice ionice time timeout watch xargs parallel setsid stdbuf script screen tmux at batch crontab find make",
	// removers, and what overwrites
	"rm rmdir unlink shred srm del erase rd trash truncate dd mkfs fdisk parted wipefs mv cp install ln tee format",
	// becoming somebody else, or somewhere else
	"sudo su doas pkexec runuser chroot nsenter unshare ssh scp sftp rsync telnet nc ncat socat docker podman kubectl",
	"chmod chown chgrp setfacl mount umount kill killall pkill reboot shutdown halt poweroff systemctl service",
	// what runs a program that is given to it as text
	"python python2 python3 perl ruby node deno bun php lua awk gawk sed osascript psql mysql sqlite3 curl wget npx uvx",
)

func wordSet(lines ...string) map[string]bool {
	set := map[string]bool{}
	for _, line := range lines {
		for word := range strings.FieldsSeq(line) {
			set[word] = true
		}
	}
	return set
}

// always returns the decision that an answer with "always" makes about an approval, and
// the text of the rule that is written with it at that moment: for the exact call, also
// when the request offers pattern keys (decisions.md 20), or, where the setting says so,
// for all calls that begin alike. The text is empty when the call can have no rule.
func (f *face) always(approval *api.ApprovalRequest, sessionID string, nowMs int64) (decision runs.ApprovalDecision, text string) {
	decision = runs.ApprovalDecision{RequestID: approval.ID, Behavior: api.BehaviorAllow, Remember: api.RememberSession}
	if f.alwaysPrefix {
		if params := prefixGlobs(approval.Input); params != nil {
			decision.RememberMatch = &api.RuleMatch{Params: params}
			rule, err := runs.PreviewRule(*approval, sessionID, decision, f.MaxRuleAgeMs, nowMs)
			if err == nil {
				return decision, rule.Text
			}
		}
	}
	// An input without a digest is never raised.
	digest, err := document.Digest(approval.Input)
	if err != nil {
		return decision, ""
	}
	decision.RememberMatch = &api.RuleMatch{InputDigest: digest}
	rule, err := runs.PreviewRule(*approval, sessionID, decision, f.MaxRuleAgeMs, nowMs)
	if err != nil {
		return decision, ""
	}
	return decision, rule.Text
}

// prefixGlobs derives globs from an input as the original does (llm-gateway.md 5.4.4):
// of each member that is text, its first word and whatever follows, or the whole text
// when it is one word; other members are left out. It returns nil, and the rule is for
// the exact call, where that would say something else or far too much:
//
//   - there is no text to derive from, so that every call of the tool would be meant;
//   - a text is empty or begins with a space;
//   - what would stand in the glob holds * or ?, which a glob cannot mean literally;
//   - the first of several words is among tooBroad, or sets a variable for a program
//     that stands behind it.
func prefixGlobs(input api.JSON) map[string]string {
	members, err := objectOf(input)
	if err != nil {
		return nil
	}
	globs := map[string]string{}
	for _, one := range members {
		text, ok := textOf(one.value)
		if !ok {
			continue
		}
		first, _, several := strings.Cut(text, " ")
		// What is not first stands behind ** and not in the glob.
		if strings.ContainsAny(first, "*?") {
			return nil
		}
		glob := text
		if several {
			if broadWord(first) {
				return nil
			}
			glob = first + " **"
		}
		if first == "" {
			return nil
		}
		globs[one.name] = glob
	}
	if len(globs) == 0 {
		return nil
	}
	return globs
}

// broadWord reports whether a first word says nothing about what follows. A program is
// known by its name, wherever it stands.
func broadWord(word string) bool {
	name := strings.ToLower(path.Base(strings.Trim(word, `"'\`)))
	return tooBroad[name] || strings.ContainsAny(word, "=$`;|&<>(){}\n\t\\\"'")
}
