package wire

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ActorHeader names who is asking. It is not verified.
const ActorHeader = "X-Actor"

// Actor returns who gives a command, [api.DefaultActorID] without the header.
//
// Errors: bad_request when the header is not 1 to 200 bytes of printable text.
func Actor(header http.Header) (runs.Actor, error) {
	values := header[ActorHeader]
	if len(values) == 0 {
		return runs.Actor{Name: api.DefaultActorID, Via: api.ViaAPI}, nil
	}
	name := strings.TrimSpace(values[0])
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if len(values) > 1 || name == "" || len(name) > api.MaxActorLength || !utf8.ValidString(name) || strings.ContainsFunc(name, unprintable) {
		return runs.Actor{}, refusal.New(api.CodeBadRequest, "the %s header must be one text of 1 to %d printable characters", ActorHeader, api.MaxActorLength)
	}
	return runs.Actor{Name: name, Via: api.ViaAPI}, nil
}
