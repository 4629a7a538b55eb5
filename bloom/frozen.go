package bloom

import (
	"io"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
)

const (
	// pieceWords is how many words are copied at a time: 32 KiB.
	pieceWords = 4096
	// mostNotes is how many bits of a piece are noted before it is copied instead: as many as take
	// its memory.
	mostNotes = 2 * pieceWords
)

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
	noted    int      // bits
	copied   int      // words
	buf      []uint64 // positions of a key
}

// frozenPart is a part of the payload.
type frozenPart struct {
	words []uint64
	// bits appends the positions of the bits of a key, nil for a part that keys do not change.
	bits  func(dst []uint64, h uint64) []uint64
	read  int        // words before it were written
	fresh [][]uint32 // bits that were not set when their keys came, by piece
	whole [][]uint64 // pieces as they were that have many such bits, nil for others
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
		pieces := (len(words) + pieceWords - 1) / pieceWords
		p.fresh, p.whole = make([][]uint32, pieces), make([][]uint64, pieces)
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
					z.note(p, word/pieceWords, uint32(at%(64*pieceWords)))
				}
			}
		}
	}
}

// BeforeWords has to be called before words of the array, from one up to another, are changed in any way. The
// filter is no Scalable: that has several.
func (z *Frozen) BeforeWords(from, to int) {
	p := &z.parts[0]
	if p.bits == nil || p.read == len(p.words) {
		return
	}
	for piece := max(from, p.read) / pieceWords; piece*pieceWords < min(to, len(p.words)); piece++ {
		z.save(p, piece)
	}
}

// note notes a bit of a piece, or copies the piece.
func (z *Frozen) note(p *frozenPart, piece int, at uint32) {
	switch {
	case p.whole[piece] != nil:
	case len(p.fresh[piece]) < mostNotes:
		p.fresh[piece] = append(p.fresh[piece], at)
		z.noted++
	default:
		z.save(p, piece)
	}
}

// save copies a piece.
func (z *Frozen) save(p *frozenPart, piece int) {
	if p.whole[piece] != nil {
		return
	}
	from := piece * pieceWords
	was := slices.Clone(p.words[from:min(from+pieceWords, len(p.words))])
	p.restore(was, piece)
	z.copied += len(was)
	z.noted -= len(p.fresh[piece])
	p.whole[piece], p.fresh[piece] = was, nil
}

// Detach copies what was not written yet: from then on the filter may be changed in any way,
// and its memory be given back. The first call does that, others do nothing.
func (z *Frozen) Detach() {
	if z.detached {
		return
	}
	z.detached = true
	z.noted, z.copied = 0, 0
	for i := range z.parts {
		if p := &z.parts[i]; p.read < len(p.words) {
			rest := make([]uint64, len(p.words)) // what was written is not touched, and takes no memory
			z.copied += copy(rest[p.read:], p.words[p.read:])
			for piece := p.read / pieceWords; piece < len(p.fresh); piece++ {
				p.restore(rest[piece*pieceWords:], piece)
			}
			p.words, p.bits, p.fresh, p.whole = rest, nil, nil, nil
		}
	}
}

// restore makes the words of a piece what they were.
func (p *frozenPart) restore(words []uint64, piece int) {
	copy(words, p.whole[piece])
	for _, at := range p.fresh[piece] {
		words[at>>6] &^= 1 << (at & 63)
	}
}

// Size returns the length of the encoding.
func (z *Frozen) Size() int64 { return int64(z.header.EncodedSize()) }

// Saved returns how many bytes are put aside: of notes, and of pieces that were copied. They are
// hardly ever more than the filter has.
func (z *Frozen) Saved() int { return 4*z.noted + 8*z.copied }

// WriteTo writes the encoding that the filter had. It can be called once.
func (z *Frozen) WriteTo(w io.Writer) (int64, error) {
	buf := make([]uint64, pieceWords)
	return envelope.WriteSeq(w, z.header, func(yield func([]uint64, error) bool) {
		for i := range z.parts {
			for p := &z.parts[i]; p.read < len(p.words); {
				if !yield(z.next(p, buf), nil) {
					return
				}
			}
		}
	})
}

// next returns the next words of a part as they were.
func (z *Frozen) next(p *frozenPart, buf []uint64) []uint64 {
	buf = buf[:copy(buf, p.words[p.read:])]
	if p.fresh != nil {
		piece := p.read / pieceWords
		p.restore(buf, piece)
		z.noted -= len(p.fresh[piece])
		z.copied -= len(p.whole[piece])
		p.fresh[piece], p.whole[piece] = nil, nil
	}
	if z.detached {
		z.copied -= len(buf)
	}
	p.read += len(buf)
	return buf
}
