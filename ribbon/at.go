package ribbon

import (
	"fmt"
	"io"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/far"
	"github.com/bloomery/bloomery/sizing"
)

// At returns the Filter or Map whose encoding begins at the first byte of r, to be asked where it lies: a
// key takes a read of 64 bytes for the code of its bucket, and one of up to 64 bytes more than
// twice its columns, 8 bytes each. One key of some twenty takes as much again for the next layer.
// The directory of the shards is read at once. Of c only Hasher may be set. Errors are those of
// Decode, or those of r.
func (c Config) At(r io.ReaderAt) (bloomery.Far, error) {
	return far.Open(c.opening(), r, c.found)
}

// scattered is a table that is not here.
type scattered struct {
	table
	parts []remote
}

// remote is a shard that is not here: its layers and its list lie from a word on.
type remote struct {
	built
	at uint64
}

func (c Config) found(s *far.Source) (far.Found, error) {
	kind := uint16(envelope.KindRibbon)
	if s.Header.Kind == envelope.KindMap {
		kind = envelope.KindMap
	}
	t, err := parse(kind, s.Header, c.Hasher)
	if err != nil {
		return far.Found{}, err
	}
	words := s.Header.Payload / 8
	dir, err := s.Front(min(words, (shardWords+maxLayers*layerWords)<<t.bits))
	if err != nil {
		return far.Found{}, err
	}
	f := &scattered{table: t}
	if err := f.locate(dir, words); err != nil {
		return far.Found{}, err
	}
	return far.Found{Hasher: f.hasher, Has: f.has, Stats: bloomery.Stats{
		Kind: envelope.KindName(kind), Capacity: f.keys, Items: f.keys, Exact: true, Bits: s.Header.Size, Bytes: s.Header.Payload, Asked: f.asked,
	}}, nil
}

// locate finds the shards in a payload of so many words by their directory.
func (f *scattered) locate(front []uint64, words uint64) error {
	f.parts = make([]remote, 1<<f.bits)
	dir := front
	for i := range f.parts {
		if err := f.parts[i].parse(&dir, words, f.w, f.r); err != nil {
			return fmt.Errorf("%w: shard %d: %w", bloomery.ErrCorrupt, i, err)
		}
	}
	at := uint64(lines(len(front) - len(dir)))
	for i := range f.parts {
		s := &f.parts[i]
		s.at = at
		n := lines(s.size(&f.table))
		if at > words || n > words-at {
			return fmt.Errorf("%w: shard %d takes %d words of %d", bloomery.ErrCorrupt, i, n, words)
		}
		at += n
	}
	if at != words {
		return fmt.Errorf("%w: %d words behind the last shard", bloomery.ErrCorrupt, words-at)
	}
	return nil
}

// has looks a hash up. Code and columns are asked for together, since most keys are in their
// first layer.
func (f *scattered) has(p *far.Parts, h uint64) (found, known bool) {
	s := &f.parts[bloomery.Route(h, f.bits)]
	at := s.at
	for _, l := range s.shapes {
		of := l.span(f.w)
		start := startOf(h, of.starts)
		match, here := f.match(p, of, at, h, start)
		var codes [1]uint64
		bucket := start >> f.w.bucket
		if !p.Words(codes[:], at+uint64(l.colWords(f.r))+bucket/perCodes) || !here {
			return false, false
		}
		if f.w.keeps(start, codeOf(codes[:], bucket%perCodes)) {
			return match, true
		}
		h = bump(h)
		at += uint64(l.words(f.w, f.r))
	}
	return listedFar(p, at, s.list, h)
}

// match reports whether the row of h, which begins at start, gives its fingerprint in a layer
// whose columns lie from a word on.
func (f *scattered) match(p *far.Parts, l span, at, h, start uint64) (match, known bool) {
	x := row64(h)
	if f.w.bits != 64 {
		x = row128(h)
	}
	block, off := int(start/blockSlots), start%blockSlots
	lo := x.lo << off
	mid := x.hi<<off | x.lo>>1>>(63-off)
	hi := x.hi >> 1 >> (63 - off)
	var pair [2 * (sizing.MaxRibbonColumns + 1)]uint64
	var third [sizing.MaxRibbonColumns + 1]uint64
	n := l.columns(block, f.r)
	known = p.Words(pair[:2*n], at+uint64(l.at(block, f.r)))
	if f.w.bits != 64 {
		known = p.Words(third[:n], at+uint64(l.at(block+2, f.r))) && known
	}
	want, mask := uint64(x.print), uint64(1)<<n-1
	if f.field.bits > 0 { // what stands in the columns of the value is not compared
		want = uint64(f.field.join(x.print, 0))
		mask &^= (1<<f.field.bits - 1) << f.field.prints
	}
	var wrong uint64
	for j := range n {
		parity := uint64(bits.OnesCount64(pair[j]&lo ^ pair[n+j]&mid ^ third[j]&hi))
		wrong |= (parity ^ want>>j) & (mask >> j)
	}
	return wrong&1 == 0, known
}

// listedFar looks a hash up in a sorted list of n that lies from a word on.
func listedFar(p *far.Parts, at uint64, n int, h uint64) (found, known bool) {
	for n > 0 {
		var word [1]uint64
		half := n / 2
		switch {
		case !p.Words(word[:], at+uint64(half)):
			return false, false
		case word[0] == h:
			return true, true
		case word[0] < h:
			at, n = at+uint64(half)+1, n-half-1
		default:
			n = half
		}
	}
	return false, true
}
