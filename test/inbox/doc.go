// Package inbox drives the pages of package web in a headless browser, against the real program:
// found by role and name as people and screen readers find them, never by class. The package has
// tests only.
package inbox
