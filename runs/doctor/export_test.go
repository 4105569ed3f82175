package doctor

// Invariant is a property of every row of a healthy database.
type Invariant struct {
	// Code is the code of the finding if the invariant is broken.
	Code Code
	// Says describes the fault, in the words of docs/doctor.md.
	Says string
}

// Invariants returns every invariant that [Examine] checks, one for each code.
func Invariants() []Invariant {
	all := []Invariant{{StorageDamaged, storageDamaged}, {SessionMissing, "Rows carry the id of a session that does not exist. They are not checked further."}}
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

func (t table[Row]) list() []Invariant {
	var list []Invariant
	for _, group := range t {
		for i := range group {
			list = append(list, Invariant{group[i].code, group[i].says})
		}
	}
	return list
}
