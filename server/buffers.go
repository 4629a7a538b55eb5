package server

// The buffers of connections, and the pool of those that are not in use.

import (
	"sync"

	"github.com/bloomery/bloomery/server/internal/engine"
)

const (
	// readBytes is the size of a fresh read buffer, writeBytes how much is
	// gathered before it is written.
	readBytes  = 64 << 10
	writeBytes = 64 << 10
	// slack is how much the last reply may go beyond writeBytes before the
	// write buffer grows.
	slack = 4 << 10
	// maxKeptBytes bounds the buffers that go back to the pool.
	maxKeptBytes = 256 << 10
	// maxCalls and maxArgs bound the commands, and their arguments, that are
	// run before their replies are made.
	maxCalls = 256
	maxArgs  = 8 << 10
	// firstArgs is for how many arguments there is memory at first,
	// maxKeptArgs bounds what is kept.
	firstArgs   = 1 << 10
	maxKeptArgs = 2 * maxArgs
)

// buffers is what a connection needs while it has something to do. An idle
// connection has none.
type buffers struct {
	in   []byte // what was read and not run yet
	out  []byte // replies not written yet
	args [][]byte
	work engine.Workspace

	// Connections with TLS have these too.
	raw    []byte // records that were read and not decrypted yet
	sealed []byte // records to write
}

// size returns the bytes that b takes.
func (b *buffers) size() int {
	return cap(b.in) + cap(b.out) + 24*cap(b.args) + cap(b.raw) + cap(b.sealed)
}

// bufferPool keeps buffers that no connection needs now.
type bufferPool struct {
	pool  sync.Pool
	spare chan *buffers // which the collector leaves; nil: none
}

// spares is how many buffers there are for connections that find none in the pool, which the collector empties. While it
// works, whoever allocates helps it first: for ten milliseconds, if another client has just asked for much memory.
const spares = 4

// stock makes the spare buffers.
func (p *bufferPool) stock() {
	p.spare = make(chan *buffers, spares)
	for range spares {
		p.spare <- newBuffers()
	}
}

func newBuffers() *buffers {
	return &buffers{
		in:   make([]byte, 0, readBytes),
		out:  make([]byte, 0, writeBytes+slack),
		args: make([][]byte, 0, firstArgs),
	}
}

func (p *bufferPool) get() *buffers {
	if b, ok := p.pool.Get().(*buffers); ok {
		return b
	}
	select {
	case b := <-p.spare:
		go func() { p.spare <- newBuffers() }() // in the place of b
		return b
	default:
		return newBuffers()
	}
}

// put takes b back, unless it has grown too large to keep.
func (p *bufferPool) put(b *buffers) {
	if cap(b.in) > maxKeptBytes || cap(b.out) > maxKeptBytes || cap(b.args) > maxKeptArgs || cap(b.raw) > maxKeptBytes || cap(b.sealed) > maxKeptBytes {
		return
	}
	b.in, b.out, b.args, b.raw = b.in[:0], b.out[:0], b.args[:0], b.raw[:0]
	b.work.Reset()
	p.pool.Put(b)
}
