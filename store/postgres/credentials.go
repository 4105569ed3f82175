package postgres

import "github.com/jackc/pgx/v5"

// readCredentials puts the password and the certificates into the settings of a connection that is about to be made, from the
// files that its URL and the environment name, as they are now. The driver reads them once: after a change of the password, or of
// the server's authority, a replica could not connect again until it was restarted. Files that cannot be read may be about to be
// replaced: then those of the start are used.
func readCredentials(config *pgx.ConnConfig) {
	if read, err := pgx.ParseConfig(config.ConnString()); err == nil {
		config.Password, config.TLSConfig, config.Fallbacks = read.Password, read.TLSConfig, read.Fallbacks
	}
}
