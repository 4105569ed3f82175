package postgres

import (
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
)

// TestColumnsAreEncodedAsByThePackage compares encoded columns with pgx.
func TestColumnsAreEncodedAsByThePackage(t *testing.T) {
	t.Parallel()
	plain, own := pgtype.NewMap(), pgtype.NewMap()
	registerArrays(own)
	for oid, columns := range map[uint32][]any{
		pgtype.TextArrayOID: {[]string(nil), []string{}, []string{""}, []string{"a", "", "ü", strings.Repeat("x", 70_000)}},
		pgtype.Int8ArrayOID: {[]int64(nil), []int64{}, []int64{0}, []int64{1, -1, math.MaxInt64, math.MinInt64}},
	} {
		for _, column := range columns {
			for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
				want, err := plain.Encode(oid, format, column, []byte("before"))
				require.NoError(t, err)
				got, err := own.Encode(oid, format, column, []byte("before"))
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
		}
	}
	require.IsType(t, textColumn{}, own.PlanEncode(pgtype.TextArrayOID, pgtype.BinaryFormatCode, []string{}))
	require.IsType(t, integerColumn{}, own.PlanEncode(pgtype.Int8ArrayOID, pgtype.BinaryFormatCode, []int64{}))
}

// BenchmarkColumns encodes a column of 20 texts, as pgx does and as the lanes do.
func BenchmarkColumns(b *testing.B) {
	column := make([]string, 20)
	for i := range column {
		column[i] = "run_01jd2qk3v8f0n9x5m7p4r6s8t0"
	}
	plain, own := pgtype.NewMap(), pgtype.NewMap()
	registerArrays(own)
	for name, types := range map[string]*pgtype.Map{"pgx": plain, "lanes": own} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			buffer := make([]byte, 0, 4096)
			for b.Loop() {
				if _, err := types.Encode(pgtype.TextArrayOID, pgtype.BinaryFormatCode, column, buffer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
