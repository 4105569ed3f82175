package serve

import (
	"context"
	"crypto/ed25519"
	"fmt"

	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/store"
)

// signingKeys returns the keys of the file that was named, or of the one beside the SQLite file, and
// writes their public halves to the database. Where there is no such file, on Postgres and in
// memory, it makes a key that nobody but this process ever has.
func (s *service) signingKeys(ctx context.Context) (*signing.Keys, error) {
	path := s.SigningKeyFile
	if file := store.FileOf(s.Database); path == "" && file != "" {
		path = file + ".signing-key"
	}
	var private []ed25519.PrivateKey
	if path != "" {
		var err error
		if private, err = signing.Load(path); err != nil {
			return nil, console.Usage("%w; --signing-key-file names another place", err)
		}
	} else {
		key, err := signing.Generate()
		if err != nil {
			return nil, fmt.Errorf("make a signing key: %w", err)
		}
		private = []ed25519.PrivateKey{key}
	}
	keys, err := signing.New(private, s.store, nowMs)
	if err != nil {
		return nil, err
	}
	return keys, keys.Publish(ctx)
}
