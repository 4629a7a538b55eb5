package engine

// Patterns of names.

import "github.com/bloomery/bloomery/server/internal/glob"

// Pattern is a compiled pattern of names, as KEYS takes it.
type Pattern = glob.Pattern

// NewPattern compiles a pattern.
func NewPattern(pattern string) *Pattern { return glob.New(pattern) }

// Match reports whether s matches a pattern, which is compiled by every call.
func Match(pattern, s string) bool { return glob.Match(pattern, s) }
