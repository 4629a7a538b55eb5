package ribbon

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"runtime"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/shards"
	"github.com/bloomery/bloomery/sizing"
)

// Config describes a filter to build. It is for values that come from users,
// files or networks, and for options that the function Build does not have.
//
// A field that a method does not use must be zero: the error wraps ErrParameter if
// it is set.
type Config struct {
	_ struct{}

	// ErrorRate is the false positive rate: less than 1, and at least 2^-32.
	// Rates above 1/2 give a filter with 1/2. A map may have 1: it then keeps
	// nothing but values, and every absent key gets one.
	ErrorRate float64
	// ValueBits is the length of the values of a map in bits. With the bits of
	// ErrorRate they are at most 32: 8-bit values go down to 2^-24.
	ValueBits int
	// Largest says that a key of a map that comes with several values gets the
	// largest one. Else they are an error.
	Largest bool
	// Width is the number of coefficients in a key's row: 64, which 0 stands
	// for, or 128, which saves another 0.2% of the space, and with which builds
	// and lookups take half as long again.
	Width int
	// Shards is the number of shards, a power of two up to 2^20. 0 stands for
	// one up to 4 million keys, then as many as keep shards below that. More
	// shards are built by more goroutines, but each takes some hundred slots,
	// and lookups have to choose one.
	Shards int
	// Hasher hashes the keys that the filter is asked for; the hashes that it
	// is built from must be its own. The zero value is XXH3 with seed 0.
	Hasher hashing.Hasher

	// Alloc returns memory for the array: at least the given number of bytes,
	// all zero, starting at a multiple of 8, better of 64. Nil means the Go
	// heap, with huge pages on Linux from 4 MiB. It is called by one goroutine
	// at a time. The memory must stay as long as the filter is used;
	// UnmarshalBinary uses the Go heap, and a Stream has no arrays in memory.
	Alloc func(bytes int) ([]byte, error)

	// Workers is the number of goroutines that build shards; 0 stands for
	// GOMAXPROCS. The filter does not depend on it.
	Workers int
	// Progress, if not nil, is called now and then, by one goroutine at a
	// time, with the number of hashes that were read and of those that are in
	// finished shards. At the end they are equal.
	Progress func(read, built uint64)

	// Scratch is where a Stream keeps what does not fit into memory: the Scratch of
	// package codec/file, which leaves nothing behind, or an *os.File. It needs room
	// for 8 bytes for each hash, and for the filter. What was in it before is not
	// looked at, and what is in it afterwards means nothing.
	Scratch interface {
		io.ReaderAt
		io.WriterAt
	}
	// Memory is how many bytes the buffers of a Stream may take, at least
	// 1 MiB; 0 stands for 1 GiB.
	Memory int
}

// plan is a Config that was checked.
type plan struct {
	Config
	size    sizing.Ribbon // with the columns of values
	field   field         // of a map
	w       *width
	workers int
}

// check returns the plan of a Config.
func (c Config) check() (plan, error) {
	p := plan{Config: c, workers: c.Workers}
	coefs := c.Width
	if coefs == 0 {
		coefs = 64
	}
	if c.Workers == 0 {
		p.workers = runtime.GOMAXPROCS(0)
	}
	var err error
	p.size, err = sizing.RibbonSize(c.ErrorRate, coefs)
	switch {
	case err != nil:
		return p, errors.Unwrap(err)
	case c.Shards < 0 || c.Shards&(c.Shards-1) != 0 || c.Shards > 1<<shards.MaxBits:
		return p, fmt.Errorf("%w: %d shards are not a power of two up to 2^%d", bloomery.ErrParameter, c.Shards, shards.MaxBits)
	case p.workers < 1:
		return p, fmt.Errorf("%w: %d workers", bloomery.ErrParameter, c.Workers)
	}
	p.w = &widths[coefs/64]
	return p, nil
}

// bits returns the binary logarithm of the number of shards for n keys.
func (p *plan) bits(n uint64) uint {
	if p.Shards > 0 {
		return uint(bits.TrailingZeros(uint(p.Shards)))
	}
	return shards.Bits(n, sizing.RibbonShardKeys)
}

// need returns the bytes that building a shard of n keys takes: their hashes,
// the rows, and the table.
func (p *plan) need(n uint64) uint64 {
	each := 8 + p.w.bits/8 + 4
	if p.field.bits > 0 {
		each += 8 + 4 + 16 // values as they come and as they are used, and pairs to sort
	}
	return n*uint64(each) + p.size.Bits(n)/8 + 1<<16
}

// table returns a table of 2^b shards that has none yet.
func (p *plan) table(b uint) table {
	return table{hasher: p.Hasher, w: p.w, r: p.size.Columns, field: p.field, bits: b, asked: p.ErrorRate}
}
