//go:build unix

package main

import (
	"context"
	_ "embed" // for rowsBeside
	"fmt"
	"strconv"
	"strings"
)

// besideDatabase is the database with the other runs. It is created once and kept.
const besideDatabase = "holdpoint_waits_beside"

//go:embed beside.sql
var rowsBeside string

// makeBeside fills a database that has its schema. It leaves no vacuum or checkpoint work
// behind that would disturb later measurements.
func (s *postgresServer) makeBeside(ctx context.Context, count int) error {
	at := *s.admin
	at.Path = "/" + besideDatabase
	on := &postgresServer{admin: &at}
	statements := []string{fmt.Sprintf("ALTER DATABASE %s SET session_replication_role = replica", quote(besideDatabase))}
	if err := on.exec(ctx, statements...); err != nil {
		return err
	}
	statements = nil
	for rows := range strings.SplitSeq(strings.TrimSpace(rowsBeside), ";\n\n") {
		statements = append(statements, strings.ReplaceAll(rows, ":count", strconv.Itoa(count)))
	}
	statements = append(statements, "VACUUM (ANALYZE)", "CHECKPOINT",
		fmt.Sprintf("ALTER DATABASE %s RESET session_replication_role", quote(besideDatabase)))
	return on.exec(ctx, statements...)
}
