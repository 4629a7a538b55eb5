package news_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/news"
)

func bitsOf(data []byte, limit uint64) (list []uint64, err error) {
	err = news.EachBit(data, limit, func(at uint64) { list = append(list, at) })
	return list, err
}

// Positions come back in order, each once, whatever they are; and none that is not below the
// limit.
func TestBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]uint64{1, 2, 64, 1000, 1 << 20, 1 << 63, 1<<64 - 2}).Draw(t, "most")
		list := rapid.SliceOf(rapid.Uint64Range(0, most)).Draw(t, "positions")
		want := slices.Compact(slices.Sorted(slices.Values(list)))
		data := news.AppendBits(nil, slices.Clone(list))
		got, err := bitsOf(data, most+1)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%d come back as %d (%v)", want, got, err)
		}
		if len(want) == 0 {
			return
		}
		if _, err := bitsOf(data, want[len(want)-1]); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Fatalf("a position at the limit: %v", err)
		}
		for n := range data {
			if _, err := bitsOf(data[:n], most+1); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Fatalf("cut off after %d of %d bytes: %v", n, len(data), err)
			}
		}
		if _, err := bitsOf(append(data, 0), most+1); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Fatalf("a byte more: %v", err)
		}
	})
}

// Items and positions come back; there are not more items than positions.
func TestAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfDistinct(rapid.Uint64Range(0, 1<<30), rapid.ID).Draw(t, "positions")
		items := rapid.Uint64Range(0, uint64(len(list))).Draw(t, "items")
		want := slices.Sorted(slices.Values(list))
		data := news.AppendAdded(nil, items, slices.Clone(list))
		var got []uint64
		n, err := news.EachAdded(data, 1<<30+1, func(at uint64) { got = append(got, at) })
		if err != nil || n != items || !slices.Equal(got, want) {
			t.Fatalf("%d items and %d positions come back as %d and %d: %v", items, len(want), n, len(got), err)
		}
		for n := range data {
			if _, err := news.EachAdded(data[:n], 1<<30+1, func(uint64) {}); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Fatalf("cut off after %d bytes: %v", n, err)
			}
		}
		more := news.AppendAdded(nil, uint64(len(list))+1, list)
		if _, err := news.EachAdded(more, 1<<30+1, func(uint64) {}); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Fatalf("more items than positions: %v", err)
		}
	})
}

// 3,500 random positions in ten million take 13 bits each: the entropy is 12.9.
func TestBitsAreShort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	list := make([]uint64, 3500)
	for i := range list {
		list[i] = rng.Uint64N(10_000_000)
	}
	if n := len(news.AppendBits(nil, list)); n > 3500*134/80 {
		t.Errorf("%d bytes, want at most 13.4 bits each", n)
	}
}

func TestSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.Uint64()).Draw(t, "values")
		kinds := make([]news.Step, len(values))
		for i := range kinds {
			kinds[i] = news.Step(rapid.IntRange(0, 2).Draw(t, "kind"))
		}
		data := news.AppendSteps(nil, kinds, values)
		if most := 10 + len(values)*33/4 + 1; len(data) > most {
			t.Fatalf("%d steps take %d bytes, more than %d", len(values), len(data), most)
		}
		i := 0
		err := news.EachStep(data, func(k news.Step, v uint64) error {
			if k != kinds[i] || v != values[i] {
				t.Fatalf("step %d is %d %d, want %d %d", i, k, v, kinds[i], values[i])
			}
			i++
			return nil
		})
		if err != nil || i != len(values) {
			t.Fatalf("%d of %d steps come back: %v", i, len(values), err)
		}
		none := func(news.Step, uint64) error { return nil }
		for n := range data {
			if err := news.EachStep(data[:n], none); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Fatalf("cut off after %d bytes: %v", n, err)
			}
		}
		if err := news.EachStep(append(data, 0), none); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Fatalf("a byte more: %v", err)
		}
	})
}

func TestTokens(t *testing.T) {
	for _, want := range []news.Token{
		{Epoch: 0, Numbers: []uint64{0}}, news.New(1<<64-1, 4), {Epoch: 0xabc, Numbers: []uint64{1, news.Unknown, 1<<64 - 2, 36}},
	} {
		got, err := news.ParseToken(want.String())
		if err != nil || got.Epoch != want.Epoch || !slices.Equal(got.Numbers, want.Numbers) {
			t.Errorf("%s is read as %v: %v", want, got, err)
		}
	}
	whole := news.New(5, 2).String()
	for i := range whole {
		bad := []byte(whole)
		if bad[i]++; bad[i] == '/' {
			bad[i] = 'a'
		}
		if got, err := news.ParseToken(string(bad)); err == nil {
			t.Errorf("%s with another letter at %d is read as %v", bad, i, got)
		}
	}
	for _, bad := range []string{
		"", "-", "0", "0000000000000000", "000000000000000-0", "00000000000000000-0", "000000000000000g-0", "0000000000000000-A",
		"0000000000000000-00", "0000000000000000-!", "0000000000000000-zzzzzzzzzzzzzzzzzzzz", news.New(0, 4097).String(),
	} {
		if got, err := news.ParseToken(bad); err == nil {
			t.Errorf("%.40q is read as %v", bad, got)
		}
	}
}

// Whatever is another one in an answer gives another checksum.
func TestCheck(t *testing.T) {
	piece := news.Piece{Part: 1, Form: news.Bits, Data: []byte("abc")}
	seen := map[uint32]int{}
	for i, sum := range []uint32{
		news.Check("k", "t", false, nil), news.Check("l", "t", false, nil), news.Check("k", "u", false, nil), news.Check("k", "t", true, nil),
		news.Check("k", "t", false, []news.Piece{piece}), news.Check("k", "t", false, []news.Piece{piece, piece}),
		news.Check("k", "t", false, []news.Piece{{Part: 2, Form: news.Bits, Data: []byte("abc")}}),
		news.Check("k", "t", false, []news.Piece{{Part: 1, Form: news.Steps, Data: []byte("abc")}}),
		news.Check("k", "t", false, []news.Piece{{Part: 1, Form: news.Bits, Data: []byte("abd")}}),
	} {
		if other, ok := seen[sum]; ok {
			t.Errorf("answers %d and %d have the same checksum", other, i)
		}
		seen[sum] = i
	}
}

func FuzzNews(f *testing.F) {
	f.Add(news.AppendBits(nil, []uint64{1, 5, 100}), news.New(1, 2).String())
	f.Add(news.AppendSteps(nil, []news.Step{1, 2}, []uint64{5, 6}), "")
	f.Fuzz(func(t *testing.T, data []byte, token string) {
		last, n := uint64(0), 0
		err := news.EachBit(data, 1<<30, func(at uint64) {
			if n > 0 && at <= last || at >= 1<<30 {
				t.Fatalf("position %d behind %d", at, last)
			}
			last = at
			n++
		})
		if n > 8*len(data) || err != nil && !errors.Is(err, bloomery.ErrCorrupt) {
			t.Fatalf("%d positions, %v", n, err)
		}
		if _, err := news.EachAdded(data, 1<<30, func(uint64) {}); err != nil && !errors.Is(err, bloomery.ErrCorrupt) {
			t.Fatal(err)
		}
		if err := news.EachStep(data, func(news.Step, uint64) error { return nil }); err != nil && !errors.Is(err, bloomery.ErrCorrupt) {
			t.Fatal(err)
		}
		if v, err := news.ParseToken(token); err == nil && v.String() != token {
			t.Fatalf("%q is read as %s", token, v)
		}
	})
}
