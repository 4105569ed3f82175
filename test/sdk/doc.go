// Package sdk holds the client libraries in other languages as their users get them: each is
// packed, installed into an empty project, type-checked where the language has types, and driven
// against the real service. What is fetched from registries makes its tests ones of the tag
// "agents". The package has tests only.
package sdk
