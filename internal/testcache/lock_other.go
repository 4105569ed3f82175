//go:build !unix

package testcache

// Lock does nothing: test runs on these systems do not share the cache.
func Lock(string) (unlock func(), err error) { return func() {}, nil }

// Share does nothing, either.
func Share(string) (unlock func(), err error) { return func() {}, nil }
