package migrations

import (
	"io/fs"
	"path"
	"slices"
)

// FirstVersion holds the steps of Postgres that are applied to an empty database only. Later
// ones meet rows and replicas that decide meanwhile; docs/postgres.md says how they are written.
func FirstVersion() fs.FS { return firstVersion{} }

type firstVersion struct{}

// newestOfFirst is the newest step of the first version.
const newestOfFirst = "00003_rules.sql"

func (firstVersion) Open(name string) (fs.File, error) {
	return files.Open(path.Join("postgres", name))
}

// ReadDir implements [fs.ReadDirFS].
func (firstVersion) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := files.ReadDir(path.Join("postgres", name))
	return slices.DeleteFunc(entries, func(entry fs.DirEntry) bool { return entry.Name() > newestOfFirst }), err
}
