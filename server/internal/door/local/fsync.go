package local

// When a write is durable: always, everysec, no.

import "fmt"

// Fsync says when a write is durable.
type Fsync uint8

// The modes.
const (
	// EverySecond makes writes durable within a second.
	EverySecond Fsync = iota
	// Always makes writes durable before they are answered.
	Always
	// Never leaves it to the operating system.
	Never
)

var fsyncNames = []string{"everysec", "always", "no"}

// ParseFsync returns the mode of a name: always, everysec or no.
func ParseFsync(name string) (Fsync, error) {
	for i, n := range fsyncNames {
		if n == name {
			return Fsync(i), nil
		}
	}
	return 0, fmt.Errorf("fsync %q: want always, everysec or no", name)
}

// String returns the name of the mode.
func (f Fsync) String() string {
	if int(f) >= len(fsyncNames) {
		return fmt.Sprintf("Fsync(%d)", uint8(f))
	}
	return fsyncNames[f]
}
