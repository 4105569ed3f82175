package wire

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// PreferWait returns how long the reply may be held: the wait of the Prefer header (RFC 7240), in
// seconds, at most limit. given is false without a readable wait, because a preference never causes
// an error. Names match in any case and may have spaces around "=".
func PreferWait(header http.Header, limit time.Duration) (wait time.Duration, given bool) {
	for _, line := range header["Prefer"] {
		for preference := range strings.SplitSeq(line, ",") {
			preference, _, _ = strings.Cut(preference, ";")
			name, value, _ := strings.Cut(preference, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
			switch {
			case errors.Is(err, strconv.ErrRange):
				return limit, true
			case err != nil:
				return 0, false
			}
			return min(time.Duration(seconds)*time.Second, limit), true
		}
	}
	return 0, false
}

// WaitApplied confirms the applied wait to the caller.
func WaitApplied(w http.ResponseWriter, wait time.Duration) {
	w.Header()["Preference-Applied"] = []string{"wait=" + strconv.Itoa(int(wait/time.Second))}
}

// WaitNotApplied withdraws [WaitApplied] from a reply that is not held.
func WaitNotApplied(w http.ResponseWriter) { delete(w.Header(), "Preference-Applied") }
