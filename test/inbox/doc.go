// Package inbox drives the pages of package web in a headless browser, against the real program:
// found by role and name as people and screen readers find them, never by class. It also tests the
// modules of the pages in Node. The package has tests only; those with a browser have the build
// tag browser, because they alone take minutes: "make pages" runs them, and CI does.
package inbox
