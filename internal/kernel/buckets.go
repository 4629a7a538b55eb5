package kernel

import "math/bits"

// # The buckets of a cuckoo filter
//
// The array is a sequence of buckets of 4 slots, packed without gaps: slot s
// of bucket i is the bits from (4i+s)w on, for fingerprints of w bits. A slot
// that is 0 is free. A key has a fingerprint, which is not 0, and two buckets,
// one of an even and one of an odd number; its fingerprint lies in one of them:
//
//	bucket      i                      i+1
//	       ... [ w | w | w | w ][ w | w | w | w ] ...
//
// With h the hash of the key and n the number of buckets, which is even:
//
//	first        = upper 64 bits of h * n
//	y            = (h ^ h>>32) * fingerprintMul
//	fingerprint  = 1 + ((y >> 32) * (2^w - 1)) >> 32
//	x            = fingerprint * distanceMul
//	r            = 1 + 2 * upper 64 bits of ((x ^ x>>32) * distanceMul2) * n/2
//	second       = n - first - r, plus n if that is negative
//
// second follows from first as first does from second, so that a fingerprint
// can be moved without its key. The error rate is that of sizing.Cuckoo.
//
// All that is read of a bucket is one word for fingerprints of up to 16 bits,
// and two words, of two slots each, for wider ones. A word begins at any byte,
// so 31 bits cannot be had: two slots that begin in the middle of a byte do not
// fit. A spare word behind the array lets the last bucket be read like others.

const (
	fingerprintMul = 0x9fb21c651e98df25
	distanceMul    = 0x9e3779b97f4a7c15
	distanceMul2   = 0xd6e8feb86659fd93

	// Slots is the number of slots of a bucket.
	Slots = 4
	// oneWord is the widest fingerprint whose bucket is one word.
	oneWord = 16
)

// Buckets is the array of a cuckoo filter. Methods take bucket numbers below
// the number of buckets, and fingerprints that Place returned.
type Buckets struct {
	words  []uint64
	n      uint64 // buckets
	half   uint64 // n/2
	width  uint64 // bits of a fingerprint
	values uint64 // 2^width - 1, the number of fingerprints
	step   uint64 // bytes of a bucket that is whole bytes and one word, else 0

	// The lanes of a word are slots: all 4, or 2 of wide fingerprints.
	ones  uint64 // the lowest bit of each lane
	highs uint64 // the highest bit
	lows  uint64 // all others
}

// BucketWords returns the length of the array in words, the spare one
// included.
func BucketWords(n uint64, width int) uint64 {
	size := n * Slots * uint64(width)
	return size/64 + (size%64+63)/64 + 1
}

// NewBuckets returns the array in words, which are BucketWords(n, width). n is
// even and not 0, width is from 4 to 30, or 32.
func NewBuckets(words []uint64, n uint64, width int) Buckets {
	w := uint64(width)
	ones := uint64(1)<<w | 1
	if w <= oneWord {
		ones |= 1<<(2*w) | 1<<(3*w)
	}
	step := uint64(0)
	if w <= oneWord && w%2 == 0 {
		step = w / 2
	}
	highs := ones << (w - 1)
	return Buckets{
		words: words, n: n, half: n / 2, width: w, values: 1<<w - 1, step: step,
		ones: ones, highs: highs, lows: highs - ones,
	}
}

// Words returns the memory of the array.
func (b *Buckets) Words() []uint64 { return b.words }

// Span returns the words, from one up to another, that bucket i lies in.
func (b *Buckets) Span(i uint64) (from, to int) {
	at := i * b.width * Slots
	return int(at / 64), int((at+b.width*Slots-1)/64) + 1
}

// Place returns the first bucket and the fingerprint of the key with hash h.
func (b *Buckets) Place(h uint64) (bucket, fingerprint uint64) {
	_ = b.words[0] // a zero Buckets panics here, and loads need not look
	bucket, _ = bits.Mul64(h, b.n)
	y := (h ^ h>>32) * fingerprintMul
	return bucket, 1 + (y>>32)*b.values>>32
}

// Other returns the other bucket of a fingerprint in bucket i.
func (b *Buckets) Other(i, fingerprint uint64) uint64 {
	x := fingerprint * distanceMul
	r, _ := bits.Mul64((x^x>>32)*distanceMul2, b.half)
	j := b.n - 1 - i - 2*r // below 0 as a signed number, or not
	return j + b.n&uint64(int64(j)>>63)
}

// Has reports whether the fingerprint of h is in one of its buckets. It looks
// at both without a branch that depends on them: which one holds a fingerprint
// cannot be foretold.
func (b *Buckets) Has(h uint64) bool {
	i, fingerprint := b.Place(h)
	j := b.Other(i, fingerprint)
	pattern := fingerprint * b.ones
	if b.step == 0 {
		return b.hasUneven(i, j, pattern)
	}
	return (b.zero(b.load(i*b.step)^pattern)|b.zero(b.load(j*b.step)^pattern))&b.highs != 0
}

// hasUneven is Has for buckets that begin in the middle of a byte, or that
// are two words.
func (b *Buckets) hasUneven(i, j, pattern uint64) bool {
	found := b.zero(b.word(i)^pattern) | b.zero(b.word(j)^pattern)
	if b.width > oneWord {
		found |= b.zero(b.second(i)^pattern) | b.zero(b.second(j)^pattern)
	}
	return found&b.highs != 0
}

// zero sets the highest bit of each lane of x that is 0. It may also set that
// of lanes above such a lane, and sets bits that are no highest ones.
func (b *Buckets) zero(x uint64) uint64 { return (x - b.ones) &^ x }

// equal returns the highest bit of each lane in which x and pattern are equal.
func (b *Buckets) equal(x, pattern uint64) uint64 {
	x ^= pattern
	return ^(x&b.lows + b.lows | x) & b.highs
}

// word returns the four slots of bucket i, or the first two wide ones, with
// other bits above them.
func (b *Buckets) word(i uint64) uint64 {
	at := i * b.width
	return b.load(at>>1) >> (at & 1 * 4)
}

// second returns the other two wide slots of bucket i.
func (b *Buckets) second(i uint64) uint64 {
	at := (2*i + 1) * b.width
	return b.load(at>>2) >> (at & 3 * 2)
}

// HasAll sets dst[i] to Has(hs[i]). It panics if dst is shorter than hs.
func (b *Buckets) HasAll(dst []bool, hs []uint64) {
	if len(dst) < len(hs) {
		panic(badDst)
	}
	dst = dst[:len(hs)]
	// The assembly multiplies 32 bits: enough for 8 billion slots.
	if hasAVX512 && b.n < 1<<31 {
		for len(hs) >= group {
			n := min(len(hs), chunk) &^ (group - 1)
			hasGroupsBuckets(dst[:n], b, hs[:n])
			dst, hs = dst[n:], hs[n:]
		}
	}
	if b.width <= oneWord {
		for ; len(hs) >= touched; hs, dst = hs[touched:], dst[touched:] {
			b.hasGroup((*[touched]bool)(dst), (*[touched]uint64)(hs))
		}
	}
	for i, h := range hs {
		dst[i] = b.Has(h)
	}
}

// hasGroup reads the buckets of all keys before it looks at the first: these
// loads wait for nothing, so that many are under way at the same time.
func (b *Buckets) hasGroup(dst *[touched]bool, hs *[touched]uint64) {
	var first, second, patterns [touched]uint64
	for k, h := range hs {
		i, fingerprint := b.Place(h)
		j := b.Other(i, fingerprint)
		first[k], second[k] = b.word(i), b.word(j)
		patterns[k] = fingerprint * b.ones
	}
	for k, pattern := range patterns {
		dst[k] = (b.zero(first[k]^pattern)|b.zero(second[k]^pattern))&b.highs != 0
	}
}

// Replace puts a fingerprint into the first slot of bucket i that holds
// another, and reports false if none does. Fingerprint 0 stands for a free
// slot, to be filled or to be made.
func (b *Buckets) Replace(i, old, fingerprint uint64) bool {
	at := i * b.width * Slots
	if b.width <= oneWord {
		return b.replace(at, old, fingerprint)
	}
	return b.replace(at, old, fingerprint) || b.replace(at+2*b.width, old, fingerprint)
}

// replace is Replace in the lanes from bit at on.
func (b *Buckets) replace(at, old, fingerprint uint64) bool {
	x, shift := b.load(at>>3), at&7
	found := b.equal(x>>shift, old*b.ones)
	if found == 0 {
		return false
	}
	lane := uint64(bits.TrailingZeros64(found)) + 1 - b.width + shift
	b.store(at>>3, x^(old^fingerprint)<<lane)
	return true
}

// Count returns how many slots of bucket i hold a fingerprint.
func (b *Buckets) Count(i, fingerprint uint64) int {
	at, pattern := i*b.width*Slots, fingerprint*b.ones
	n := bits.OnesCount64(b.equal(b.load(at>>3)>>(at&7), pattern))
	if b.width > oneWord {
		at += 2 * b.width
		n += bits.OnesCount64(b.equal(b.load(at>>3)>>(at&7), pattern))
	}
	return n
}

// Free reports whether bucket i has a free slot.
func (b *Buckets) Free(i uint64) bool {
	free := b.zero(b.word(i))
	if b.width > oneWord {
		free |= b.zero(b.second(i))
	}
	return free&b.highs != 0
}

// Slot returns what is in slot s of bucket i.
func (b *Buckets) Slot(i, s uint64) uint64 {
	at := (i*Slots + s) * b.width
	return b.load(at>>3) >> (at & 7) & b.values
}

// SetSlot puts a fingerprint into slot s of bucket i.
func (b *Buckets) SetSlot(i, s, fingerprint uint64) {
	at := (i*Slots + s) * b.width
	x, shift := b.load(at>>3), at&7
	b.store(at>>3, x&^(b.values<<shift)|fingerprint<<shift)
}

// goLoad returns the 8 bytes from byte at on, the lowest first. There is a
// word behind the one that they begin in.
func goLoad(words []uint64, at uint64) uint64 {
	w, shift := words[at>>3:], at&7*8
	return w[0]>>shift | w[1]<<1<<(63-shift)
}

// goStore changes the 8 bytes that goLoad returns.
func goStore(words []uint64, at, x uint64) {
	w, shift := words[at>>3:], at&7*8
	w[0] = w[0]&(1<<shift-1) | x<<shift
	w[1] = w[1]&^(1<<shift-1) | x>>1>>(63-shift)
}

// Used returns the number of slots that are not free. It reads all of them.
func (b *Buckets) Used() (slots uint64) {
	for i := range b.n {
		slots += Slots - uint64(b.Count(i, 0))
	}
	return slots
}

// Rest reports whether a bit behind the last slot is set.
func (b *Buckets) Rest() bool {
	end := b.n * Slots * b.width
	last := b.words[end/64:]
	for i, w := range last {
		if i == 0 {
			w >>= end % 64
		}
		if w != 0 {
			return true
		}
	}
	return false
}
