//go:build deps

package holdpoint

import (
	_ "github.com/alecthomas/kong"
	_ "github.com/getkin/kin-openapi/openapi3filter"
	_ "github.com/getkin/kin-openapi/routers/gorillamux"
	_ "github.com/getkin/kin-openapi/routers/legacy"
	_ "github.com/go-chi/chi/v5"
	_ "github.com/go-chi/chi/v5/middleware"
	_ "github.com/go-json-experiment/json"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/uuid"
	_ "github.com/gowebpki/jcs"
	_ "github.com/hashicorp/golang-lru/v2"
	_ "github.com/jackc/pgerrcode"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/pressly/goose/v3"
	_ "github.com/pressly/goose/v3/lock"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/stretchr/testify/require"
	_ "github.com/testcontainers/testcontainers-go/modules/postgres"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite"
	_ "pgregory.net/rapid"
)
