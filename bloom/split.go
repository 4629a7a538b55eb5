package bloom

import (
	"fmt"
	"iter"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/fields"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

var (
	_ bloomery.Hashed = (*Split)(nil)
	_ bloomery.Adder  = (*Split)(nil)
)

// Split is the filter of Parquet files: blocks of 256 bits, 8 lanes of 32, one
// bit of a key in each lane of its block. An operation costs one memory
// access.
//
//	blocks  [ 256 bits ][ 256 bits ][ 256 bits ] ...
//	                     |
//	one block            [lane 0][lane 1][lane 2] ... [lane 7]
//	one key               1 bit   1 bit   1 bit        1 bit
//
// Take it to exchange filters with systems that read Parquet; else Filter needs
// less memory, by 6% at 1% and by 16% at 1e-4. A Split has at most 2^32 blocks,
// 128 GiB; the header of a filter in a Parquet file has sizes below 2 GiB.
//
// Its array is that of Parquet to the byte, see AppendBitset. For a reader of
// Parquet to find the keys in it, they must have been hashed by XXH64 with seed
// 0, as Config.Hasher: named.XXH64(); the default is XXH3 as everywhere.
//
// Make one with NewSplit or Config.NewSplit; for a zero Split see Filter.
//
// Safe for concurrent readers; a writer needs exclusion.
type Split struct{ halves }

// NewSplit returns a Split for n keys with false positive rate p. It panics if
// n is less than 1 or p is not between 1e-6 and 1: use Config.NewSplit for
// values that are not constants.
func NewSplit(n int, p float64) *Split {
	s, err := Config{Capacity: n, ErrorRate: p}.NewSplit()
	if err != nil {
		panic(err)
	}
	return s
}

// NewSplit returns a Split. Its errors wrap ErrParameter or ErrTooLarge, or
// are those of Alloc.
func (c Config) NewSplit() (*Split, error) {
	err := c.prepare("NewSplit", "Foldable")
	if err != nil {
		return nil, fmt.Errorf("bloom: new split: %w", err)
	}
	shape, rate, err := c.foldable(sizing.Split)
	if err != nil {
		return nil, fmt.Errorf("bloom: new split: %w", err)
	}
	words, err := memory.Array(int(shape.Bits/64), c.Alloc)
	if err != nil {
		return nil, fmt.Errorf("bloom: new split: %w", err)
	}
	return &Split{halves{base{hasher: c.Hasher, shape: shape, capacity: uint64(c.Capacity), rate: rate}, kernel.SplitBlocks(words)}}, nil
}

// NewSplitFromBitset returns a Split with a copy of a bare array, as
// AppendBitset gives it and as it stands behind the header of a filter in a
// Parquet file. The size follows from the length of the bitset, so only
// Capacity, Hasher and Alloc of c may be set. c.Hasher must be the one that the
// keys were hashed with. Errors are those of NewSplit, and ErrCorrupt if the bitset
// is not a sequence of blocks of 32 bytes.
func (c Config) NewSplitFromBitset(bitset []byte) (*Split, error) {
	const blockBytes = sizing.SplitBits / 8
	if len(bitset) == 0 || len(bitset)%blockBytes != 0 {
		return nil, fmt.Errorf("bloom: new split: %w: a bitset of %d bytes is not whole blocks of %d",
			bloomery.ErrCorrupt, len(bitset), blockBytes)
	}
	if err := fields.Only(c, "NewSplitFromBitset", "Capacity", "Hasher", "Alloc"); err != nil {
		return nil, fmt.Errorf("bloom: new split: %w", err)
	}
	c.Bits, c.Hashes = uint64(len(bitset))*8, kernel.SplitK
	s, err := c.NewSplit()
	if err != nil {
		return nil, err
	}
	envelope.GetWords(s.words(), bitset)
	return s, nil
}

// Add adds key and reports whether the filter changed. False means that the
// key was, or seemed to be, there already.
func (f *Split) Add(key []byte) bool { return f.AddHash(f.hasher.Hash(key)) }

// AddString is Add for a string.
func (f *Split) AddString(key string) bool { return f.AddHash(f.hasher.HashString(key)) }

// AddHash is Add for a key whose hash is h.
func (f *Split) AddHash(h uint64) bool {
	if len(f.blocks) == 0 {
		panicZero(splitConstructors)
	}
	return kernel.SetSplit(f.blocks, h)
}

// AddHashes adds all of hs, in order. If dst is not nil, dst[i] is what
// AddHash(hs[i]) would have returned; it panics if dst is then shorter than hs.
func (f *Split) AddHashes(dst []bool, hs []uint64) {
	f.mustBeMade()
	kernel.SetAllSplit(dst, f.blocks, hs)
}

// AddKeys is AddHashes for keys.
func (f *Split) AddKeys(dst []bool, keys [][]byte) { splitAdd(f, dst, keys) }

// AddStrings is AddHashes for strings.
func (f *Split) AddStrings(dst []bool, keys []string) { splitAdd(f, dst, keys) }

func splitAdd[K []byte | string](f *Split, dst []bool, keys []K) {
	f.mustBeMade()
	if dst != nil {
		dst = dst[:len(keys):len(dst)]
	}
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(f.hasher, hs[:], keys)
		keys = keys[n:]
		if dst == nil {
			f.AddHashes(nil, hs[:n])
			continue
		}
		f.AddHashes(dst[:n], hs[:n])
		dst = dst[n:]
	}
}

// AddSeq adds all keys of seq. It does not retain them.
func (f *Split) AddSeq(seq iter.Seq[[]byte]) {
	f.mustBeMade()
	addSeq(f, f.hasher, batch, seq)
}

// Union adds all keys of o to f, see Filter.Union.
func (f *Split) Union(o *Split) error {
	f.mustBeMade()
	return f.unite(&o.base, f.words(), o.words())
}

// Intersect keeps in f the keys that are in o, too, see Filter.Intersect.
func (f *Split) Intersect(o *Split) error {
	f.mustBeMade()
	return f.keepCommon(&o.base, f.words(), o.words())
}

// Jaccard estimates how alike the sets in f and o are, see Filter.Jaccard.
func (f *Split) Jaccard(o *Split) (float64, error) {
	return f.alike(&o.base, f.words(), o.words())
}

// Clone returns a Split of its own memory with the same keys.
func (f *Split) Clone() *Split { return f.clone() }

// Clear removes all keys.
func (f *Split) Clear() {
	f.mustBeMade()
	clear(f.blocks)
}

// splitConstructors is how to make a Split.
const splitConstructors = "NewSplit or Config.NewSplit"

// mustBeMade panics for a zero Split.
func (f *Split) mustBeMade() {
	if len(f.blocks) == 0 {
		panicZero(splitConstructors)
	}
}

// UnmarshalBinary replaces f by the filter that data encodes, see
// Filter.UnmarshalBinary.
func (f *Split) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("bloom", data, f.hasher, f.load)
}
