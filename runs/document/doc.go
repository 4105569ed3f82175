// Package document reads JSON strictly, writes its canonical form (RFC 8785), computes digests,
// merges objects, and validates values against JSON Schemas with limited work.
//
// It must not know what a document is about: no row, no command, no rule.
package document
