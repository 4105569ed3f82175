package console

import "strings"

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
