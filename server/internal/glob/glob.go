// Package glob matches names with patterns in the manner of Redis: * for any bytes, ?
// for one, [a-c] and [^a-c] for one of a set, \ before a byte that stands for itself.
// KEYS and SCAN, and the rights of users, are about such patterns.
package glob

import (
	"math"
	"strings"
	"unsafe"
)

// Pattern is a compiled glob: segments of elements that match one byte each, with
// stars between them.
//
// Safe for concurrent use.
type Pattern struct {
	any      bool      // the pattern is "*"
	segments []segment // between stars
	first    bool      // the first segment is bound to the beginning
	last     bool      // the last segment is bound to the end
	least    int       // bytes that a match has at least
}

// segment is what stands between two stars.
type segment struct {
	elements []element
	text     string // the elements, if each takes one byte, between stars
	// masks has for every byte which elements take it, a bit each: another long
	// segment is searched for at 64 places of itself at once.
	masks []uint64
}

// element matches one byte: b itself, any, or one of a set.
type element struct {
	b   byte
	set *[4]uint64 // nil for a byte
	any bool
}

func (e *element) takes(c byte) bool {
	if e.set == nil {
		return e.any || e.b == c
	}
	return e.set[c>>6]>>(c&63)&1 != 0
}

const (
	// maxPattern bounds a pattern: names are shorter.
	maxPattern = 512 << 10
	// maxFloating bounds the elements that may have to be tried at every place
	// of a name: no person writes so many.
	maxFloating = 4096
	// naive is up to where a segment is tried place by place.
	naive = 8
)

// New compiles a pattern. One of more than 512 KiB, or with more than 4096 elements
// between its first star and its last, matches nothing, so that a match takes time in
// proportion to the length of the name.
func New(pattern string) *Pattern {
	if len(pattern) > maxPattern {
		return &Pattern{least: math.MaxInt}
	}
	p := &Pattern{any: pattern == "*", first: true, last: true}
	var now []element
	star := false
	for i := 0; i < len(pattern); {
		if pattern[i] == '*' {
			p.first = p.first && i > 0
			p.end(&now)
			star = true
			i++
			continue
		}
		star = false
		e, width := compileOne(pattern[i:])
		now = append(now, e)
		i += width
	}
	p.end(&now)
	p.last = !star
	p.index()
	return p
}

// end ends a segment, if one has begun.
func (p *Pattern) end(now *[]element) {
	if len(*now) > 0 {
		p.segments = append(p.segments, segment{elements: *now})
		p.least += len(*now)
		*now = nil
	}
}

// index makes the texts, or the masks if they are long, of segments that are not bound to an end.
func (p *Pattern) index() {
	from, to := 0, len(p.segments)
	if p.first {
		from = min(1, to)
	}
	if p.last {
		to = max(from, to-1)
	}
	floating := 0
	for i := range p.segments[from:to] {
		floating += len(p.segments[from+i].elements)
	}
	if floating > maxFloating {
		p.least = math.MaxInt
		return
	}
	for i := from; i < to; i++ {
		if s := &p.segments[i]; !s.makeText() && len(s.elements) > naive {
			s.makeMasks()
		}
	}
}

// makeText makes the text, unless an element takes several bytes.
func (s *segment) makeText() bool {
	text := make([]byte, len(s.elements))
	for i, e := range s.elements {
		if text[i] = e.b; e.any || e.set != nil {
			return false
		}
	}
	s.text = string(text)
	return true
}

func (s *segment) makeMasks() {
	words := (len(s.elements) + 63) / 64
	s.masks = make([]uint64, 256*words)
	every := make([]uint64, words)
	for i := range s.elements {
		e, word, bit := &s.elements[i], i/64, uint64(1)<<(i%64)
		switch {
		case e.any:
			every[word] |= bit
		case e.set == nil:
			s.masks[int(e.b)*words+word] |= bit
		default:
			for c := range 256 {
				if e.takes(byte(c)) {
					s.masks[c*words+word] |= bit
				}
			}
		}
	}
	for mask := s.masks; len(mask) > 0; mask = mask[words:] {
		for i, bits := range every {
			mask[i] |= bits
		}
	}
}

// Any reports whether the pattern is "*", which everything matches.
func (p *Pattern) Any() bool { return p.any }

// Match reports whether s matches. It does not allocate, but for patterns with more than
// 256 elements between two stars, some of which take several bytes. A segment between
// stars takes the first place where it fits; later ones never help.
func (p *Pattern) Match(s string) bool {
	if p.any {
		return true
	}
	if len(s) < p.least {
		return false
	}
	segments := p.segments
	if len(segments) == 0 {
		return !p.first || len(s) == 0 // stars alone, or nothing
	}
	if p.first {
		head := segments[0].elements
		if !fits(head, s) {
			return false
		}
		if p.last && len(segments) == 1 {
			return len(s) == len(head)
		}
		s, segments = s[len(head):], segments[1:]
	}
	var end []element
	if p.last {
		end, segments = segments[len(segments)-1].elements, segments[:len(segments)-1]
	}
	for i := range segments {
		at := segments[i].find(s)
		if at < 0 {
			return false
		}
		s = s[at:]
	}
	return len(s) >= len(end) && fits(end, s[len(s)-len(end):])
}

// MatchBytes is Match for bytes.
func (p *Pattern) MatchBytes(s []byte) bool {
	return p.Match(unsafe.String(unsafe.SliceData(s), len(s)))
}

// find returns where the first place ends at which the segment fits, -1 if there
// is none.
func (s *segment) find(text string) int {
	n := len(s.elements)
	if s.text != "" {
		if at := strings.Index(text, s.text); at >= 0 {
			return at + n
		}
		return -1
	}
	if s.masks == nil {
		for at := 0; at+n <= len(text); at++ {
			if fits(s.elements, text[at:]) {
				return at + n
			}
		}
		return -1
	}
	// Bit i of state says that the last i+1 bytes fit the first i+1 elements.
	var few [4]uint64
	state, words := few[:], (n+63)/64
	if words > len(few) {
		state = make([]uint64, words)
	}
	state = state[:words]
	for at := range len(text) {
		mask, carry := s.masks[int(text[at])*words:][:words], uint64(1)
		for i := range state {
			next := state[i]<<1 | carry
			carry = state[i] >> 63
			state[i] = next & mask[i]
		}
		if state[(n-1)/64]>>((n-1)%64)&1 != 0 {
			return at + 1
		}
	}
	return -1
}

// fits reports whether s begins with what elements match.
func fits(elements []element, s string) bool {
	if len(s) < len(elements) {
		return false
	}
	for i := range elements {
		if !elements[i].takes(s[i]) {
			return false
		}
	}
	return true
}

// compileOne compiles the first element of a pattern and returns its length.
func compileOne(pattern string) (element, int) {
	switch pattern[0] {
	case '?':
		return element{any: true}, 1
	case '[':
		return compileSet(pattern)
	case '\\':
		if len(pattern) > 1 {
			return element{b: pattern[1]}, 2
		}
	}
	return element{b: pattern[0]}, 1
}

// compileSet compiles a set in brackets. One that is not closed ends with the
// pattern.
func compileSet(pattern string) (element, int) {
	var set [4]uint64
	add := func(lo, hi byte) {
		for c := int(lo); c <= int(hi); c++ {
			set[c>>6] |= 1 << (c & 63)
		}
	}
	p := 1
	negate := p < len(pattern) && pattern[p] == '^'
	if negate {
		p++
	}
	for p < len(pattern) && pattern[p] != ']' {
		switch {
		case pattern[p] == '\\' && p+1 < len(pattern):
			p++
			add(pattern[p], pattern[p])
		case p+2 < len(pattern) && pattern[p+1] == '-':
			lo, hi := pattern[p], pattern[p+2]
			add(min(lo, hi), max(lo, hi))
			p += 2
		default:
			add(pattern[p], pattern[p])
		}
		p++
	}
	if p < len(pattern) {
		p++
	}
	if negate {
		for i := range set {
			set[i] = ^set[i]
		}
	}
	return element{set: &set}, p
}
