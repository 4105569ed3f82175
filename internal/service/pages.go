package service

import (
	"fmt"
	"io/fs"
	"net/http"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/web"
	"github.com/holdpoint/holdpoint/web/docsite"
)

// pages serves the inbox and the documents.
type pages struct{ *web.Site }

// IsPage reports whether a request is for a page, which other sites may link to.
func (p pages) IsPage(r *http.Request) bool { return p.Site.IsPage(r) || docsite.IsPage(r) }

// Pages returns the pages of the inbox.
func Pages() (httpapi.Pages, error) {
	inbox, err := web.New()
	if err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	return pages{inbox}, nil
}

// Documents returns the face of the documents, which contain nothing that is stored.
func Documents(documents fs.FS, openAPI []byte) kit.Mount {
	return func(kit.Services) wire.Face {
		site := docsite.New(documents, openAPI)
		serve := func(w http.ResponseWriter, r *http.Request) error {
			if !site.Serve(w, r) {
				return refusal.New(wire.CodeRouteNotFound, "there is no document at %s", wire.Shown(r.URL.Path))
			}
			return nil
		}
		return wire.Face{Name: "docs", Routes: []wire.Route{
			wire.Get(docsite.Root, auth.Public, serve), wire.Get(docsite.Root+"/*", auth.Public, serve),
		}}
	}
}
