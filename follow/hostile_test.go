package follow_test

import (
	"encoding"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/follow"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/news"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/quotient"
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

// TestGrowingSteps follows servers that send a small filter and then steps by which it grows beyond the limit, or beyond the
// memory. What the filter would become is not made.
func TestGrowingSteps(t *testing.T) {
	// full returns a filter of nothing but zeros that says it is full: with the next key it is 255 times larger.
	full := func(capacity int) *bloom.Scalable {
		f := must(bloom.Config{Capacity: capacity, ErrorRate: 0.01, Growth: 255}.NewScalable())
		data := must(f.MarshalBinary())
		h := must(envelope.ParseHeader(data))
		line := data[envelope.HeaderSize+64:]
		copy(line[40:48], line[24:32])
		return must(bloom.Config{}.DecodeScalable(envelope.Seal(data[:envelope.HeaderSize+h.Payload:envelope.HeaderSize+h.Payload], 0, h)))
	}
	growing := must(quotient.Config{Capacity: 100, ErrorRate: 0.01}.NewGrowing())
	cf := must(redisbloom.NewCuckoo(redisbloom.CuckooParams{Capacity: 8 << 10, BucketSize: 2, MaxIterations: 20, Expansion: 32768}))
	whole := func(f encoding.BinaryMarshaler) news.Piece {
		return news.Piece{Form: news.Whole, Data: must(codec.Compress(nil, must(f.MarshalBinary())))}
	}
	small := codec.Limits{Bytes: 2 << 20}
	const large = 1 << 20
	cases := map[string]struct {
		first  news.Piece
		limits codec.Limits
	}{
		"scalable":  {whole(full(large / 16)), small},
		"quorum":    {whole(must(compose.NewQuorum(1, bloom.New(100, 0.01), full(large/16)))), small},
		"layers":    {whole(must(compose.NewLayers(nil, bloom.New(100, 0.01), full(large/16)))), small},
		"striped":   {whole(must(compose.StripedConfig{Capacity: large / 8, Stripes: 2, Make: func(n int) (bloomery.Hashed, error) { return full(n), nil }}.New())), small},
		"corrected": {whole(must(compose.NewCorrected(10, full(large/16)))), small},
		"growing":   {whole(growing), codec.Limits{Bytes: 128 << 10}},
		"cuckoo":    {news.Piece{Form: news.Dump, Data: cf.Payload()}, small},
	}
	// Of the memory, half is for what the filter becomes, and half for its encoding.
	if capacity := memory.Limit() / 255 * 8 / 15 * 3 / 4; capacity < 1<<28 {
		cases["beyond the memory"] = struct {
			first  news.Piece
			limits codec.Limits
		}{whole(full(int(capacity))), codec.Limits{}}
	}
	for name, c := range cases {
		hashes := make([]uint64, 200_000)
		for i := range hashes {
			if hashes[i] = uint64(i) * 0x9E3779B97F4A7C15; name == "cuckoo" {
				hashes[i] = 7 // two buckets have no room for so many
			}
		}
		token := news.Token{Epoch: 1, Numbers: []uint64{1}}
		first := answerOf(token, false, []news.Piece{c.first})
		token.Numbers[0]++
		answers := [][]byte{first, []byte("+PONG\r\n"), answerOf(token, false, []news.Piece{{Form: news.Steps, Data: news.AppendSteps(nil, make([]news.Step, len(hashes)), hashes)}})}
		at := -1
		address := "redis://" + lying(t, func() []byte { at++; return answers[at] })
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f := opened(t, follow.Config{Address: address, Filter: "f", Every: -1, Limits: c.limits})
		_, err := f.Update(t.Context())
		runtime.ReadMemStats(&after)
		if !errors.Is(err, bloomery.ErrTooLarge) || !strings.Contains(err.Error(), "room for") {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
		took, most := after.TotalAlloc-before.TotalAlloc, 12*small.Bytes
		if c.limits.Bytes == 0 {
			most = memory.Limit() / 8
		}
		if took > most {
			t.Errorf("%s: %d bytes were allocated, want at most %d", name, took, most)
		}
	}
}

// TestEverMore follows servers that always have more, and never all of the filter.
func TestEverMore(t *testing.T) {
	packed := must(codec.Compress(nil, encoded(t, 100, 10)))
	first := news.Piece{Form: news.Whole, Data: packed}
	changes := uint64(0)
	for name, c := range map[string]struct {
		answer func() []byte
		want   string
	}{
		"the same": {func() []byte {
			return answerOf(news.Token{Epoch: 1, Numbers: []uint64{1, news.Unknown}}, true, []news.Piece{first})
		}, "sends the same again"},
		"new": {func() []byte {
			changes++
			return answerOf(news.Token{Epoch: 1, Numbers: []uint64{changes, news.Unknown}}, true, []news.Piece{first})
		}, "faster than it can be copied"},
		"other filters": {func() []byte { changes++; return answerOf(news.New(changes, 2), true, []news.Piece{first}) }, "faster than it can be copied"},
		"twice": {func() []byte {
			return answerOf(news.Token{Epoch: 1, Numbers: []uint64{1}}, false, []news.Piece{first, first})
		}, "not one of FILTER.NEWS"},
	} {
		f, err := follow.Open(t.Context(), follow.Config{Address: "redis://" + lying(t, c.answer), Filter: "f"})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %s", name, f, err, c.want)
		}
		if faster := strings.Contains(c.want, "faster"); errors.Is(err, bloomery.ErrCorrupt) == faster {
			t.Errorf("%s: that it is corrupt: %v", name, err)
		}
	}
}

// TestOvertaken follows a server that has only one part in an answer, and whose first part has always changed by more than it
// remembers: there is a first copy, and a new one behind it, since a copy asks for the parts that have not come yet.
func TestOvertaken(t *testing.T) {
	const parts = 4
	packed := must(codec.Compress(nil, encoded(t, 100, 10)))
	asked, changes := 0, uint64(0)
	address := replying(t, func(request string) []byte {
		if !strings.Contains(request, "FILTER.NEWS") {
			return []byte("+PONG\r\n")
		}
		token := news.New(1, parts)
		if _, since, ok := strings.Cut(request, "SINCE\r\n"); ok {
			token = must(news.ParseToken(strings.Split(since, "\r\n")[1]))
		}
		at := max(0, slices.Index(token.Numbers, news.Unknown))
		asked, changes = asked+1, changes+1
		token.Numbers[at] = changes
		return answerOf(token, true, []news.Piece{{Part: at, Form: news.Whole, Data: packed}})
	})
	f := must(follow.Open(t.Context(), follow.Config{Address: "redis://" + address, Filter: "f", Every: -1}))
	defer f.Close()
	if asked != parts {
		t.Errorf("the first copy took %d answers, want %d", asked, parts)
	}
	asked = 0
	if changed, err := f.Update(t.Context()); err != nil || !changed || asked != parts+1 {
		t.Errorf("the second one took %d answers: changed %v, %v; want %d", asked, changed, err, parts+1)
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
