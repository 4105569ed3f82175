package prompt

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// ways are the words for ways without parameters. The page has the same in words.js.
var ways = map[string]string{
	api.ViaAPI:         "by the API",
	"api:cli":          "in the terminal",
	"api:inbox":        "in the inbox",
	"api:notification": "in a notification",
	"link:email":       "by the link in a mail",
	"link:http":        "by the link in a message",
	"slack":            "in Slack",
	api.ViaClock:       "by the clock",
	api.ViaRunEnded:    "when the run ended",
	api.ViaCancel:      "when the run was cancelled",
	api.ViaInterrupt:   "when the session was interrupted",
	api.ViaEnd:         "when the session ended",
}

// Way says in plain words how a decision was made, from a via of the API.
func Way(via string) string {
	if words, found := ways[via]; found {
		return words
	}
	kind, name, _ := strings.Cut(via, ":")
	switch {
	case via == "":
		return "in an unrecorded way"
	case via == api.ViaWorker:
		return "by the worker that asked"
	case strings.HasPrefix(via, api.ViaLink):
		return "by the link in a message"
	case strings.HasPrefix(via, api.ViaRule):
		return "by a rule"
	case kind == "api" && name != "":
		return "in " + name
	}
	return "in " + via
}
