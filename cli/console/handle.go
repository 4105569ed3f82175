package console

import "strings"

// shortLength is the length of a short handle: 38 random bits of the handle's end, so a caller cannot
// raise requests until one of them has a given short handle.
const shortLength = 8

// ShortHandle returns the end of a handle, which names a request on a command line. The service makes
// handles; an agent chooses ids and can use one again.
func ShortHandle(handle string) string {
	return handle[max(0, len(handle)-shortLength):]
}

// NamesHandle reports whether a name on a command line is the handle or its short form.
func NamesHandle(name, handle string) bool {
	return name != "" && (name == handle || len(name) == shortLength && strings.HasSuffix(handle, name))
}
