package doctor

import "fmt"

// check is one invariant of a kind of row.
type check[Row any] struct {
	code Code
	says string
	// broken returns the fault of a row, or "" if the invariant holds. It may read all rows of
	// the session that were read before.
	broken func(e *examiner, row Row) string
	// fatal: a row that breaks the invariant is not checked further.
	fatal bool
}

// invariant returns the check of an invariant.
func invariant[Row any](code Code, says string, broken func(e *examiner, row Row) string) check[Row] {
	return check[Row]{code: code, says: says, broken: broken}
}

// fatal returns the check of an invariant that the further checks of a row depend on.
func fatal[Row any](code Code, says string, broken func(e *examiner, row Row) string) check[Row] {
	return check[Row]{code: code, says: says, broken: broken, fatal: true}
}

// table holds the invariants of a kind of row in groups. Only the first broken invariant of a
// group is reported, because it explains the others.
type table[Row any] [][]check[Row]

// examine reports the broken invariants of a row. It returns false if one of them is fatal.
func (t table[Row]) examine(e *examiner, row Row, at Finding) bool {
	for _, group := range t {
		for i := range group {
			if detail := group[i].broken(e, row); detail != "" {
				e.find(group[i].code, at, detail)
				if group[i].fatal {
					return false
				}
				break
			}
		}
	}
	return true
}

// unless returns the formatted detail if the condition does not hold.
func unless(holds bool, detail string, args ...any) string {
	if holds {
		return ""
	}
	return fmt.Sprintf(detail, args...)
}

// when returns the formatted detail if the condition holds.
func when(broken bool, detail string, args ...any) string { return unless(!broken, detail, args...) }
