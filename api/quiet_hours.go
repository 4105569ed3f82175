package api

// MaxZoneLength is the maximum length of the name of a time zone.
const MaxZoneLength = 64

// QuietHours are the times of the day at which a person gets no messages, except by urgent steps of an
// escalation. Zone is the name of a time zone, such as "Europe/Berlin". From and To are times of the day,
// such as "22:00" and "07:00"; To may be on the next day.
type QuietHours struct {
	Zone string `json:"zone" body:"required"`
	From string `json:"from" body:"required"`
	To   string `json:"to" body:"required"`
}

// QuietHoursView has the caller's quiet hours; absent for none.
type QuietHoursView struct {
	QuietHours *QuietHours `json:"quiet_hours,omitempty"`
}
