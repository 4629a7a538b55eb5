package glob_test

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/glob"
)

// slowMatch is a glob by the book, without a thought for time.
func slowMatch(pattern, s string) bool {
	if pattern == "" {
		return s == ""
	}
	if pattern[0] == '*' {
		return slowMatch(pattern[1:], s) || s != "" && slowMatch(pattern, s[1:])
	}
	if s == "" {
		return false
	}
	switch {
	case pattern[0] == '?':
		return slowMatch(pattern[1:], s[1:])
	case pattern[0] == '[':
		p, negate, ok := 1, false, false
		if p < len(pattern) && pattern[p] == '^' {
			negate = true
			p++
		}
		for ; p < len(pattern) && pattern[p] != ']'; p++ {
			switch {
			case pattern[p] == '\\' && p+1 < len(pattern):
				p++
				ok = ok || pattern[p] == s[0]
			case p+2 < len(pattern) && pattern[p+1] == '-':
				ok = ok || min(pattern[p], pattern[p+2]) <= s[0] && s[0] <= max(pattern[p], pattern[p+2])
				p += 2
			default:
				ok = ok || pattern[p] == s[0]
			}
		}
		return ok != negate && slowMatch(pattern[min(p+1, len(pattern)):], s[1:])
	case pattern[0] == '\\' && len(pattern) > 1:
		return pattern[1] == s[0] && slowMatch(pattern[2:], s[1:])
	}
	return pattern[0] == s[0] && slowMatch(pattern[1:], s[1:])
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true},
		{"", "", true},
		{"", "a", false},
		{"a*c", "abbc", true},
		{"a*c", "abb", false},
		{"?", "", false},
		{"a?c", "abc", true},
		{"[a-c]x", "bx", true},
		{"[^a-c]x", "bx", false},
		{"[^a-c]x", "dx", true},
		{`\*`, "*", true},
		{`\*`, "a", false},
		{"[abc", "b", true},
		{"a[", "a", false},
		{"**a**", "bab", true},
		{"[c-a]", "b", true},
		{`[\]]`, "]", true},
	} {
		if got := glob.New(tt.pattern).Match(tt.s); got != tt.want {
			t.Errorf("match(%q, %q) = %t, want %t", tt.pattern, tt.s, got, tt.want)
		}
	}
}

func TestMatchIsTheBooks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	word := func(letters string, n int) string {
		b := make([]byte, rng.IntN(n+1))
		for i := range b {
			b[i] = letters[rng.IntN(len(letters))]
		}
		return string(b)
	}
	rounds := 200_000
	if testing.Short() {
		rounds = 20_000
	}
	for range rounds {
		pattern, s := word(`ab**?[]^-\`, 8), word("ab-]", 8)
		if got, want := glob.New(pattern).Match(s), slowMatch(pattern, s); got != want {
			t.Fatalf("Match(%q, %q) = %t, want %t", pattern, s, got, want)
		}
		if got, want := glob.New(pattern).MatchBytes([]byte(s)), slowMatch(pattern, s); got != want {
			t.Fatalf("MatchBytes(%q, %q) = %t, want %t", pattern, s, got, want)
		}
	}
	// Segments that are searched for at 64 places at once, or as text.
	for range rounds / 100 {
		middle := word("ab?", 150) + "a[ab]b"
		if rng.IntN(4) == 0 {
			middle = word("ab", 12) + `\a` + "b"
		}
		pattern, s := "*"+middle+"*"+word("ab", 3), word("ab", 300)
		if rng.IntN(2) == 0 {
			s += strings.NewReplacer("?", "a", "[ab]", "b", `\`, "").Replace(middle) + word("ab", 20)
		}
		if got, want := glob.New(pattern).Match(s), slowFloat(pattern, s); got != want {
			t.Fatalf("Match(%q, %q) = %t, want %t", pattern, s, got, want)
		}
	}
}

// TestLongSegments has one element of a segment not fit, of as many elements as a word
// has bits and of more: the first, those around its end, and the last.
func TestLongSegments(t *testing.T) {
	for _, n := range []int{64, 80} {
		for at := range n {
			elements := slices.Repeat([]string{"[ab]"}, n)
			elements[at] = "a"
			pattern := "*" + strings.Join(elements, "") + "*"
			text := bytes.Repeat([]byte("b"), n)
			if glob.New(pattern).Match(string(text)) {
				t.Errorf("element %d of %d does not fit, and the segment does", at, n)
			}
			text[at] = 'a'
			if !glob.New(pattern).Match(string(text)) {
				t.Errorf("element %d of %d fits, and the segment does not", at, n)
			}
		}
	}
}

func TestAny(t *testing.T) {
	for pattern, want := range map[string]bool{"*": true, "": false, "a*": false, "*a": false, "?": false, `\*`: false} {
		if got := glob.New(pattern).Any(); got != want {
			t.Errorf("New(%q).Any() = %v, want %v", pattern, got, want)
		}
	}
}

// slowFloat is slowMatch for a pattern of two stars, by trying every place.
func slowFloat(pattern, s string) bool {
	end := strings.LastIndexByte(pattern, '*')
	for i := range len(s) + 1 {
		for j := i; j <= len(s); j++ {
			if slowMatch(pattern[1:end], s[i:j]) && strings.HasSuffix(s[j:], pattern[end+1:]) {
				return true
			}
		}
	}
	return false
}

// TestMatchIsLinear asks for the patterns that take others minutes.
func TestMatchIsLinear(t *testing.T) {
	long := strings.Repeat("a", 1<<16)
	for _, pattern := range []string{
		strings.Repeat("a*", 2000) + "b",
		"*" + strings.Repeat("a", 4000) + "b*",
		"*" + strings.Repeat("?", 2000) + "b" + strings.Repeat("[a-z]", 1000) + "*",
		strings.Repeat("*a", 4096) + "b",
		strings.Repeat("*", 500<<10) + "b",
	} {
		began := time.Now()
		if glob.New(pattern).Match(long) {
			t.Errorf("%.20q matches", pattern)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%.20q took %v on %d bytes", pattern, took, len(long))
		}
	}
	if !glob.New("*" + strings.Repeat("a", 4096) + "*").Match(long) {
		t.Error("a pattern of 4096 floating elements does not match")
	}
	if glob.New("*" + strings.Repeat("a", 4097) + "*").Match(long) {
		t.Error("a pattern of more than 4096 floating elements matches")
	}
	if head := strings.Repeat("a", 5000); !glob.New(head+"*").Match(long) || !glob.New("*"+head).Match(long) {
		t.Error("5000 elements that do not float do not match")
	}
	if stars := strings.Repeat("*", 512<<10); !glob.New(stars).Match(long) || glob.New(stars+"*").Match(long) {
		t.Error("patterns of up to 512 KiB match, and no longer ones")
	}
	if !glob.New(long).Match(long) {
		t.Error("a long pattern without a star does not match itself")
	}
}

// TestCompilingTakesLittleMemory compiles patterns of very many segments, as any user may send them: at most some
// hundred bytes for each byte.
func TestCompilingTakesLittleMemory(t *testing.T) {
	for _, tt := range []struct {
		segment string
		most    int
	}{
		{"*aaaaaaaaa", 128},
		{"*a????????", 384},
		{"*" + strings.Repeat("[a]", 9), 192},
		{"*a", 256},
	} {
		pattern := strings.Repeat(tt.segment, 400)
		before := bytesAllocated()
		glob.New(pattern)
		if each := int(bytesAllocated()-before) / len(pattern); each > tt.most {
			t.Errorf("%q, again and again: %d bytes for each byte, want at most %d", tt.segment, each, tt.most)
		}
	}
}

func bytesAllocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	runtime.GC() // counts what is in caches, too
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
