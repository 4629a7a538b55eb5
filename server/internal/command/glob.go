package command

// match reports whether s matches a pattern in the manner of Redis: * for any
// bytes, ? for one, [a-c] and [^a-c] for one of a set, \ before a byte that
// stands for itself. Patterns of many stars cost time in proportion to
// len(pattern)·len(s), no more.
func match(pattern, s string) bool {
	// When a byte does not match, the last star takes one byte more; earlier
	// stars never need to change.
	star, mark := -1, 0
	p, i := 0, 0
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, i
			p++
			continue
		}
		if width, ok := matchOne(pattern[p:], s[i]); ok {
			p += width
			i++
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		p, i = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches the first element of a pattern against one byte and returns
// the length of that element.
func matchOne(pattern string, c byte) (width int, ok bool) {
	if pattern == "" {
		return 0, false
	}
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		return matchSet(pattern, c)
	case '\\':
		if len(pattern) > 1 {
			return 2, pattern[1] == c
		}
	}
	return 1, pattern[0] == c
}

// matchSet matches a set in brackets. One that is not closed ends with the
// pattern.
func matchSet(pattern string, c byte) (width int, ok bool) {
	p := 1
	negate := p < len(pattern) && pattern[p] == '^'
	if negate {
		p++
	}
	for p < len(pattern) && pattern[p] != ']' {
		switch {
		case pattern[p] == '\\' && p+1 < len(pattern):
			p++
			ok = ok || pattern[p] == c
		case p+2 < len(pattern) && pattern[p+1] == '-':
			lo, hi := pattern[p], pattern[p+2]
			ok = ok || min(lo, hi) <= c && c <= max(lo, hi)
			p += 2
		default:
			ok = ok || pattern[p] == c
		}
		p++
	}
	if p < len(pattern) {
		p++
	}
	return p, ok != negate
}
