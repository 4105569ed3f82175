package wire

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ActorHeader names the person behind a call, and ViaHeader the program. ActorHeader counts only
// for credentials that may act for others. ViaHeader is not verified.
const (
	ActorHeader = "X-Actor"
	ViaHeader   = "X-Via"
)

// Actor returns who gives a command and how. The name is the principal of the credential, or
// X-Actor when the credential may act for others, or the person on whose behalf the credential
// works; in both cases the principal is recorded as well. The via
// is [api.ViaAPI], followed by a colon and X-Via if present.
//
// Errors: bad_request when X-Actor counts and is not 1 to 200 bytes of printable text, or when
// X-Via is not 1 to 32 characters of the alphabet of ids.
func Actor(r *http.Request) (runs.Actor, error) {
	actor, err := NamedActor(r)
	if err != nil {
		return runs.Actor{}, err
	}
	if values := r.Header[ViaHeader]; len(values) > 0 {
		if len(values) > 1 || len(values[0]) > api.MaxViaLength || !refusal.ValidID(values[0]) {
			return runs.Actor{}, refusal.New(api.CodeBadRequest, "the %s header must be one text of 1 to %d characters A-Z a-z 0-9 . _ : -", ViaHeader, api.MaxViaLength)
		}
		actor.Via = api.ViaAPI + ":" + values[0]
	}
	return actor, nil
}

// NamedActor is [Actor] without X-Via, for a face that sets its own via.
func NamedActor(r *http.Request) (runs.Actor, error) {
	identity := auth.From(r.Context())
	if identity == nil {
		identity = auth.Local()
	}
	actor := runs.ActorOf(identity, api.ViaAPI)
	if values := r.Header[ActorHeader]; len(values) > 0 && identity.MayActFor {
		actor.Name = strings.TrimSpace(values[0])
		unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
		if len(values) > 1 || actor.Name == "" || len(actor.Name) > api.MaxActorLength || !utf8.ValidString(actor.Name) || strings.ContainsFunc(actor.Name, unprintable) {
			return runs.Actor{}, refusal.New(api.CodeBadRequest, "the %s header must be one text of 1 to %d printable characters", ActorHeader, api.MaxActorLength)
		}
		if identity.Via != auth.ViaOpen {
			actor.ViaPrincipal = identity.Principal
		}
	}
	return actor, nil
}

// ActorName returns the name of [Actor], or "" if the headers are invalid.
func ActorName(r *http.Request) string {
	actor, err := Actor(r)
	if err != nil {
		return ""
	}
	return actor.Name
}
