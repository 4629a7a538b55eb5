package bloom

import (
	"io"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
)

// pieceWords is how many words are copied at a time: 32 KiB.
const pieceWords = 4096

// Frozen is a filter as it was at one moment: its encoding can be written while keys go on
// being added to the filter. That copies no array as a whole, and waits for nobody.
//
// Keys only set bits. So the filter of that moment is what is there later, without the bits
// that were not set when the keys came which have: Before notes them.
//
//	written so far      to be written
//	├──────────────────┼──────────────────────────────────┤
//	                        └ Before notes bits from here on
//
// Freeze, Before and Detach need exclusion, like a write. WriteTo reads the filter between
// two calls of Write of its writer, like any reader: during such a call keys may be added.
// The memory of the filter has to stay until it has ended, or until Detach.
type Frozen struct {
	header   envelope.Header
	parts    []frozenPart
	detached bool
	noted    int
	buf      []uint64 // positions of a key
}

// frozenPart is a part of the payload.
type frozenPart struct {
	words []uint64
	// bits appends the positions of the bits of a key, nil for a part that keys do not change.
	bits  func(dst []uint64, h uint64) []uint64
	read  int        // words before it were written
	fresh [][]uint32 // bits that were not set when their keys came, by piece
}

// Freeze returns f as it is now, nil if it is not a Filter, Standard, Partitioned, Split or
// Scalable, or a zero one.
func Freeze(f bloomery.Hashed) *Frozen {
	switch f := f.(type) {
	case *Filter:
		return freezeArray(f.header(envelope.KindBloom, f.words()), f.words(), blockBits(f.words(), f.shape.K))
	case *Split:
		return freezeArray(f.header(envelope.KindSplit, f.words()), f.words(), splitBits(len(f.blocks)))
	case *Standard:
		return freezeArray(f.header(f.kind(), f.words), f.words, f.bits())
	case *Partitioned:
		return freezeArray(f.header(f.kind(), f.words), f.words, f.bits())
	case *Scalable:
		return f.freeze()
	}
	return nil
}

func freezeArray(h envelope.Header, words []uint64, bits func([]uint64, uint64) []uint64) *Frozen {
	if len(words) == 0 {
		return nil
	}
	z := &Frozen{header: h}
	z.add(words, bits)
	return z
}

func (f *Scalable) freeze() *Frozen {
	if len(f.layers) == 0 {
		return nil
	}
	z := &Frozen{header: f.header()}
	payload := f.payload()
	z.add(payload[0], nil)
	for i := range f.layers {
		l := &f.layers[i]
		var bits func([]uint64, uint64) []uint64
		switch full := l.items >= l.capacity && i < len(f.layers)-1; {
		case full: // for ever
		case l.blocked():
			bits = blockBits(l.words, l.shape.K)
		default:
			bits = l.bits()
		}
		z.add(payload[1+2*i], bits)
		z.add(payload[2+2*i], nil)
	}
	return z
}

func (z *Frozen) add(words []uint64, bits func([]uint64, uint64) []uint64) {
	p := frozenPart{words: words, bits: bits}
	if bits != nil {
		p.fresh = make([][]uint32, (len(words)+pieceWords-1)/pieceWords)
	}
	z.parts = append(z.parts, p)
}

// every names all bits of a key.
var every = []uint8{0xff}

func blockBits(words []uint64, k int) func([]uint64, uint64) []uint64 {
	return func(dst []uint64, h uint64) []uint64 {
		return kernel.MarkedBits(dst, uint64(len(words)/lineWords), k, []uint64{h}, every)
	}
}

func splitBits(blocks int) func([]uint64, uint64) []uint64 {
	return func(dst []uint64, h uint64) []uint64 {
		return kernel.MarkedBitsSplit(dst, blocks, []uint64{h}, every)
	}
}

func (f flatSet) bits() func([]uint64, uint64) []uint64 {
	return func(dst []uint64, h uint64) []uint64 { return f.MarkedBits(dst, []uint64{h}, every) }
}

// Before has to be called before keys with the hashes hs are added to the filter.
func (z *Frozen) Before(hs []uint64) {
	for i := range z.parts {
		p := &z.parts[i]
		if p.bits == nil || p.read == len(p.words) {
			continue
		}
		for _, h := range hs {
			z.buf = p.bits(z.buf[:0], h)
			for _, at := range z.buf {
				if word := int(at >> 6); word >= p.read && bit(p.words, at)&1 == 0 {
					piece := &p.fresh[word/pieceWords]
					*piece = append(*piece, uint32(at%(64*pieceWords)))
					z.noted++
				}
			}
		}
	}
}

// Detach copies what was not written yet: from then on the filter may be changed in any way,
// and its memory be given back. The first call does that, others do nothing.
func (z *Frozen) Detach() {
	if z.detached {
		return
	}
	z.detached = true
	for i := range z.parts {
		if p := &z.parts[i]; p.read < len(p.words) {
			p.words, p.bits = slices.Clone(p.words), nil
		}
	}
}

// Size returns the length of the encoding.
func (z *Frozen) Size() int64 { return int64(z.header.EncodedSize()) }

// Saved returns how many bytes the notes of Before have taken.
func (z *Frozen) Saved() int { return 4 * z.noted }

// WriteTo writes the encoding that the filter had. It can be called once.
func (z *Frozen) WriteTo(w io.Writer) (int64, error) {
	buf := make([]uint64, pieceWords)
	return envelope.WriteSeq(w, z.header, func(yield func([]uint64, error) bool) {
		for i := range z.parts {
			for p := &z.parts[i]; p.read < len(p.words); {
				if !yield(p.next(buf), nil) {
					return
				}
			}
		}
	})
}

// next returns the next words as they were.
func (p *frozenPart) next(buf []uint64) []uint64 {
	buf = buf[:copy(buf, p.words[p.read:])]
	if p.fresh != nil {
		piece := &p.fresh[p.read/pieceWords]
		for _, at := range *piece {
			buf[at>>6] &^= 1 << (at & 63)
		}
		*piece = nil
	}
	p.read += len(buf)
	return buf
}
