package holdpoint

import (
	"embed"
	"io/fs"
)

// documents are the pages that the program serves at /docs, with what they show and link.
//
//go:embed CHANGELOG.md docs/*.md docs/inbox-light.png docs/spec sdk/typescript/README.md sdk/python/README.md
//go:embed examples/README.md examples/*/README.md examples/*/*.mjs deploy/nginx.conf deploy/grafana deploy/kubernetes deploy/prometheus deploy/systemd
var documents embed.FS

// Documents returns the documents by their names in the repository, such as "docs/rules.md".
func Documents() fs.FS { return documents }
