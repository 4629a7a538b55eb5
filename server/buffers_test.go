package server

import (
	"runtime"
	"testing"
)

// TestSpareBuffersAreLeftByTheCollector takes buffers after garbage was collected: the spare ones, which are replaced.
func TestSpareBuffersAreLeftByTheCollector(t *testing.T) {
	var p bufferPool
	p.stock()
	for range 3 {
		var spare [spares]*buffers
		for i := range spare {
			spare[i] = <-p.spare
		}
		for _, b := range spare {
			p.spare <- b
		}
		for range 3 { // a pool forgets in two
			runtime.GC()
		}
		for i := range spare {
			if b := p.get(); b != spare[i] {
				t.Errorf("buffers %d of %d are new", i+1, spares)
			}
		}
	}
}
