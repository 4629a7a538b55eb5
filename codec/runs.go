package codec

import "encoding/binary"

// Runs are sequences of words, each begun by a number in the variable-length
// form of encoding/binary: the number of words times 4, plus what they are.
const (
	runZeros   = 0 // all bits clear
	runOnes    = 1 // all bits set
	runLiteral = 2 // as many words follow
	runRepeat  = 3 // one word follows
)

// runAt returns the run that begins at word i: what it is, and where it ends.
// A word that is neither repeated nor all clear or all set is literal.
func runAt(raw []byte, i int) (what, end int) {
	x := binary.LittleEndian.Uint64(raw[i:])
	for end = i + 8; end < len(raw) && binary.LittleEndian.Uint64(raw[end:]) == x; end += 8 {
	}
	switch {
	case x == 0:
		return runZeros, end
	case x == ^uint64(0):
		return runOnes, end
	case end > i+8:
		return runRepeat, end
	}
	return runLiteral, end
}

// appendRuns appends the runs of raw. It reports false if they would have
// limit bytes or more; what it then appended is of no use.
func appendRuns(dst, raw []byte, limit int) ([]byte, bool) {
	start, literal := len(dst), 0
	flush := func(end int) {
		if literal < end {
			dst = binary.AppendUvarint(dst, uint64(end-literal)/8<<2|runLiteral)
			dst = append(dst, raw[literal:end]...)
		}
	}
	for i := 0; i < len(raw); {
		what, end := runAt(raw, i)
		if what != runLiteral {
			flush(i)
			literal = end
			dst = binary.AppendUvarint(dst, uint64(end-i)/8<<2|uint64(what))
			if what == runRepeat {
				dst = append(dst, raw[i:i+8]...)
			}
		}
		i = end
		if len(dst)-start+i-literal >= limit {
			return dst, false
		}
	}
	flush(len(raw))
	return dst, len(dst)-start < limit
}

// runs fills raw, which is clear, from the runs in code. It reports false if
// they are damaged or are not of the length of raw.
func runs(raw, code []byte) bool {
	for len(raw) > 0 {
		x, n := binary.Uvarint(code)
		words := x >> 2
		if n <= 0 || words == 0 || words > uint64(len(raw)/8) {
			return false
		}
		code = code[n:]
		part := raw[:words*8]
		raw = raw[words*8:]
		switch x & 3 {
		case runOnes:
			for i := range part {
				part[i] = 0xff
			}
		case runLiteral:
			if len(code) < len(part) {
				return false
			}
			code = code[copy(part, code):]
		case runRepeat:
			if len(code) < 8 {
				return false
			}
			for i := 0; i < len(part); i += 8 {
				copy(part[i:], code[:8])
			}
			code = code[8:]
		}
	}
	return len(code) == 0
}
