package server

// When writes are durable.

import (
	"fmt"

	"github.com/bloomery/bloomery/server/internal/door/local"
)

// Fsync is when a write is durable, so that a power cut does not undo it.
type Fsync uint8

// The modes.
const (
	// EverySecond makes writes durable within a second.
	EverySecond Fsync = iota
	// Always makes a write durable before it is answered.
	Always
	// Never leaves it to the operating system.
	Never
)

// ParseFsync returns the mode that a word of Redis stands for: always, everysec or no.
// The error wraps bloomery.ErrParameter.
func ParseFsync(word string) (Fsync, error) {
	f, err := local.ParseFsync(word)
	if err != nil {
		return 0, badConfig{fmt.Errorf("server: %w", err)}
	}
	return Fsync(f), nil
}

// String returns the word that ParseFsync takes.
func (f Fsync) String() string { return local.Fsync(f).String() }
