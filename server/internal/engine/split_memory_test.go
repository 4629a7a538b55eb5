package engine

import (
	"testing"
	"unsafe"
)

// TestDivideUsesMemoryAgain divides the same call twice: all that is sent to other machines is in the memory of the first time.
func TestDivideUsesMemoryAgain(t *testing.T) {
	c := &Call{cmd: &Command{ByHash: true}, Args: make([][]byte, 2+1000)}
	var v division
	divide := func() (bodies []*byte) {
		v.hashes, v.parts, v.ways = make([]uint64, 1000), make([]uint32, 1000), make([]way, 4)
		for i := range v.parts {
			v.parts[i] = uint32(i % len(v.ways))
			v.ways[i%len(v.ways)].items++
			v.ways[i%len(v.ways)].bytes += hashBytes
		}
		for i := range v.ways {
			v.ways[i].nodes = []uint32{uint32(i + 1)}
		}
		for _, p := range v.divide(c, 1) {
			if len(p.items) != 250 || len(p.body) < 250*hashBytes {
				t.Fatalf("a part of %d items and %d bytes", len(p.items), len(p.body))
			}
			bodies = append(bodies, unsafe.SliceData(p.body))
		}
		v.reset()
		return bodies
	}
	first := divide()
	for i, at := range divide() {
		if at != first[i] {
			t.Errorf("part %d has new memory", i)
		}
	}
}
