package contents

// Filters of several parts.

import (
	"iter"
	"slices"

	"github.com/bloomery/bloomery/server/internal/catalog"
)

// several is the value of the entry of a filter that has more than one part. That
// of the usual filter is its *Part itself.
type several struct{ parts []*Part }

// Value returns the value of an entry with these parts.
func Value(parts []*Part) any {
	if len(parts) == 1 {
		return parts[0]
	}
	return &several{slices.Clone(parts)}
}

// PartCount returns how many parts the filter of an entry has, 0 for a string.
func PartCount(e *catalog.Entry) int {
	switch v := e.Value.(type) {
	case *Part:
		return 1
	case *several:
		return len(v.parts)
	}
	return 0
}

// PartAt returns a part of a filter by its index, nil if there is none. A key is
// in the part that bloomery.Route names.
//
// The parts of a filter have the ids from that of its entry on, so that one number
// stands for a part in a snapshot and in the order of locks.
func PartAt(e *catalog.Entry, index uint32) *Part {
	switch v := e.Value.(type) {
	case *Part:
		if index == 0 {
			return v
		}
	case *several:
		if uint64(index) < uint64(len(v.parts)) {
			return v.parts[index]
		}
	}
	return nil
}

// Parts returns the parts of a filter, none for a string.
func Parts(e *catalog.Entry) iter.Seq2[int, *Part] {
	return func(yield func(int, *Part) bool) {
		switch v := e.Value.(type) {
		case *Part:
			yield(0, v)
		case *several:
			for i, p := range v.parts {
				if !yield(i, p) {
					return
				}
			}
		}
	}
}

// Made returns when the filter was made, in seconds since 1970, 0 if that is not
// known.
func (p *Part) Made() int64 { return int64(p.made) }

// SetMade sets what Made returns. Nobody else has p.
func (p *Part) SetMade(seconds int64) { p.made = uint32(seconds) }

// TryBytes returns the memory of the contents of an entry. It reports false if somebody has the lock of a part.
func TryBytes(e *catalog.Entry) (sum uint64, ok bool) {
	for _, p := range Parts(e) {
		if !p.mu.TryRLock() {
			return 0, false
		}
		sum += p.Bytes()
		p.mu.RUnlock()
	}
	return sum, true
}
