package httpapi

import (
	"context"

	"github.com/holdpoint/holdpoint/auth"
)

// directory is the service's keyring, which is nil when no credential is required.
type directory struct{ keyring *auth.Keyring }

// Open implements [explain.Directory].
func (d directory) Open(ctx context.Context) (bool, error) {
	if d.keyring == nil {
		return true, nil
	}
	return d.keyring.Open(ctx)
}

// Deciders implements [explain.Directory].
func (d directory) Deciders(ctx context.Context) ([]*auth.Identity, bool, error) {
	return d.keyring.Deciders(ctx)
}

// Strangers implements [explain.Directory].
func (d directory) Strangers() bool { return d.keyring != nil && d.keyring.Strangers() }
