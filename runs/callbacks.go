package runs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// callbacksOf yields the place of a callback in each request of a suspension, keyed by the request's JSON pointer.
func callbacksOf(s *api.Suspension, prefix string) iter.Seq2[string, **api.Callback] {
	return func(yield func(string, **api.Callback) bool) {
		for i := range s.Approvals {
			if !yield(placeIn(prefix, "approvals", i), &s.Approvals[i].Callback) {
				return
			}
		}
		for i := range s.Questions {
			if !yield(placeIn(prefix, "questions", i), &s.Questions[i].Callback) {
				return
			}
		}
	}
}

// takeCallbacks moves the callbacks out of a checked suspension, so that no view shows them. They are keyed
// by the JSON pointers of their requests. Call it after computing the suspension's digest.
func takeCallbacks(s *api.Suspension) map[string]*api.Callback {
	taken := map[string]*api.Callback{}
	for at, given := range callbacksOf(s, "") {
		if *given != nil {
			taken[at], *given = *given, nil
		}
	}
	return taken
}

// hasCallbacks reports whether any request of a suspension has a callback.
func hasCallbacks(s *api.Suspension) bool {
	return slices.ContainsFunc(s.Approvals, func(asked api.ApprovalRequest) bool { return asked.Callback != nil }) ||
		slices.ContainsFunc(s.Questions, func(asked api.UserQuestionRequest) bool { return asked.Callback != nil })
}

// checkCallback adds the faults of a callback. checkURL is nil if the service posts no callbacks.
func checkCallback(given *api.Callback, at string, checkURL func(url string) error, faults *refusal.Faults) {
	if given == nil {
		return
	}
	at += "/callback"
	if checkURL == nil {
		faults.Add(at, "must not be given: this service posts no callbacks")
		return
	}
	if err := checkURL(given.URL); err != nil {
		faults.Add(at+"/url", "%s", err.Error())
	}
	good := len(given.Token) >= api.MinCallbackToken && len(given.Token) <= api.MaxCallbackToken
	for i := range len(given.Token) {
		good = good && given.Token[i] > ' ' && given.Token[i] <= '~'
	}
	if !good {
		faults.Add(at+"/token", "must have %d to %d visible ASCII characters", api.MinCallbackToken, api.MaxCallbackToken)
	}
}

// checkCallbacks adds the faults of the callbacks of a suspension.
func checkCallbacks(s *api.Suspension, prefix string, checkURL func(url string) error, faults *refusal.Faults) {
	if len(s.Approvals)+len(s.Questions) > api.MaxRequestsPerSuspension {
		return // reported by checkSuspension
	}
	for at, given := range callbacksOf(s, prefix) {
		checkCallback(*given, at, checkURL, faults)
	}
}

// sealCallback encrypts a callback and adds it to the request's sealed values.
func (s *raisedSecrets) sealCallback(handle string, given *api.Callback, sealed *model.SealedValues) error {
	dataKey := s.sealer.NewDataKey()
	text, err := s.sealer.Seal(dataKey, placeOf(handle, partCallback), document.Encode(given))
	if err != nil {
		return err
	}
	sealed.Callback = &model.SealedCallback{Origin: originOf(given.URL, s.owner), DataKey: dataKey, Sealed: text}
	return nil
}

// originOf identifies a callback's owner and host: each fills half of the text. Without an owner, each
// host counts as its own owner.
func originOf(address, owner string) string {
	host := hostOf(address)
	return half(cmp.Or(owner, host)) + half(host)
}

func half(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:model.CallbackHalf/2])
}

// hostOf returns the normalized host and port of a URL.
func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	host := strings.TrimSuffix(strings.ToLower(parsed.Hostname()), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	port := parsed.Port()
	if port == "" {
		port = map[string]string{"http": "80"}[strings.ToLower(parsed.Scheme)]
	}
	return net.JoinHostPort(host, cmp.Or(port, "443"))
}
