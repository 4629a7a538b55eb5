// Package library puts the Bloom filters of this module and of its peers
// behind one face: a table of libraries with small adapters. To add a peer,
// write a file with its adapter and name it in All.
package library

import (
	"runtime/debug"
	"strings"

	"github.com/bloomery/bloomery/internal/measuring"
)

// Library is one kind of filter, ours or a peer's. Fields that are nil stand
// for what the library does not have.
type Library struct {
	Name   string // as tables show it
	Module string // the module that go.mod pins, empty for ours
	Ours   bool
	Sizing string  // how it gets its size, where that needs a word
	NoRate bool    // it promises no error rate: Make goes by Sizing
	Lowest float64 // the lowest rate worth measuring, 0 for all
	Uneven bool    // large filters differ from one another, since they have small parts
	Fewest int     // the fewest keys that it is meant for, 0 for any number
	Large  bool    // it is measured with ten million keys as well

	NoCapacity bool // it is built from its keys: Make needs no n

	// Make returns an empty filter for n keys at rate p, by the call that the
	// library has for that. n is converted to the type of that call, as a
	// caller would.
	Make func(n int64, p float64) (Filter, error)
	// Decode reads what Filter.Encode wrote.
	Decode func(data []byte) (Filter, error)
	// Hostile changes an encoding so that its header claims far too much.
	Hostile func(data []byte) []byte
	// Array returns a filter of so many bytes that sets k bits per key, for
	// timing. It reports false if the library has no filter of that size.
	Array func(bytes, k int) (Array, bool)
}

// Filter is a filter that is asked by key.
type Filter struct {
	measuring.Subject
	Bits   func() uint64          // size of its array now: some filters grow
	Encode func() ([]byte, error) // nil if the library has no format
}

// Call names a way to use a filter.
type Call string

// The calls that are timed.
const (
	HasOne     Call = "contains, one by one"
	HasBatch   Call = "contains, batch"
	AddOne     Call = "add, one by one"
	AddBatch   Call = "add, batch"
	AddAnswers Call = "add, batch with answers"
)

// Array is a filter for timing. Each function does the same with all its keys
// in a loop that is compiled for that library: no call between the keys goes
// through a function value. Lookups put their answers into dst.
type Array struct {
	Words  []uint64 // its memory, to be filled at random
	Hashes map[Call]func(dst []bool, hs []uint64)
	Ints   map[Call]func(dst []bool, keys []uint64) // hashing included
	Keys   map[Call]func(dst []bool, keys [][]byte) // hashing included
}

// Shared returns the filters that many goroutines may use at once.
func Shared() []Library { return []Library{concurrent(), syncFilter()} }

// All returns every library, ours first.
func All() []Library {
	return []Library{
		filter(),
		standard(),
		concurrent(),
		partitioned(),
		split(),
		scalable(),
		grown(),
		sliced(),
		countingFilter(),
		spectral(),
		stable(),
		cuckooFilter(),
		quotientFilter(),
		growing(),
		growingFar(),
		window(),
		quorum(),
		striped(),
		layers(),
		corrected(),
		fuseFilter[uint8]("fuse.Filter, 8 bits"),
		fuseFilter[uint16]("fuse.Filter, 16 bits"),
		fuseFilter[uint32]("fuse.Filter, 32 bits"),
		ribbonFilter("ribbon.Filter", 64),
		ribbonFilter("ribbon.Filter, 128 wide", 128),
		ribbonMap(),
		exactFilter(),
		blob(),
		bitsAndBlooms(),
		parquetGo(),
		arrow(),
		holiman(),
		ristretto(),
		boomFilters(),
	}
}

// Named returns the library with this name and panics if there is none.
func Named(name string) Library {
	for _, l := range append(All(), Shared()...) {
		if l.Name == name {
			return l
		}
	}
	panic("library: no library is called " + name)
}

// Title returns the name with the version.
func (l Library) Title() string {
	if v := l.version(); v != "" {
		return l.Name + " " + v
	}
	return l.Name
}

// version returns the version that was built in; of one that has no tag, the
// commit.
func (l Library) version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || l.Module == "" {
		return ""
	}
	for _, dep := range info.Deps {
		if dep.Path == l.Module {
			return dep.Version[strings.LastIndexByte(dep.Version, '-')+1:]
		}
	}
	return ""
}
