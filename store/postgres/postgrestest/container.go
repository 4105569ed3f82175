package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
)

// image is the oldest Postgres that is supported.
const image = "postgres:15-alpine"

// startContainer starts a server in a container, or returns errNoPostgres when no
// docker daemon answers.
func startContainer(ctx context.Context, durable bool) (*server, error) {
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errNoPostgres, err)
	}
	defer provider.Close()
	if err := provider.Health(ctx); err != nil {
		return nil, fmt.Errorf("%w (%w)", errNoPostgres, err)
	}
	settings := []string{"postgres", "-c", "max_connections=400"}
	if !durable {
		settings = append(settings, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	container, err := postgres.Run(ctx, image, postgres.BasicWaitStrategies(),
		testcontainers.WithCmd(settings...))
	if err != nil {
		return nil, errors.Join(err, testcontainers.TerminateContainer(container))
	}
	dsn, err := container.ConnectionString(ctx, "sslmode=disable")
	if err != nil {
		return nil, errors.Join(err, testcontainers.TerminateContainer(container))
	}
	admin, err := url.Parse(dsn)
	if err != nil {
		return nil, errors.Join(err, testcontainers.TerminateContainer(container))
	}
	return &server{admin: admin, end: func(bool) error { return testcontainers.TerminateContainer(container) }}, nil
}
