// Package gallery reproduces bugs of similar systems against a running service, and shows that they
// do not happen here. Each test is named after the bug's line in the gallery. It uses the service
// like its users, through the Go client and HTTP; only the checker at the end of each test reads
// the rows. It has tests only.
package gallery
