package doctor

import "fmt"

// Invariant is a property of every row of a healthy database.
type Invariant struct {
	// Code is the code of the finding if the invariant is broken.
	Code Code
	// Says describes the fault, in the words of docs/doctor.md.
	Says string
}

// Invariants returns every invariant that [Examine] checks, one for each code.
func Invariants() []Invariant {
	all := []Invariant{{SessionMissing, "Rows carry the id of a session that does not exist. They are not checked further."}}
	all = append(all, activeRunInvariants.list()...)
	all = append(all, sessionInvariants.list()...)
	all = append(all, eventInvariants.list()...)
	all = append(all, mentionInvariants.list()...)
	all = append(all, runInvariants.list()...)
	all = append(all, requestInvariants.list()...)
	all = append(all, reportInvariants.list()...)
	all = append(all, effectInvariants.list()...)
	all = append(all, messageInvariants.list()...)
	all = append(all, recordInvariants.list()...)
	all = append(all, ruleInvariants.list()...)
	return append(all, entryInvariants.list()...)
}

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

func (t table[Row]) list() []Invariant {
	var list []Invariant
	for _, group := range t {
		for i := range group {
			list = append(list, Invariant{group[i].code, group[i].says})
		}
	}
	return list
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
