package service

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/store"
)

// SigningKeyFile returns the path of the signing key; see keyFile.
func SigningKeyFile(given, database string) string { return keyFile(given, database, ".signing-key") }

// PushKeyFile returns the path of the key for notifications in browsers; see keyFile.
func PushKeyFile(given, database string) string { return keyFile(given, database, ".push-key") }

// keyFile returns the given path, or the SQLite file's name with a suffix. It returns "" for Postgres
// and in-memory databases without a given path.
func keyFile(given, database, suffix string) string {
	if file := store.FileOf(database); given == "" && file != "" {
		return file + suffix
	}
	return given
}

// LoadSigningKeys reads a file of keys, and creates it if it is missing. Without a path it
// returns a new key that exists only in this process.
func LoadSigningKeys(path string) ([]ed25519.PrivateKey, error) {
	if path != "" {
		return signing.Load(path)
	}
	key, err := signing.Generate()
	if err != nil {
		return nil, fmt.Errorf("make a signing key: %w", err)
	}
	return []ed25519.PrivateKey{key}, nil
}

// PublishSigningKeys writes the public halves of keys to the database.
func PublishSigningKeys(ctx context.Context, private []ed25519.PrivateKey, keeper signing.Keeper) (*signing.Keys, error) {
	keys, err := signing.New(private, keeper, NowMs)
	if err != nil {
		return nil, err
	}
	return keys, keys.Publish(ctx)
}

// secretKeyInterval is how often the file of secret keys is read again. After a key
// rotation, replicas can decrypt with the new key within this time, without a restart.
const secretKeyInterval = time.Second

// ReloadSecretKeys reloads the file of the keys until ctx ends. It calls failed for the
// first of several failures in a row.
func ReloadSecretKeys(ctx context.Context, keys *sealing.Keys, failed func(error)) error {
	if keys == nil {
		return nil
	}
	ticker := time.NewTicker(secretKeyInterval)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		err := keys.Reload()
		if err != nil && !failing {
			failed(err)
		}
		failing = err != nil
	}
}
