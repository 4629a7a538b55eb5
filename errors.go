package bloomery

import "errors"

// The causes of the errors that filters return; test for them with errors.Is.
// The error itself adds the facts: "bloom: union: incompatible: 1024 blocks and
// 2048 blocks". Errors of readers, writers, files, contexts and of Config.Alloc
// are returned as they are, or wrapped.
var (
	// ErrFull means that a filter has no room for another key.
	ErrFull = errors.New("full")
	// ErrIncompatible means that two filters differ in shape or hash.
	ErrIncompatible = errors.New("incompatible")
	// ErrCorrupt means that encoded data is damaged or is not a filter.
	ErrCorrupt = errors.New("corrupt")
	// ErrVersion means that encoded data is of a version not known here.
	ErrVersion = errors.New("unknown version")
	// ErrTooLarge means that a filter would not fit into memory.
	ErrTooLarge = errors.New("too large")
	// ErrParameter means that a parameter is out of its range.
	ErrParameter = errors.New("bad parameter")
	// ErrKey means that a filter was opened without the hash key or the hash
	// function that it was made with.
	ErrKey = errors.New("wrong hash key")
)
