package counting

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// noJSON refuses JSON, and is no field that can be seen.
type noJSON = envelope.NoJSON

const (
	// batch is how many keys are hashed before their hashes are looked up:
	// 2 KiB of stack.
	batch = 256
	// line is the number of words in a cache line.
	line = 8
)

// format is what distinguishes the kinds of this package in files.
type format struct {
	kind   uint16
	name   string
	head   int // words of state before the array: none or a line
	widths int // sum of the widths of counters that the kind takes
}

// The formats of the three kinds.
var (
	formatFilter   = format{envelope.KindCounting, "counting", 0, 2 | 4 | 8 | 16}
	formatSpectral = format{envelope.KindSpectral, "spectral", line, 8 | 16 | 32}
	formatStable   = format{envelope.KindStable, "stable", line, 1 | 2 | 4 | 8}
)

// takes reports whether counters of the kind can be so wide.
func (f format) takes(width int) bool {
	return width > 0 && width&(width-1) == 0 && f.widths&width != 0
}

// words returns the size of an array with its counters and its state.
func (f format) words(c sizing.Counted) uint64 { return uint64(f.head) + c.Total()/64 }

// table is a blocked array of bits with a counter beside each: what the types
// of this package share. A clear bit is the count 0, and its counter is 0; a
// set bit with the counter c is the count c + 1.
type table struct {
	noJSON
	form     format
	hasher   hashing.Hasher
	size     sizing.Counted
	capacity uint64
	rate     float64
	period   uint64 // inserts until a Stable has swept all blocks

	words  []uint64 // all of it, as in the file
	state  []uint64 // format.head words
	blocks []kernel.Block
	counts []uint64       // the counters of all blocks
	planes []kernel.Block // the same memory, for kinds whose counters lie in planes
}

// hold makes words the array of f.
func (f *table) hold(words []uint64) {
	head, end := f.form.head, f.form.head+int(f.size.Bits/64)
	f.words = words
	f.state = words[:head:head]
	f.blocks = kernel.Blocks(words[head:end:end])
	f.counts = words[end:]
	f.planes = kernel.Blocks(f.counts)
	if f.form.kind == envelope.KindStable {
		f.period = sizing.StablePeriod(f.capacity, f.size.Width)
	}
}

// Hash returns the filter's hash of key.
func (f *table) Hash(key []byte) uint64 { return f.hasher.Hash(key) }

// Hasher returns the hasher of the filter.
func (f *table) Hasher() hashing.Hasher { return f.hasher }

// Shape returns the size of the array of bits, the number of bits that a key
// sets, and the width of the counters.
func (f *table) Shape() sizing.Counted { return f.size }

// Contains reports whether key may be in the set. False is certain.
func (f *table) Contains(key []byte) bool { return f.ContainsHash(f.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (f *table) ContainsString(key string) bool { return f.ContainsHash(f.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h. It costs one memory
// access.
func (f *table) ContainsHash(h uint64) bool {
	return len(f.blocks) > 0 && kernel.Has(f.blocks, f.size.K, h)
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It is several times
// faster than as many single calls. It panics if dst is shorter than hs.
func (f *table) ContainsHashes(dst []bool, hs []uint64) {
	if len(f.blocks) == 0 {
		clear(dst[:len(hs):len(dst)])
		return
	}
	kernel.HasAll(dst, f.blocks, f.size.K, hs)
}

// ContainsKeys is ContainsHashes for keys.
func (f *table) ContainsKeys(dst []bool, keys [][]byte) { tableContains(f, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (f *table) ContainsStrings(dst []bool, keys []string) { tableContains(f, dst, keys) }

func tableContains[K []byte | string](f *table, dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(f.hasher, hs[:], keys)
		f.ContainsHashes(dst[:n], hs[:n])
		keys, dst = keys[n:], dst[n:]
	}
}

// saturation returns the share of set bits. It reads the whole array.
func (f *table) saturation() float64 {
	return f.share(len(f.blocks), f.setBits)
}

// AppendBinary appends the encoding of the filter to dst. The error is nil but
// for a zero filter.
func (f *table) AppendBinary(dst []byte) ([]byte, error) {
	if len(f.words) == 0 {
		return dst, errZero("marshal")
	}
	return envelope.Append(dst, f.header(), f.words), nil
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (f *table) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (f *table) WriteTo(w io.Writer) (int64, error) {
	if len(f.words) == 0 {
		return 0, errZero("write")
	}
	return envelope.WriteTo(w, f.header(), f.words)
}

// header returns the header of the encoding.
func (f *table) header() envelope.Header {
	return envelope.Header{
		Kind:     f.form.kind,
		Hash:     f.hasher.Kind(),
		Check:    f.hasher.Check(),
		K:        uint8(f.size.K),
		Extra:    uint32(f.size.Width),
		Capacity: f.capacity,
		Rate:     f.rate,
		Size:     f.size.Bits,
		Payload:  uint64(len(f.words)) * 8,
	}
}

// copied returns a table of its own memory with the same counts.
func (f *table) copied() table {
	c := *f
	words := memory.Words(len(f.words))
	copy(words, f.words)
	c.hold(words)
	return c
}

// compatible returns nil if the counts of f and o mean the same, else an error
// that names the first parameter that differs.
func (f *table) compatible(o *table) error {
	switch {
	case f.size.Bits != o.size.Bits:
		return fmt.Errorf("%w: %d bits and %d bits", bloomery.ErrIncompatible, f.size.Bits, o.size.Bits)
	case f.size.K != o.size.K:
		return fmt.Errorf("%w: %d hashes and %d hashes", bloomery.ErrIncompatible, f.size.K, o.size.K)
	case f.size.Width != o.size.Width:
		return fmt.Errorf("%w: counters of %d bits and of %d bits", bloomery.ErrIncompatible, f.size.Width, o.size.Width)
	}
	return envelope.SameHash(f.hasher, o.hasher)
}
