package postgres

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgtype"
)

// registerArrays lets a connection encode []string and []int64 columns without the per-value checks
// of pgx.
func registerArrays(types *pgtype.Map) {
	for _, oid := range []uint32{pgtype.TextArrayOID, pgtype.Int8ArrayOID} {
		known, _ := types.TypeForOID(oid)
		if codec, is := known.Codec.(*pgtype.ArrayCodec); is {
			types.RegisterType(&pgtype.Type{Name: known.Name, OID: oid, Codec: columnCodec{codec}})
		}
	}
}

// columnCodec is pgx's array codec with a faster encoding of columns.
type columnCodec struct{ *pgtype.ArrayCodec }

// PlanEncode implements [pgtype.Codec].
func (c columnCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if format == pgtype.BinaryFormatCode {
		switch value.(type) {
		case []string:
			if oid == pgtype.TextArrayOID {
				return textColumn{}
			}
		case []int64:
			if oid == pgtype.Int8ArrayOID {
				return integerColumn{}
			}
		}
	}
	return c.ArrayCodec.PlanEncode(m, oid, format, value)
}

type (
	textColumn    struct{}
	integerColumn struct{}
)

// Encode implements [pgtype.EncodePlan].
func (textColumn) Encode(value any, to []byte) ([]byte, error) {
	column, _ := value.([]string)
	to = appendArray(to, pgtype.TextOID, len(column))
	for _, text := range column {
		to = append(binary.BigEndian.AppendUint32(to, uint32(len(text))), text...) //nolint:gosec // a message of Postgres has less than 2 GiB
	}
	return to, nil
}

// Encode implements [pgtype.EncodePlan].
func (integerColumn) Encode(value any, to []byte) ([]byte, error) {
	column, _ := value.([]int64)
	to = appendArray(to, pgtype.Int8OID, len(column))
	for _, number := range column {
		const size = 8
		to = binary.BigEndian.AppendUint32(to, size)
		to = binary.BigEndian.AppendUint64(to, uint64(number)) //nolint:gosec // two's complement
	}
	return to, nil
}

// appendArray appends the header of a one-dimensional array without NULLs.
func appendArray(to []byte, elementOID uint32, length int) []byte {
	const dimensions, nulls, lowerBound = 1, 0, 1
	for _, number := range []uint32{dimensions, nulls, elementOID, uint32(length), lowerBound} { //nolint:gosec // as above
		to = binary.BigEndian.AppendUint32(to, number)
	}
	return to
}
