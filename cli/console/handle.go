package console

import (
	"regexp"
	"strings"
	"unicode"
)

// shortLength is the length of a short handle. Its 38 random bits stop a caller from
// raising requests until one gets a chosen short handle.
const shortLength = 8

// ShortHandle returns the end of a handle, which names a request on a command line. Unlike
// ids, which agents choose and may reuse, handles are made by the service.
func ShortHandle(handle string) string {
	return handle[max(0, len(handle)-shortLength):]
}

// NamesHandle reports whether a name is the handle or its short form.
func NamesHandle(name, handle string) bool {
	return name != "" && (name == handle || len(name) == shortLength && strings.HasSuffix(handle, name))
}

// madeUp matches ids that a program has made up. groups.js of the page has the same.
var madeUp = regexp.MustCompile(`(?i)^(?:\w+[_-])?(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|([0-9a-z]{24,}))$`)

// leastDigits is how many digits an id of one word has at least.
const leastDigits = 4

// NameOfID returns an id as a person reads it. One that a program has made up is shortened to its end, because it begins
// with the time.
func NameOfID(id string) string {
	found := madeUp.FindStringSubmatch(id)
	digits := 0
	for _, r := range id {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	if found == nil || found[1] != "" && digits < leastDigits {
		return id
	}
	return "…" + ShortHandle(id)
}
