package news

import (
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// Unknown as a number of a Token means that nothing of the part is known.
const Unknown = 1<<64 - 1

// Token says which changes of a filter a copy has. A server gives it out, and followers give
// it back as it is.
type Token struct {
	// Epoch is a random number that the server has chosen when it began to note changes.
	// What another epoch counts is something else.
	Epoch uint64
	// Numbers are how many changes the copy has, for each part of the filter.
	Numbers []uint64
}

// maxParts is the largest number of parts of a filter.
const maxParts = 1 << 12

var errToken = errors.New("a token is what FILTER.NEWS has returned")

// New returns the token of who has nothing yet of a filter of so many parts.
func New(epoch uint64, parts int) Token {
	t := Token{epoch, make([]uint64, parts)}
	for i := range t.Numbers {
		t.Numbers[i] = Unknown
	}
	return t
}

// String returns the token as a word of digits, lower case letters, dots and hyphens. It ends
// with a checksum: a token that was damaged on its way must not be taken for another.
func (t Token) String() string {
	b := fmt.Appendf(nil, "%016x", t.Epoch)
	sep := byte('-')
	for _, n := range t.Numbers {
		if b = append(b, sep); n != Unknown {
			b = strconv.AppendUint(b, n, 36)
		}
		sep = '.'
	}
	return string(fmt.Appendf(b, "-%08x", crc32.Checksum(b, castagnoli)))
}

// ParseToken reads what String wrote.
func ParseToken(s string) (t Token, err error) {
	epoch, list, ok := strings.Cut(s, "-")
	list, _, _ = strings.Cut(list, "-")
	if !ok || len(epoch) != 16 || strings.Count(list, ".") >= maxParts {
		return t, errToken
	}
	if t.Epoch, err = strconv.ParseUint(epoch, 16, 64); err != nil {
		return t, errToken
	}
	for n := range strings.SplitSeq(list, ".") {
		v := uint64(Unknown)
		if n != "" {
			if v, err = strconv.ParseUint(n, 36, 64); err != nil {
				return t, errToken
			}
		}
		t.Numbers = append(t.Numbers, v)
	}
	if t.String() != s {
		return t, errToken
	}
	return t, nil
}
