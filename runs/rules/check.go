package rules

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// CheckMatch adds the faults of a rule's match (docs/spec/v1.md#match), sets empty lists of m to
// nil so that they equal absent ones, and completes a digest without "sha256:". The pointer at
// locates m in the caller's body. toolName is the rule's tool, empty for all; ofSession says
// whether the rule belongs to a session. Some members require one of these.
func CheckMatch(m *api.RuleMatch, at, toolName string, ofSession bool, faults *refusal.Faults) {
	if len(m.PatternKeys) == 0 {
		m.PatternKeys = nil
	}
	if len(m.Params) == 0 {
		m.Params = nil
	}
	faults.Text(at+"/directory", m.Directory, api.MaxDirectoryLength)
	others := len(m.PatternKeys) > 0 || m.InputDigest != "" || m.Params != nil || m.ToolCallID != ""
	if !others && !m.AnyInput {
		faults.Add(at, "must say which calls it matches")
		return
	}
	if m.AnyInput && others {
		faults.Add(at+"/any_input", "must stand alone")
	}
	for _, condition := range []struct {
		member string
		given  bool
	}{{"input_digest", m.InputDigest != ""}, {"params", m.Params != nil}, {"any_input", m.AnyInput}} {
		if condition.given && toolName == "" {
			faults.Add(at+"/"+condition.member, "needs a tool_name")
		}
	}
	if m.ToolCallID != "" && !ofSession {
		faults.Add(at+"/tool_call_id", "needs a session_id")
	}
	faults.Text(at+"/tool_call_id", m.ToolCallID, api.MaxToolCallIDLength)
	m.InputDigest = document.WholeDigest(m.InputDigest)
	if m.InputDigest != "" && !document.ValidDigest(m.InputDigest) {
		faults.Add(at+"/input_digest", "must be 64 hexadecimal digits in lower case, with or without \"sha256:\" before them")
	}
	CheckPatternKeys(at+"/pattern_keys", m.PatternKeys, faults)
	checkMatchParams(m, at+"/params", faults)
}

// CheckPatternKeys adds the faults of the pattern keys of a rule or a call.
func CheckPatternKeys(at string, keys []string, faults *refusal.Faults) {
	if len(keys) > api.MaxPatternKeys {
		faults.Add(at, "must have at most %d entries", api.MaxPatternKeys)
		return
	}
	for i, key := range keys {
		faults.RequiredText(fmt.Sprintf("%s/%d", at, i), key, api.MaxPatternKeyLength)
	}
}

func checkMatchParams(m *api.RuleMatch, at string, faults *refusal.Faults) {
	if len(m.Params) > api.MaxRuleParams {
		faults.Add(at, "must have at most %d members", api.MaxRuleParams)
		return
	}
	for _, name := range paramNames(m) {
		if name == "" || !refusal.ValidText(name, api.MaxNameLength) {
			faults.Add(at, "must have names of 1 to %d bytes without control characters", api.MaxNameLength)
			continue
		}
		faults.Text(string(jsontext.Pointer(at).AppendToken(name)), m.Params[name], api.MaxGlobLength)
	}
}

// CheckAge adds a fault if a rule's lifetime of ageMs, in ms, is not allowed. 0 means no expiry.
// maxAgeMs is the service's cap, 0 for none (docs/spec/v1.md#rule-expiry). An age beyond the cap
// is a fault, never clamped.
func CheckAge(pointer string, ageMs, maxAgeMs int64, faults *refusal.Faults) {
	switch {
	case ageMs < 0:
		faults.Add(pointer, "must not be negative")
	case maxAgeMs != 0 && (ageMs == 0 || ageMs > maxAgeMs):
		faults.Add(pointer, "must be between 1 and %d: the service lets no rule hold longer", maxAgeMs)
	case ageMs > api.MaxExpiresAfterMs:
		faults.Add(pointer, "must be at most %d; 0 means no expiry", int64(api.MaxExpiresAfterMs))
	}
}

// DefaultAgeMs returns the default lifetime of a rule, in ms: as long as its session (0), or
// DefaultRuleAgeMs for a rule of all sessions; never longer than the cap maxAgeMs, 0 for no cap.
func DefaultAgeMs(ofSession bool, maxAgeMs int64) int64 {
	switch {
	case ofSession:
		return maxAgeMs
	case maxAgeMs != 0:
		return min(api.DefaultRuleAgeMs, maxAgeMs)
	}
	return api.DefaultRuleAgeMs
}

// ExpiresAtMs returns when a rule of the given age expires, in ms since the epoch, and 0 for an
// age of 0, which never expires.
func ExpiresAtMs(nowMs, ageMs int64) int64 {
	if ageMs == 0 {
		return 0
	}
	return nowMs + ageMs
}
