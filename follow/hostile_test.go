package follow_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/follow"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/news"
	"github.com/bloomery/bloomery/internal/resp"
)

// wholes returns an answer on the filter f whose parts are all as one encoding in the transport
// form, and have had so many changes.
func wholes(packed []byte, parts int, changes uint64, more bool) []byte {
	token := news.New(1, parts)
	pieces := make([]news.Piece, parts)
	for i := range pieces {
		token.Numbers[i] = changes
		pieces[i] = news.Piece{Part: i, Form: news.Whole, Data: packed}
	}
	return answerOf(token, more, pieces)
}

// answerOf returns an answer on the filter f.
func answerOf(token news.Token, more bool, pieces []news.Piece) []byte {
	flag := 0
	if more {
		flag = 1
	}
	word := token.String()
	b := fmt.Appendf(nil, "*4\r\n$%d\r\n%s\r\n:%d\r\n*%d\r\n", len(word), word, flag, len(pieces))
	for _, p := range pieces {
		b = fmt.Appendf(b, "*3\r\n:%d\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", p.Part, len(p.Form), p.Form, len(p.Data), p.Data)
	}
	return fmt.Appendf(b, ":%d\r\n", news.Check("f", word, more, pieces))
}

// TestEndlessAnswer follows a server whose answer has more elements, or more bytes, than news
// can have.
func TestEndlessAnswer(t *testing.T) {
	for name, answer := range map[string]string{
		"promised":  "*4\r\n$1\r\nx\r\n:1\r\n*500000000\r\n",
		"in pieces": "*4\r\n$1\r\nx\r\n:1\r\n*4096\r\n" + strings.Repeat("*4096\r\n"+strings.Repeat("*0\r\n", 4096), 5),
		"long":      "*4\r\n$500000000\r\n",
	} {
		c := follow.Config{Address: "redis://" + liar(t, []byte(answer)), Filter: "f", Limits: codec.Limits{Bytes: 1 << 20}}
		if f, err := follow.Open(t.Context(), c); !errors.Is(err, resp.ErrReply) {
			t.Errorf("%s: %v, %v; want ErrReply", name, f, err)
		}
	}
}

// TestLargeParts follows a server whose short answer would unpack to more than the limit, and
// to more than the memory. Nothing of it is unpacked.
func TestLargeParts(t *testing.T) {
	data := encoded(t, 28_000_000, 0)
	size := uint64(len(data))
	packed := must(codec.Compress(nil, data))
	parts := 1
	for uint64(parts)*size <= memory.Limit()/2 {
		parts *= 2
	}
	if parts > 4096 {
		t.Skip("no filter is larger than the memory")
	}
	for _, c := range []struct {
		parts  int
		limits codec.Limits
	}{{2, codec.Limits{Bytes: size + size/2}}, {parts, codec.Limits{}}} {
		at := "redis://" + liar(t, wholes(packed, c.parts, 1, false))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := follow.Open(t.Context(), follow.Config{Address: at, Filter: "f", Limits: c.limits})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("%d parts of %d bytes, limit %d: %v, %v", c.parts, size, c.limits.Bytes, f, err)
		}
		// What came takes a few times its size, a part that is unpacked much more.
		if took, most := after.TotalAlloc-before.TotalAlloc, uint64(8*c.parts*len(packed)+8<<20); took > min(most, uint64(c.parts)*size) {
			t.Errorf("%d parts of %d bytes: %d bytes were allocated, want at most %d", c.parts, size, took, most)
		}
	}
}

// TestEverMore follows servers that always have more: the same, and something new each time.
func TestEverMore(t *testing.T) {
	packed := must(codec.Compress(nil, encoded(t, 100, 10)))
	changes := uint64(0)
	for name, answer := range map[string]func() []byte{
		"the same": func() []byte { return wholes(packed, 2, 1, true) },
		"new":      func() []byte { changes++; return wholes(packed, 2, changes, true) },
		"twice": func() []byte {
			p := news.Piece{Form: news.Whole, Data: packed}
			return answerOf(news.Token{Epoch: 1, Numbers: []uint64{1}}, false, []news.Piece{p, p})
		},
	} {
		if f, err := follow.Open(t.Context(), follow.Config{Address: "redis://" + lying(t, answer), Filter: "f"}); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v, %v; want ErrCorrupt", name, f, err)
		}
	}
}

// TestNoCopyIsNotTheNewest follows a server that sends parts which make no filter, and then has nothing new: the old copy is
// not taken for the newest version.
func TestNoCopyIsNotTheNewest(t *testing.T) {
	packed := must(codec.Compress(nil, encoded(t, 100, 10)))
	token := news.Token{Epoch: 1, Numbers: []uint64{5, 5}}
	dump := func(part int) news.Piece { return news.Piece{Part: part, Form: news.Dump, Data: []byte{7, 0}} }
	pong := []byte("+PONG\r\n") // to what is asked before each update but the first
	answers := [][]byte{
		wholes(packed, 1, 1, false),
		pong, answerOf(token, false, []news.Piece{dump(0), dump(1)}),
		pong, answerOf(token, false, nil),
	}
	at := 0
	server := lying(t, func() []byte { at++; return answers[at-1] })
	f := must(follow.Open(t.Context(), follow.Config{Address: "redis://" + server, Filter: "f", Every: -1}))
	defer f.Close()
	for i := range 2 {
		if changed, err := f.Update(t.Context()); err == nil || changed {
			t.Errorf("update %d: changed %t, %v; want an error", i+1, changed, err)
		}
	}
}

// TestClonePartsWithKey clones a copy of several parts that were made with a secret key.
func TestClonePartsWithKey(t *testing.T) {
	h := hashing.Keyed([16]byte{1, 2, 3})
	f := must(bloom.Config{Capacity: 100, ErrorRate: 0.01, Hasher: h}.New())
	f.AddString("key")
	packed := must(codec.Compress(nil, must(f.MarshalBinary())))
	followed := opened(t, follow.Config{Address: "redis://" + liar(t, wholes(packed, 4, 1, false)), Filter: "f", Hasher: h})
	clone, err := followed.View().Clone()
	if err != nil || !clone.Contains([]byte("key")) {
		t.Errorf("the clone: %v", err)
	}
}
