package fuse

import (
	"slices"

	"github.com/bloomery/bloomery/internal/memory"
)

// peeler solves the system of equations that an array is: for every key, the
// xor of its slots is its fingerprint. It looks for slots that only one key is
// left in, takes that key away, and goes on with its other slots; in the
// reverse of this order each key finds a slot that is free to be set.
//
// Segment by segment: what it works on is a few segments, which fit into the
// second-level cache.
type peeler struct {
	words []uint64 // one for each slot
	order []uint32 // slots in the order in which their keys were taken away
}

// spareOrder is the room behind the order. A slot gets into it once at most,
// when its count becomes 1; the room is for slots that are written before they
// are judged.
const spareOrder = 4

// load puts all keys in. It reports false if the hashes are so badly mixed
// that a slot has too many.
func (p *peeler) load(pl *place, slots int, hashes []uint64) bool {
	if cap(p.words) < slots {
		p.words = memory.Words(slots)
	} else {
		p.words = p.words[:slots]
		clear(p.words)
	}
	var all uint64
	words := p.words
	if pl.arity == 4 {
		for _, h := range hashes {
			i0, i1, i2, i3 := pl.four(h)
			h &= low
			w0, w1 := (words[i0]^h)+one, (words[i1]^(h|1<<lowBits))+one
			w2, w3 := (words[i2]^(h|2<<lowBits))+one, (words[i3]^(h|3<<lowBits))+one
			words[i0], words[i1], words[i2], words[i3] = w0, w1, w2, w3
			all |= w0 | w1 | w2 | w3
		}
		return all < tooMany
	}
	for _, h := range hashes {
		i0, i1, i2 := pl.three(h)
		h &= low
		w0, w1, w2 := (words[i0]^h)+one, (words[i1]^(h|1<<lowBits))+one, (words[i2]^(h|2<<lowBits))+one
		words[i0], words[i1], words[i2] = w0, w1, w2
		all |= w0 | w1 | w2
	}
	return all < tooMany
}

// peel takes away as many keys as it can and returns their number.
func (p *peeler) peel(pl *place) int {
	if n := len(p.words) + spareOrder; cap(p.order) < n {
		p.order = words32(n)
	}
	p.order = p.order[:cap(p.order)]
	done := 0
	for base := uint32(0); base < uint32(len(p.words)); base += pl.length {
		from := done // the slots before are done
		for i, w := range p.words[base : base+pl.length] {
			p.order[from] = base + uint32(i)
			if w>>countBits == 1 {
				from++
			}
		}
		if pl.arity == 4 {
			done = p.peel4(pl, done, from)
		} else {
			done = p.peel3(pl, done, from)
		}
	}
	p.order = p.order[:done]
	return done
}

// peel3 works on the queue order[done:tail] until nothing is left of it, and
// returns the end of what is done.
func (p *peeler) peel3(pl *place, done, tail int) int {
	words, order := p.words, p.order
	for head := done; head < tail; head++ {
		i := order[head]
		w := words[i]
		if w>>countBits != 1 {
			continue // its key went by another slot
		}
		order[done] = i
		done++
		i0, i1, i2 := pl.threeAt(i, w)
		h := w & low
		w0, w1, w2 := (words[i0]-one)^h, (words[i1]-one)^(h|1<<lowBits), (words[i2]-one)^(h|2<<lowBits)
		words[i0], words[i1], words[i2] = w0, w1, w2
		words[i] = w - one // empty, but the key stays for fill
		order[tail] = i0
		if w0>>countBits == 1 {
			tail++
		}
		order[tail] = i1
		if w1>>countBits == 1 {
			tail++
		}
		order[tail] = i2
		if w2>>countBits == 1 {
			tail++
		}
	}
	return done
}

// peel4 is peel3 for keys of four slots.
func (p *peeler) peel4(pl *place, done, tail int) int {
	words, order := p.words, p.order
	for head := done; head < tail; head++ {
		i := order[head]
		w := words[i]
		if w>>countBits != 1 {
			continue
		}
		order[done] = i
		done++
		i0, i1, i2, i3 := pl.fourAt(i, w)
		h := w & low
		w0, w1 := (words[i0]-one)^h, (words[i1]-one)^(h|1<<lowBits)
		w2, w3 := (words[i2]-one)^(h|2<<lowBits), (words[i3]-one)^(h|3<<lowBits)
		words[i0], words[i1], words[i2], words[i3] = w0, w1, w2, w3
		words[i] = w - one
		order[tail] = i0
		if w0>>countBits == 1 {
			tail++
		}
		order[tail] = i1
		if w1>>countBits == 1 {
			tail++
		}
		order[tail] = i2
		if w2>>countBits == 1 {
			tail++
		}
		order[tail] = i3
		if w3>>countBits == 1 {
			tail++
		}
	}
	return done
}

// fill sets the slots of an array, which is zero before, so that every key
// finds its fingerprint.
func fill[T Fingerprint](table []T, p *peeler, pl *place) {
	words, order := p.words, p.order
	if pl.arity == 4 {
		for _, i := range slices.Backward(order) {
			w := words[i]
			i0, i1, i2, i3 := pl.fourAt(i, w)
			table[i] = fingerprint[T](w) ^ table[i0] ^ table[i1] ^ table[i2] ^ table[i3]
		}
		return
	}
	for _, i := range slices.Backward(order) {
		w := words[i]
		i0, i1, i2 := pl.threeAt(i, w)
		table[i] = fingerprint[T](w) ^ table[i0] ^ table[i1] ^ table[i2]
	}
}
