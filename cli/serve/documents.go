package serve

import (
	"github.com/holdpoint/holdpoint"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	assembly "github.com/holdpoint/holdpoint/internal/service"
)

// documents returns the mount of the documents.
func documents() kit.Mount { return assembly.Documents(holdpoint.Documents(), holdpoint.OpenAPIJSON()) }
