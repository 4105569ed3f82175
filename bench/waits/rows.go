//go:build unix

package main

import (
	"context"
	_ "embed" // for otherRows
	"fmt"
	"strconv"
	"strings"
)

// rowsDatabase is the database with the other runs. It is created once and kept.
const rowsDatabase = "holdpoint_waits_rows"

//go:embed rows.sql
var otherRows string

// makeRows fills a database that has its schema. It leaves no vacuum or checkpoint work
// behind that would disturb later measurements.
func (s *postgresServer) makeRows(ctx context.Context, count int) error {
	at := *s.admin
	at.Path = "/" + rowsDatabase
	on := &postgresServer{admin: &at}
	statements := []string{fmt.Sprintf("ALTER DATABASE %s SET session_replication_role = replica", quote(rowsDatabase))}
	if err := on.exec(ctx, statements...); err != nil {
		return err
	}
	statements = nil
	for rows := range strings.SplitSeq(strings.TrimSpace(otherRows), ";\n\n") {
		statements = append(statements, strings.ReplaceAll(rows, ":count", strconv.Itoa(count)))
	}
	statements = append(statements, "VACUUM (ANALYZE)", "CHECKPOINT",
		fmt.Sprintf("ALTER DATABASE %s RESET session_replication_role", quote(rowsDatabase)))
	return on.exec(ctx, statements...)
}
