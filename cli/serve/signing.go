package serve

import (
	"context"

	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/cli/console"
	assembly "github.com/holdpoint/holdpoint/internal/service"
)

// signingKeys returns the keys of the file that was named, or of the one next to the SQLite file, and
// writes their public halves to the database. Where there is no such file, on Postgres and in
// memory, it makes a key that only this process ever has.
func (s *service) signingKeys(ctx context.Context) (*signing.Keys, error) {
	path := assembly.SigningKeyFile(s.SigningKeyFile, s.Database)
	private, err := assembly.LoadSigningKeys(path)
	switch {
	case err != nil && path != "":
		return nil, console.Usage("%w; --signing-key-file names another place", err)
	case err != nil:
		return nil, err
	}
	return assembly.PublishSigningKeys(ctx, private, s.store)
}
