package follow_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/follow"
	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/internal/news"
	"github.com/bloomery/bloomery/server"
)

// TestFollowDumps follows a BF and a CF: copies are what DUMP answers, byte for byte, answer as
// the server does, and go on from disk.
func TestFollowDumps(t *testing.T) {
	s := serving(t, server.Config{})
	rng := rand.New(rand.NewPCG(3, 1))
	keys := make([]string, 600)
	for i := range keys {
		keys[i] = fmt.Sprint("key ", i)
	}
	for _, kind := range []string{"BF", "CF"} {
		s.do(kind+".ADD", kind, keys[0])
		name := filepath.Join(t.TempDir(), "copy")
		c := follow.Config{Address: "redis://" + s.addr, Filter: kind, File: name, Every: -1}
		f := opened(t, c)
		for round := range 40 {
			for range 1 + rng.IntN(20) {
				s.do(kind+".ADD", kind, keys[rng.IntN(300)])
			}
			if kind == "CF" {
				s.do("CF.DEL", kind, keys[rng.IntN(300)])
			}
			if round == 20 {
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				f = opened(t, c)
			}
			updated(t, f)
			s.copied(f, kind)
		}
		got, want := make([]bool, len(keys)), make([]bool, len(keys))
		for i, v := range s.do(append([]string{kind + ".MEXISTS", kind}, keys...)...).Array {
			want[i] = v.Int == 1
			if f.ContainsString(keys[i]) != want[i] || f.Contains([]byte(keys[i])) != want[i] || want[i] && !f.ContainsHash(f.Hash([]byte(keys[i]))) {
				t.Fatalf("%s: %q is %t at the source, and not in the copy", kind, keys[i], want[i])
			}
		}
		f.ContainsStrings(got, keys)
		if !slices.Equal(got, want) || !slices.Contains(want, false) {
			t.Errorf("%s: strings are answered otherwise than by the source", kind)
		}
		bytesOf := make([][]byte, len(keys))
		for i, key := range keys {
			bytesOf[i] = []byte(key)
		}
		if f.ContainsKeys(got, bytesOf); !slices.Equal(got, want) {
			t.Errorf("%s: keys are answered otherwise than by the source", kind)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		file := must(os.ReadFile(name))
		if v := must(redisbloom.Open(file)); !v.(interface{ Contains([]byte) bool }).Contains([]byte(keys[0])) && want[0] {
			t.Errorf("%s: the file lacks what the copy has", kind)
		}
		if _, err := f.View().Clone(); !errors.Is(err, bloomery.ErrIncompatible) || f.View().Verify() != nil {
			t.Errorf("%s: clone: %v", kind, err)
		}
		file[len(file)/2] ^= 1 // a damaged copy is replaced, and others are left alone
		if err := os.WriteFile(name, file, 0o600); err != nil {
			t.Fatal(err)
		}
		f = opened(t, c)
		s.copied(f, kind)
		if _, err := follow.Open(t.Context(), follow.Config{Address: c.Address, Filter: kind, Every: -1, Limits: codec.Limits{Bytes: 100}}); !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("%s: beyond the limit: %v", kind, err)
		}
	}
}

// pieceOf is an answer of one piece, with which a filter of one part has so many changes.
func pieceOf(form string, data []byte, changes uint64) []byte {
	return answerOf(news.Token{Epoch: 1, Numbers: []uint64{changes}}, false, []news.Piece{{Form: form, Data: data}})
}

// TestHostileDumps follows what says that it is a dump, and news of one that do not fit it: the
// old copy stays.
func TestHostileDumps(t *testing.T) {
	k := must(redisbloom.NewCountMin(10, 2))
	for name, dump := range map[string][]byte{
		"a sketch": must(k.MarshalBinary()), "nothing": {}, "a filter": encoded(t, 500, 10), "one byte": {7}, "garbage": bytes.Repeat([]byte{7}, 100),
	} {
		if f, err := follow.Open(t.Context(), follow.Config{Address: "redis://" + liar(t, pieceOf(news.Dump, dump, 1)), Filter: "f", Every: -1}); err == nil {
			t.Errorf("%s: %v", name, f)
		}
	}
	b := must(redisbloom.NewBloom(redisbloom.BloomConfig{ErrorRate: 0.01, Capacity: 100}))
	c := must(redisbloom.NewCuckoo(redisbloom.CuckooConfig{Capacity: 8, Expansion: 30000}))
	adds := make([]uint64, 100) // one item again and again: it grows by factors of 30,000
	for _, test := range []struct {
		of   redisbloom.Value
		form string
		data []byte
	}{
		{b, news.Bits, news.AppendBits(nil, []uint64{1})},
		{b, news.Steps, news.AppendSteps(nil, []news.Step{news.Add}, []uint64{1})},
		{b, news.Added, news.AppendAdded(nil, 1, []uint64{1 << 40})},
		{b, news.Added, news.AppendAdded(nil, 3, []uint64{1, 2})},
		{b, news.Added, nil},
		{c, news.Added, news.AppendAdded(nil, 1, []uint64{1})},
		{c, news.Steps, news.AppendSteps(nil, []news.Step{news.Advance}, []uint64{1})},
		{c, news.Steps, news.AppendSteps(nil, make([]news.Step, len(adds)), adds)},
		{c, "rumours", nil},
	} {
		var answer atomic.Pointer[[]byte]
		say := func(form string, data []byte, changes uint64) {
			text := pieceOf(form, data, changes)
			answer.Store(&text)
		}
		dump := must(test.of.MarshalBinary())
		say(news.Dump, dump, 1)
		f := opened(t, follow.Config{Address: "redis://" + lying(t, func() []byte { return *answer.Load() }), Filter: "f", Every: -1, Limits: codec.Limits{Bytes: 1 << 20}})
		say(test.form, test.data, 2)
		if _, err := f.Update(t.Context()); err == nil || f.Err() == nil {
			t.Errorf("%T: %s %x is taken", test.of, test.form, test.data)
		}
		if !bytes.Equal(must(f.View().MarshalBinary()), dump) {
			t.Errorf("%T: %s %x: the old copy does not stay", test.of, test.form, test.data)
		}
	}
}
