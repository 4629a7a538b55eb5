package far

const (
	// lineWords and lineBytes are what is read at least: a cache line, at a multiple of its
	// length, as payloads begin at one.
	lineWords = 8
	lineBytes = 8 * lineWords
	// cacheLines is how many lines stay when their lookup is over: 128 KiB.
	cacheLines = 2048
)

// line is a cache line of a payload.
type line struct {
	words    [lineWords]uint64
	verified bool // its chunk agreed with its checksum before
}

// Parts are the words of a payload that are here.
type Parts struct {
	f        *Filter
	held     map[uint64]line // those of the lookups that are under way
	missing  []uint64        // lines that were asked for and are not here
	verified bool            // all words that the lookup got are
	strict   bool            // only verified lines count as here
	beyond   bool            // words behind the end were asked for
}

// Words puts the words of the payload from at on into dst. It returns false if one of them is
// not here: then it is noted that its line is missing.
func (p *Parts) Words(dst []uint64, at uint64) bool {
	if end := at + uint64(len(dst)); end > p.f.header.Payload/8 || end < at {
		p.beyond = true
		return false
	}
	here := true
	for len(dst) > 0 {
		number, from := at/lineWords, at%lineWords
		l, ok := p.line(number)
		if !ok {
			p.missing = append(p.missing, number)
			here = false
		}
		p.verified = p.verified && l.verified
		n := copy(dst, l.words[from:])
		dst, at = dst[n:], at+uint64(n)
	}
	return here
}

// line returns a line that is here. One that was read before its chunk was verified is not.
func (p *Parts) line(number uint64) (line, bool) {
	l, ok := p.held[number]
	if !ok {
		l, ok = p.f.cached(number)
	}
	return l, ok && (l.verified || !p.strict && !p.f.isVerified(chunkOf(number)))
}

// cache keeps the lines that were read last.
type cache struct {
	lines map[uint64]line
	order []uint64 // their numbers, a ring
	next  int
}

func (c *cache) put(number uint64, l line) {
	if _, ok := c.lines[number]; !ok {
		if len(c.order) < cacheLines {
			c.order = append(c.order, number)
		} else {
			delete(c.lines, c.order[c.next])
			c.order[c.next] = number
			c.next = (c.next + 1) % cacheLines
		}
	}
	c.lines[number] = l
}
