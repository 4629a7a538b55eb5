package compose_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
)

var secret = hashing.Keyed([16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})

// windows are the forms that a Window has.
var windows = map[string]compose.WindowConfig{
	"half lines":  {Capacity: 1000, ErrorRate: 0.01},
	"whole lines": {Capacity: 1000, ErrorRate: 1e-4},
	"rotating":    {Capacity: 1000, ErrorRate: 0.01, Rotate: true, Hasher: secret},
}

func newWindow(t testing.TB, c compose.WindowConfig) *compose.Window {
	t.Helper()
	w, err := c.New()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A key is found for exactly one span: while current <= G+g, and dropped whole at
// G+g+1.
func TestWindowKeepsASpan(t *testing.T) {
	for name, c := range windows {
		for _, g := range []int{1, 2, 6, 63} {
			c.Generations = g
			for skip := 1; skip <= g+2; skip++ { // generations at a time
				w := newWindow(t, c)
				w.Advance(100)
				hs := hashes(20, 1)
				w.AddHashes(nil, hs)
				for n := uint64(100); n <= uint64(100+g); n += uint64(skip) {
					w.Advance(n)
					for _, h := range hs {
						if !w.ContainsHash(h) {
							t.Fatalf("%s: %d generations, steps of %d: a key of generation 100 is gone at %d", name, g, skip, n)
						}
					}
				}
				w.Advance(uint64(100 + g + 1))
				if st := w.Stats(); st.Saturation != 0 || w.ContainsHash(hs[0]) {
					t.Fatalf("%s: %d generations, steps of %d: keys of generation 100 are there at %d: %v", name, g, skip, 100+g+1, st)
				}
			}
		}
	}
}

// A window against a map of when each key was last added.
func TestWindowHistories(t *testing.T) {
	for name, c := range windows {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c.Generations = rapid.IntRange(1, 9).Draw(t, "generations")
				w, err := c.New()
				if err != nil {
					t.Fatal(err)
				}
				g, current, last := uint64(c.Generations), uint64(0), map[uint64]uint64{}
				alive := func(h uint64) bool { n, ok := last[h]; return ok && current-n <= g }
				key := rapid.Uint64Range(0, 40)
				hash := func(x uint64) uint64 { return hashing.Seeded(7).HashUint64(x) }
				t.Repeat(map[string]func(*rapid.T){
					"add": func(t *rapid.T) {
						h := hash(key.Draw(t, "key"))
						if w.AddHash(h) && alive(h) {
							t.Fatalf("Add reports a key new that is there")
						}
						last[h] = current
					},
					"addMany": func(t *rapid.T) {
						var hs []uint64
						for range rapid.IntRange(0, 20).Draw(t, "n") {
							hs = append(hs, hash(key.Draw(t, "key")))
						}
						fresh := make([]bool, len(hs))
						w.AddHashes(fresh, hs)
						for i, h := range hs {
							if fresh[i] && alive(h) {
								t.Fatalf("AddHashes reports a key new that is there")
							}
							last[h] = current
						}
					},
					"advance": func(t *rapid.T) {
						n := current + uint64(rapid.IntRange(-3, 12).Draw(t, "by"))
						if n > math.MaxUint64/2 {
							n = 0 // before the beginning
						}
						w.Advance(n)
						current = max(current, n)
					},
					"reopen": func(t *rapid.T) {
						data, err := w.MarshalBinary()
						if err != nil {
							t.Fatal(err)
						}
						if w, err = (compose.WindowConfig{Hasher: c.Hasher}).Decode(data); err != nil {
							t.Fatal(err)
						}
					},
					"clone": func(*rapid.T) {
						old := w
						w = w.Clone()
						old.Clear()
					},
					"": func(t *rapid.T) {
						if w.Generation() != current {
							t.Fatalf("generation %d, want %d", w.Generation(), current)
						}
						hs := make([]uint64, 41)
						for x := range hs {
							hs[x] = hash(uint64(x))
						}
						found := make([]bool, len(hs))
						w.ContainsHashes(found, hs)
						for i, h := range hs {
							if found[i] != w.ContainsHash(h) {
								t.Fatalf("batch and single differ for key %d", i)
							}
							if alive(h) && !found[i] {
								t.Fatalf("key %d of generation %d is not found in %d", i, last[h], current)
							}
						}
					},
				})
			})
		})
	}
}

// The rate over all generations stays within the rate asked for when traffic is
// uneven up to the default Burst: as many generations as Burst allows are full and the others empty, in
// the worst places; after ten rotations; and for even traffic. The tolerance is 4
// standard deviations of the number of false positives.
func TestWindowKeepsItsRate(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics are done once, without -short")
	}
	const n, p, asked = 60_000, 0.01, 400_000
	splits := map[string]func(generation int) int{
		"even":          func(int) int { return n / 6 },
		"worst":         func(i int) int { return []int{n / 4, n / 4, n / 4, n / 4, 0, 0, n / 4}[i%7] },
		"worst, spread": func(i int) int { return []int{n / 4, n / 4, 0, n / 4, n / 4, 0, n / 4}[i%7] },
		"one burst, rest even": func(i int) int {
			return []int{n / 4, n * 3 / 20, n * 3 / 20, n * 3 / 20, n * 3 / 20, n * 3 / 20, n * 3 / 20}[i%7]
		},
		"quiet after the burst": func(i int) int { return max(0, n/4-n*i) },
	}
	for name, c := range windows {
		c.Capacity, c.ErrorRate = n, p
		for split, keys := range splits {
			w := newWindow(t, c)
			fresh := rand.New(rand.NewPCG(1, 1))
			var recent []uint64
			for generation := range 7 * 11 { // eleven turns of all generations
				w.Advance(uint64(generation))
				recent = recent[:0]
				for range keys(generation % 7) {
					recent = append(recent, fresh.Uint64())
				}
				w.AddHashes(nil, recent)
			}
			found := make([]bool, asked)
			w.ContainsHashes(found, hashes(asked, 99))
			yes := 0
			for _, f := range found {
				if f {
					yes++
				}
			}
			if most := p*asked + 4*math.Sqrt(p*asked); float64(yes) > most {
				t.Errorf("%s, %s: %d of %d absent keys found, at most %.0f expected; %v", name, split, yes, asked, most, w.Stats())
			}
			st := w.Stats()
			sigma := math.Hypot(math.Sqrt(st.Predicted/asked), st.PredictedSigma)
			if got := float64(yes) / asked; math.Abs(got-st.Predicted) > 4*sigma+0.02*st.Predicted {
				t.Errorf("%s, %s: rate %.5f, Stats predicts %.5f", name, split, got, st.Predicted)
			}
		}
	}
}

// Beyond the capacity Stats shows what the rate really is.
func TestWindowStatsBeyondCapacity(t *testing.T) {
	w := compose.NewWindow(10_000, 0.01, 6)
	w.AddHashes(nil, hashes(20_000, 3)) // twelve times its share in one generation
	const asked = 100_000
	found := make([]bool, asked)
	w.ContainsHashes(found, hashes(asked, 4))
	yes := 0
	for _, f := range found {
		if f {
			yes++
		}
	}
	st := w.Stats()
	if got := float64(yes) / asked; math.Abs(got-st.Predicted) > 0.05*got+st.PredictedSigma || st.Predicted < 0.1 {
		t.Errorf("rate %.4f, Stats predicts %.4f", got, st.Predicted)
	}
	if off := math.Abs(float64(st.Items)-20_000) / 20_000; off > 0.02 {
		t.Errorf("Stats estimates %d items of 20,000", st.Items)
	}
}

// With a secret per generation nothing learned in one helps in the next: the false
// positives of two generations have no more in common than chance.
func TestWindowRotates(t *testing.T) {
	c := windows["rotating"]
	c.ErrorRate, c.Generations = 0.3, 1
	wrong := func(generation uint64) []bool {
		w := newWindow(t, c)
		w.Advance(generation)
		w.AddHashes(nil, hashes(1000, 5))
		found := make([]bool, 20_000)
		w.ContainsHashes(found, hashes(20_000, 6))
		return found
	}
	a, b := wrong(5), wrong(7) // the same slot
	var na, nb, both float64
	for i := range a {
		if a[i] {
			na++
		}
		if b[i] {
			nb++
		}
		if a[i] && b[i] {
			both++
		}
	}
	want := na * nb / float64(len(a))
	if na < 100 || math.Abs(both-want) > 5*math.Sqrt(want) {
		t.Errorf("%v and %v false positives, %v in common, chance would give %.0f", na, nb, both, want)
	}
	if !slices.Equal(wrong(5), a) {
		t.Error("the same generation gives other answers")
	}
}

func TestWindowUnion(t *testing.T) {
	for name, c := range windows {
		a, b := newWindow(t, c), newWindow(t, c)
		all := hashes(200, 7)
		for i, h := range all {
			for _, w := range []*compose.Window{a, b} {
				w.Advance(uint64(i / 50))
			}
			[]*compose.Window{a, b}[i%2].AddHash(h)
		}
		if err := a.Union(b); err != nil {
			t.Fatal(err)
		}
		for i, h := range all {
			if !a.ContainsHash(h) {
				t.Errorf("%s: key %d is not in the union", name, i)
			}
		}
		whole := newWindow(t, c)
		for i, h := range all {
			whole.Advance(uint64(i / 50))
			whole.AddHash(h)
		}
		got, _ := a.MarshalBinary()
		want, _ := whole.MarshalBinary()
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the union differs from one window with all keys", name)
		}
	}
	a := compose.NewWindow(1000, 0.01, 6)
	later := compose.NewWindow(1000, 0.01, 6)
	later.Advance(1)
	seeded := newWindow(t, compose.WindowConfig{Capacity: 1000, ErrorRate: 0.01, Hasher: hashing.Seeded(1)})
	for name, o := range map[string]*compose.Window{
		"other size":        compose.NewWindow(2000, 0.01, 6),
		"other generations": compose.NewWindow(1000, 0.01, 5),
		"other generation":  later,
		"other seed":        seeded,
	} {
		before, _ := a.MarshalBinary()
		if err := a.Union(o); !errors.Is(err, bloomery.ErrIncompatible) {
			t.Errorf("%s: %v, want ErrIncompatible", name, err)
		}
		if after, _ := a.MarshalBinary(); !bytes.Equal(before, after) {
			t.Errorf("%s: the window has changed", name)
		}
	}
}

func TestWindowRefuses(t *testing.T) {
	ok := compose.WindowConfig{Capacity: 1000, ErrorRate: 0.01}
	for name, change := range map[string]func(*compose.WindowConfig){
		"capacity 0":         func(c *compose.WindowConfig) { c.Capacity = 0 },
		"capacity -1":        func(c *compose.WindowConfig) { c.Capacity = -1 },
		"rate 0":             func(c *compose.WindowConfig) { c.ErrorRate = 0 },
		"rate NaN":           func(c *compose.WindowConfig) { c.ErrorRate = math.NaN() },
		"rate 1":             func(c *compose.WindowConfig) { c.ErrorRate = 1 },
		"rate 1e-6":          func(c *compose.WindowConfig) { c.ErrorRate = 1e-6 },
		"generations -1":     func(c *compose.WindowConfig) { c.Generations = -1 },
		"generations 64":     func(c *compose.WindowConfig) { c.Generations = 64 },
		"burst 0.5":          func(c *compose.WindowConfig) { c.Burst = 0.5 },
		"burst -1":           func(c *compose.WindowConfig) { c.Burst = -1 },
		"burst Inf":          func(c *compose.WindowConfig) { c.Burst = math.Inf(1) },
		"rotate without":     func(c *compose.WindowConfig) { c.Rotate = true },
		"rotate a seed":      func(c *compose.WindowConfig) { c.Rotate, c.Hasher = true, hashing.Seeded(3) },
		"more than a memory": func(c *compose.WindowConfig) { c.Capacity = math.MaxInt },
	} {
		c := ok
		change(&c)
		w, err := c.New()
		if !errors.Is(err, bloomery.ErrParameter) && !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("%s: %v, %v, want ErrParameter or ErrTooLarge", name, w, err)
		}
		if err != nil && strings.Count(err.Error(), "bad parameter") > 1 {
			t.Errorf("%s: the cause stands twice: %v", name, err)
		}
	}
	refused := errors.New("no memory")
	ok.Alloc = func(int) ([]byte, error) { return nil, refused }
	if _, err := ok.New(); !errors.Is(err, refused) {
		t.Errorf("Alloc that refuses: %v", err)
	}
}

// A large generation number is no problem; the clock may even be in nanoseconds.
func TestWindowLargeGenerations(t *testing.T) {
	for name, c := range windows {
		w := newWindow(t, c)
		for _, n := range []uint64{1 << 40, 1<<63 - 1, 1 << 63, math.MaxUint64 - 1, math.MaxUint64} {
			w.Advance(n)
			w.AddString("x")
			if !w.ContainsString("x") || w.Generation() != n {
				t.Errorf("%s: generation %d: a key is not found", name, n)
			}
		}
	}
}

func hashes(n int, seed uint64) []uint64 {
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = r.Uint64()
	}
	return hs
}

func ExampleWindow() {
	w := compose.NewWindow(100_000, 0.001, 24) // 100,000 keys a day, an hour per generation
	hour := uint64(490_000)                    // hours since 1970, as an example
	w.Advance(hour)
	fmt.Println(w.AddString("alice"), w.AddString("alice"))
	w.Advance(hour + 24)
	fmt.Println(w.ContainsString("alice"))
	w.Advance(hour + 25)
	fmt.Println(w.ContainsString("alice"))
	// Output:
	// true false
	// true
	// false
}

// TestWindowPast asks that each generation is described on its own, in every form.
func TestWindowPast(t *testing.T) {
	for name, c := range windows {
		w := newWindow(t, c)
		for generation := range uint64(3) {
			w.Advance(generation)
			for i := range 100 * (generation + 1) {
				w.AddString(fmt.Sprint(generation, " ", i))
			}
		}
		sum := uint64(0)
		for back, want := range []uint64{300, 200, 100, 0, 0, 0, 0} {
			s := w.Past(back)
			sum += s.Items
			if s.Items+15 < want || s.Items > want+15 || s.Capacity != 250 || s.Bits != w.Shape().Shape.Bits {
				t.Errorf("%s: generation %d before the present is %v, want about %d keys", name, back, s, want)
			}
		}
		if all := w.Stats().Items; sum+3 < all || sum > all+3 { // each is rounded
			t.Errorf("%s: the generations have %d keys, the window %d", name, sum, all)
		}
		for _, back := range []int{-1, 7} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: Past(%d) does not panic", name, back)
					}
				}()
				w.Past(back)
			}()
		}
	}
}

// A window at its defaults takes at most 26 bits per key at 1% and 36 at 0.1%, and
// keeps its rate for even traffic and with half as many keys again in its fullest
// generations.
func TestWindowBitsAtDefault(t *testing.T) {
	const n = 100_000
	for p, most := range map[float64]float64{0.01: 26, 0.001: 36} {
		size := compose.NewWindow(n, p, 6).Shape()
		if got := float64(size.Bits()) / n; got > most {
			t.Errorf("%v: %.2f bits per key, want at most %v", p, got, most)
		}
		if even := 7 * size.Shape.Rate(n/6.); even > p {
			t.Errorf("%v: rate %v of even traffic", p, even)
		}
		if size.Most(n) != n/4 || size.Worst(n) > p {
			t.Errorf("%v: rate %v with %d keys in a generation", p, size.Worst(n), size.Most(n))
		}
	}
}

// TestWindowAddsInAllWays adds keys and asks for them in batches.
func TestWindowAddsInAllWays(t *testing.T) {
	keys := [][]byte{[]byte("a"), []byte("b"), []byte("a")}
	fresh := []bool{true, true, false}
	for name, c := range windows {
		for way, add := range map[string]func(w *compose.Window) []bool{
			"Add": func(w *compose.Window) []bool {
				return []bool{w.Add(keys[0]), w.Add(keys[1]), w.Add(keys[2])}
			},
			"AddString": func(w *compose.Window) []bool {
				return []bool{w.AddString("a"), w.AddString("b"), w.AddString("a")}
			},
			"AddKeys": func(w *compose.Window) []bool {
				dst := []bool{false, false, true, true}
				w.AddKeys(dst, keys)
				if !dst[3] {
					t.Error("AddKeys changes what is behind its keys")
				}
				return dst[:3]
			},
			"AddKeys of one": func(w *compose.Window) []bool {
				dst := make([]bool, 3)
				for i := range keys {
					w.AddKeys(dst[i:i+1], keys[i:i+1])
				}
				return dst
			},
			"AddKeys for nothing": func(w *compose.Window) []bool { w.AddKeys(nil, keys); return fresh },
			"AddSeq":              func(w *compose.Window) []bool { w.AddSeq(slices.Values(keys)); return fresh },
		} {
			w := newWindow(t, c)
			if got := add(w); !slices.Equal(got, fresh) {
				t.Errorf("%s: %s gives %v, want %v", name, way, got, fresh)
			}
			got := []bool{false, false, true, true}
			w.ContainsKeys(got, [][]byte{keys[0], keys[1], []byte("absent")})
			if !slices.Equal(got, []bool{true, true, false, true}) {
				t.Errorf("%s: after %s, ContainsKeys gives %v", name, way, got)
			}
			got = []bool{false, true}
			w.ContainsHashes(got, []uint64{w.Hash(keys[1])})
			if !slices.Equal(got, []bool{true, true}) {
				t.Errorf("%s: after %s, ContainsHashes gives %v", name, way, got)
			}
		}
	}
}

// TestZeroWindow has no key, and panics with a sentence when one is added.
func TestZeroWindow(t *testing.T) {
	w := new(compose.Window)
	dst := []bool{true, true}
	w.ContainsHashes(dst, []uint64{1})
	if w.ContainsHash(1) || dst[0] || !dst[1] {
		t.Errorf("a zero window gives %v", dst)
	}
	for name, call := range map[string]func(){
		"AddHash":   func() { w.AddHash(1) },
		"AddHashes": func() { w.AddHashes(nil, nil) },
		"AddSeq":    func() { w.AddSeq(slices.Values([][]byte{})) },
		"NewWindow": func() { compose.NewWindow(0, 0.01, 4) },
		"no rate":   func() { compose.NewWindow(10, 0, 4) },
		"no spans":  func() { compose.NewWindow(10, 0.01, 0) },
	} {
		func() {
			defer func() {
				said := ""
				switch r := recover().(type) {
				case string:
					said = r
				case error:
					said = r.Error()
				}
				if !strings.HasPrefix(said, "compose: ") {
					t.Errorf("%s: panic %q, want a sentence", name, said)
				}
			}()
			call()
		}()
	}
}

// TestWindowOverfull adds so many keys that all bits are set.
func TestWindowOverfull(t *testing.T) {
	w := compose.NewWindow(10, 0.01, 2)
	w.AddHashes(nil, hashes(100_000, 3))
	if st := w.Stats(); st.Items != math.MaxUint64 {
		t.Errorf("%d items, want the largest number", st.Items)
	}
}

// TestRotatingWindowsAreSecretFromTheStart adds one hash to two windows: where it
// lies depends on the secret already in generation 0.
func TestRotatingWindowsAreSecretFromTheStart(t *testing.T) {
	var arrays [][]byte
	for i := range byte(2) {
		c := compose.WindowConfig{Capacity: 1000, ErrorRate: 0.01, Rotate: true, Hasher: hashing.Keyed([16]byte{i})}
		w := newWindow(t, c)
		for _, h := range hashes(100, 5) {
			w.AddHash(h)
		}
		data, err := w.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		arrays = append(arrays, data[128:len(data)-64]) // without header and checksum
	}
	if bytes.Equal(arrays[0], arrays[1]) {
		t.Error("the secret does not change where keys lie")
	}
}

// TestWindowViewOfDamagedData verifies and clones data as it was and with a bit
// changed.
func TestWindowViewOfDamagedData(t *testing.T) {
	w := newWindow(t, windows["half lines"])
	w.AddString("a")
	data, err := w.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	v, err := compose.WindowConfig{}.View(data)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := v.Clone(); err != nil || !c.Contains([]byte("a")) || v.Verify() != nil {
		t.Errorf("Clone: %v", err)
	}
	data[len(data)/2] ^= 1
	if err := v.Verify(); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("Verify of damaged data: %v", err)
	}
	if c, err := v.Clone(); c != nil || !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("Clone of damaged data: %v", err)
	}
}
