package compose

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/frozen"
)

// TestAdvanceLater has two windows go through the same: one drops generations at once, the other in pieces, with keys added
// and looked up in between. Nobody can tell them apart, also in copies that are read meanwhile; each piece is short, and
// is told before it is changed; generations that are dropped before all pieces are clear change none.
func TestAdvanceLater(t *testing.T) {
	for name, config := range map[string]WindowConfig{
		"half lines":  {Capacity: 20_000, ErrorRate: 0.01, Generations: 6},
		"whole lines": {Capacity: 20_000, ErrorRate: 1e-5, Generations: 3},
		"many":        {Capacity: 20_000, ErrorRate: 0.01, Generations: 63},
		"rotates":     {Capacity: 20_000, ErrorRate: 0.01, Generations: 6, Rotate: true, Hasher: hashing.Keyed([16]byte{1})},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			once, err := config.New()
			if err != nil {
				t.Fatal(err)
			}
			later := once.Clone()
			same := func(what string) {
				t.Helper()
				want, _ := once.MarshalBinary()
				got, _ := later.MarshalBinary()
				if clone, _ := later.Clone().MarshalBinary(); !bytes.Equal(got, want) || !bytes.Equal(clone, want) {
					t.Fatalf("%s: the windows differ", what)
				}
				if got, want := later.Stats(), once.Stats(); got != want || later.Added() != once.Added() {
					t.Fatalf("%s: %v, want %v", what, got, want)
				}
			}
			copies := map[*frozen.Pages][]byte{}
			var keys []uint64
			now, more := uint64(0), false
			for turn := range 60 {
				if want, _ := once.MarshalBinary(); turn%7 == 3 && !config.Rotate {
					copies[later.Freeze()] = want
				}
				add := make([]uint64, 300)
				for i := range add {
					add[i] = rng.Uint64()
				}
				for i := range min(len(keys), 50) { // again, and in blocks that were dropped
					add[i] = keys[rng.IntN(len(keys))]
				}
				keys = append(keys, add...)
				got, want := make([]bool, len(keys)), make([]bool, len(keys))
				for z := range copies {
					z.Before(add)
				}
				once.AddHashes(want[:200], add[:200])
				later.AddHashes(got[:200], add[:200])
				once.AddHashes(nil, add[200:])
				later.AddHashes(nil, add[200:])
				for i := range add[:200] {
					if got[i] != want[i] {
						t.Fatalf("generation %d: key %d was new: %v, want %v", now, i, got[i], want[i])
					}
				}
				once.ContainsHashes(want, keys)
				later.ContainsHashes(got, keys)
				for i, h := range keys {
					if got[i] != want[i] || later.ContainsHash(h) != want[i] {
						t.Fatalf("generation %d: key %d: %v and %v, want %v", now, i, got[i], later.ContainsHash(h), want[i])
					}
				}
				same("keys were added")
				switch {
				case more && rng.IntN(4) > 0:
					const most = 2000
					before := bytes.Clone(wordsOf(later))
					from, to := 0, 0
					more = later.Sweep(most, func(f, t int) {
						from, to = f, t
						for z := range copies {
							z.BeforeWords(f, t)
						}
					})
					after := wordsOf(later)
					if to <= from || to-from > most || !bytes.Equal(before[:8*from], after[:8*from]) || !bytes.Equal(before[8*to:], after[8*to:]) {
						t.Fatalf("a piece of %d words is said to change those from %d to %d", most, from, to)
					}
				default: // also while there is more
					now += []uint64{1, 1, 2, 90}[rng.IntN(4)]
					once.Advance(now)
					before := bytes.Clone(wordsOf(later))
					later.AdvanceLater(now)
					if !config.Rotate && !bytes.Equal(before, wordsOf(later)) {
						t.Fatalf("generation %d: dropping generations clears them at once", now)
					}
					if n, most := later.Sweeping(), later.ways()*(int(later.blocks())/8+8); n > most {
						t.Fatalf("%d bytes to know what is to be cleared, want %d at most", n, most)
					}
					more = later.dropped != nil
				}
				same("a piece was cleared")
				for z, want := range copies {
					if turn%5 != 0 {
						break // some are read later
					}
					var got bytes.Buffer
					if _, err := z.WriteTo(&got); err != nil || !bytes.Equal(got.Bytes(), want) {
						t.Fatalf("turn %d: a copy is not the window of its time, %v", turn, err)
					}
					delete(copies, z)
				}
			}
			for z, want := range copies {
				var got bytes.Buffer
				z.Detach()
				if _, err := z.WriteTo(&got); err != nil || !bytes.Equal(got.Bytes(), want) {
					t.Errorf("a copy that was detached is not the window of its time, %v", err)
				}
			}
			later.finish()
			if later.dropped != nil {
				t.Error("something is left to be cleared")
			}
			if err := later.Union(once); err != nil {
				t.Error(err)
			}
			later.AdvanceLater(now + 1)
			if later.Clear(); later.dropped != nil || later.Stats().Items != 0 {
				t.Error("a window that was cleared is not empty")
			}
		})
	}
}

func wordsOf(w *Window) []byte {
	b := make([]byte, 0, 8*len(w.words))
	for _, v := range w.words {
		b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24), byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56))
	}
	return b
}
