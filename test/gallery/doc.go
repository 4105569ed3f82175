// Package gallery reproduces bugs that systems like this one have shipped, each
// against a running service, and shows that they do not happen here. A test is named
// by the line of the gallery that it reproduces. It sees the service as its users do,
// through the Go client and HTTP; only the checker at the end of each test looks at
// the rows. It has tests only.
package gallery
