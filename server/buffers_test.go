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

// TestServersHaveSpareBuffers asks for those of a server that has just begun.
func TestServersHaveSpareBuffers(t *testing.T) {
	s := newServer(t, Config{})
	if n := len(s.buffers.spare); n != spares {
		t.Errorf("%d spare buffers, want %d", n, spares)
	}
}

// TestLargeBuffersAreNotKept gives buffers back that have grown, which count, and others, which are empty from then on.
func TestLargeBuffersAreNotKept(t *testing.T) {
	for name, grow := range map[string]func(b *buffers, n int){
		"in":     func(b *buffers, n int) { b.in = make([]byte, n) },
		"out":    func(b *buffers, n int) { b.out = make([]byte, n) },
		"args":   func(b *buffers, n int) { b.args = make([][]byte, n/24) },
		"raw":    func(b *buffers, n int) { b.raw = make([]byte, n) },
		"sealed": func(b *buffers, n int) { b.sealed = make([]byte, n) },
	} {
		var p bufferPool
		b := newBuffers()
		grow(b, 24*(maxKeptBytes+1))
		if n := b.size(); n < 24*(maxKeptBytes+1) {
			t.Errorf("%s: buffers that have grown by %d bytes count for %d", name, 24*(maxKeptBytes+1), n)
		}
		if p.put(b); p.get() == b {
			t.Errorf("%s: buffers that have grown are kept", name)
		}
		b = newBuffers()
		grow(b, readBytes)
		if p.put(b); len(b.in)+len(b.out)+len(b.args)+len(b.raw) != 0 {
			t.Errorf("%s: buffers that go back are not empty", name)
		}
	}
}
