package holdpoint

import (
	"embed"
	"io/fs"
)

// documents are the pages at /docs, with their images and linked files.
//
//go:embed CHANGELOG.md docs/*.md docs/inbox-light.png docs/spec sdk/typescript/README.md sdk/python/README.md
//go:embed examples/README.md examples/*/README.md examples/*/*.mjs examples/*/*.py deploy/nginx.conf deploy/grafana deploy/kubernetes deploy/prometheus deploy/systemd
var documents embed.FS

// Documents returns the documents, named by their paths in the repository, such as
// "docs/rules.md".
func Documents() fs.FS { return documents }
