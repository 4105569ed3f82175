package serve

import (
	"context"

	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/cli/console"
	assembly "github.com/holdpoint/holdpoint/internal/service"
)

// signingKeys loads the keys from the given file, or from the one next to the SQLite file,
// and writes their public halves to the database. Without a file (on Postgres and in
// memory) it creates a key that exists only in this process.
func (s *service) signingKeys(ctx context.Context) (*signing.Keys, error) {
	path := assembly.SigningKeyFile(s.SigningKeyFile, s.Database)
	private, err := assembly.LoadSigningKeys(path)
	switch {
	case err != nil && path != "":
		return nil, console.Usage("%w; name another file with --signing-key-file", err)
	case err != nil:
		return nil, err
	}
	keys, err := assembly.PublishSigningKeys(ctx, private, s.store)
	if err == nil {
		keys.Ephemeral = path == ""
	}
	return keys, err
}
