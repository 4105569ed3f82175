package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// behaviorDefer ends the agent's process with the call unanswered. Only a headless agent understands it.
const behaviorDefer api.Behavior = "defer"

// handedVariable tells the hook of a resumed agent which run the worker has claimed for it: the run's
// id and the fence of the lease, separated by a space.
const handedVariable = "HOLDPOINT_DEFERRED"

// parkedCall is the checkpoint of a deferred call: how a worker resumes the agent.
type parkedCall struct {
	Agent     string `json:"agent"`
	SessionID string `json:"session_id"`
	Cwd       string `json:"cwd"`
	// Process is the agent that made the call. It is resumed once that process has ended.
	Process agentProcess `json:"process"`
}

// Reasons why a call of a headless agent is not deferred. Claude Code defers one call of a turn; the
// others of that turn would be dropped, or in other versions run without a decision.
const (
	notAlone = "Nobody has decided yet, and only a call that is alone in its turn can wait for a decision. Nothing was allowed. Make this call again, without any other call in the same turn."
	notSeen  = "Nobody has decided yet, and this call cannot wait for a decision: it is not in the session's transcript, for example because a subagent makes it. Nothing was allowed. Make this call from the main agent."
)

// deferrable says whether the agent's process may end with the call unanswered. headless is false if
// somebody or another program waits for this process, or if this version is not known to defer: then
// the hook waits. Otherwise refused is empty, or says why the call cannot be deferred.
func (a *codingAgent) deferrable(ctx context.Context, asked hookInput, getenv func(string) string) (headless bool, refused string) {
	if getenv("CLAUDE_CODE_ENTRYPOINT") != "sdk-cli" {
		return false, ""
	}
	seen := lookUp(ctx, asked)
	switch {
	case slices.Compare(numbers(seen.version), numbers(a.tried)) < 0:
		return false, ""
	case !seen.found || seen.sidechain:
		return true, notSeen
	case seen.others:
		return true, notAlone
	default:
		return true, ""
	}
}

// seenCall is a call as the session's transcript shows it.
type seenCall struct {
	found, sidechain bool
	// others reports that the same message of the model has other calls.
	others bool
	// version is the version of the agent that wrote the newest line.
	version string
}

// transcriptTail bounds how much of a transcript is read, in bytes: the call is one of its last lines.
const transcriptTail = 1 << 20

// lookUp reads the call from the transcript.
func lookUp(ctx context.Context, asked hookInput) (seen seenCall) {
	awaitLine(ctx, asked.Transcript, func(text []byte, cut bool) bool {
		seen = seenIn(text, cut, asked.ToolUseID)
		return seen.found
	})
	return seen
}

// awaitLine reads the end of a transcript until it has what is looked for, for a second: the agent may still
// be writing it.
func awaitLine(ctx context.Context, path string, found func(text []byte, cut bool) bool) {
	for range 20 {
		text, cut, err := tailOf(path)
		if err != nil || found(text, cut) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// tailOf returns the end of a transcript, and whether there is more before it.
func tailOf(path string) (text []byte, cut bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, errors.New("not a file")
	}
	if _, err := file.Seek(max(0, info.Size()-transcriptTail), io.SeekStart); err != nil {
		return nil, false, err
	}
	text, err = io.ReadAll(io.LimitReader(file, transcriptTail))
	return text, info.Size() > transcriptTail, err
}

// seenIn finds a call in the lines of a transcript. A message is written in several lines, one for each
// block. cut says that there are earlier lines, which may have other calls of the first message.
func seenIn(text []byte, cut bool, toolUseID string) (seen seenCall) {
	messages := map[string][]string{} // the calls of each message
	message, first := "", ""
	for line := range bytes.Lines(text) {
		var read struct {
			Type      string `json:"type"`
			Sidechain bool   `json:"isSidechain"`
			Version   string `json:"version"`
			Message   struct {
				ID      string         `json:"id"`
				Content jsontext.Value `json:"content"`
			} `json:"message"`
		}
		if json.Unmarshal(line, &read) != nil {
			continue // the first line is cut off
		}
		seen.version = cmp.Or(read.Version, seen.version)
		var blocks []struct {
			Type string `json:"type"`
			ID   string `json:"id"`
		}
		if read.Type != "assistant" || json.Unmarshal(read.Message.Content, &blocks) != nil {
			continue
		}
		first = cmp.Or(first, read.Message.ID)
		for _, block := range blocks {
			if block.Type != "tool_use" {
				continue
			}
			messages[read.Message.ID] = append(messages[read.Message.ID], block.ID)
			if block.ID == toolUseID {
				seen.found, seen.sidechain, message = true, read.Sidechain, read.Message.ID
			}
		}
	}
	seen.others = cut && seen.found && message == first || slices.ContainsFunc(messages[message], func(id string) bool { return id != toolUseID })
	return seen
}

// deferDecision returns the decision of a headless agent's call. Without one it returns behaviorDefer,
// or denies the call if it cannot be deferred for the reason refused. Such a request ends with this
// process.
func (c *HookRun) deferDecision(ctx context.Context, asker *ask.Asker, asked hookInput, refused string, getenv func(string) string) (*ask.Answer, mcptools.Permission, error) {
	call, err := c.callOf(asked, console.Limit(c.Timeout))
	if err != nil {
		return nil, mcptools.Permission{}, err
	}
	if !refusal.ValidID(asked.SessionID) || strings.HasPrefix(asked.SessionID, "-") {
		refused = notSeen
	}
	runID, fence, _ := strings.Cut(getenv(handedVariable), " ")
	handed := ask.HandedOver{RunID: runID, Fence: fence}
	if refused != "" {
		answer, err := asker.Try(ctx, call, handed, "the call cannot wait for a decision without a process")
		if err == nil && answer.Outcome == "" && answer.Ended == "" {
			return answer, mcptools.Permission{Behavior: api.BehaviorDeny, Message: refused}, nil
		}
		return answer, mcptools.PermissionOf(answer, err), err
	}
	// The agent finds a session by the directory in which it was started, and its current one may be another.
	parked, err := json.Marshal(parkedCall{Agent: c.HooksOf, SessionID: asked.SessionID, Cwd: cmp.Or(getenv("CLAUDE_PROJECT_DIR"), asked.Cwd), Process: processOf(ctx, getenv("CLAUDE_PID"))})
	if err != nil {
		return nil, mcptools.Permission{}, err
	}
	answer, err := asker.Defer(ctx, call, parked, handed)
	if err == nil && answer.Outcome == "" && answer.Ended == "" {
		return answer, mcptools.Permission{Behavior: behaviorDefer}, nil
	}
	return answer, mcptools.PermissionOf(answer, err), err
}
