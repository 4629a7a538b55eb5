package filtertest

// Flaws of zero values.

import (
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
)

// zeroValue is a filter that no constructor made. What is set is its flaw.
type zeroValue struct {
	contains, containsHash, fills, encodes, verifies, counts, adds, quiet bool
}

func (z *zeroValue) Contains([]byte) bool     { return z.contains }
func (z *zeroValue) ContainsHash(uint64) bool { return z.containsHash }

func (z *zeroValue) ContainsHashes(dst []bool, hs []uint64) {
	for i := range hs {
		dst[i] = z.fills
	}
}

func (z *zeroValue) MarshalBinary() ([]byte, error) {
	if z.encodes {
		return nil, nil
	}
	return nil, bloomery.ErrParameter
}

func (z *zeroValue) Verify() error {
	if z.verifies {
		return errors.New("none")
	}
	return bloomery.ErrCorrupt
}

func (z *zeroValue) CountHash(uint64) uint64 {
	if z.counts {
		panic("no counters")
	}
	return 0
}

func (z *zeroValue) AddHash(uint64) bool {
	if z.quiet {
		panic("not made")
	}
	if !z.adds {
		panic("make it with sound.New")
	}
	return true
}

// Union gets another zero value.
func (z *zeroValue) Union(o *zeroValue) error {
	if o == nil || *o != (zeroValue{}) {
		return nil
	}
	panic("make it with sound.New")
}

func brokenZeros() []broken {
	of := func(name, want string, z zeroValue) broken {
		return broken{name: name, want: want, law: func(t *testing.T, _ Kind) { Zero(t, &z, "sound.New") }}
	}
	return []broken{
		of("zero-contains", `Contains of a zero value is true`, zeroValue{contains: true}),
		of("zero-contains-a-hash", `ContainsHash of a zero value is true`, zeroValue{containsHash: true}),
		of("zero-contains-a-batch", `ContainsHashes of a zero value sets dst to true`, zeroValue{fills: true}),
		of("zero-encodes", `MarshalBinary of a zero value: <nil>, want ErrParameter`, zeroValue{encodes: true}),
		of("zero-is-verified", `Verify of a zero value: none, want ErrCorrupt`, zeroValue{verifies: true}),
		of("zero-panics", `CountHash of a zero value panics: no counters`, zeroValue{counts: true}),
		of("zero-adds", `AddHash of a zero value does not panic`, zeroValue{adds: true}),
		of("zero-panics-without-a-name", `AddHash of a zero value panics with not made, want the name of sound.New`, zeroValue{quiet: true}),
	}
}

// TestZero tests the law with a zero value that keeps it.
func TestZero(t *testing.T) { Zero(t, new(zeroValue), "sound.New") }
