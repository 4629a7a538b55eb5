package counting_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/counting"
)

// stable returns a Stable with counters of this width.
func stable(t fataler, n int, p float64, width int) *counting.Stable {
	t.Helper()
	s, err := counting.Config{Capacity: n, ErrorRate: p, CounterBits: width}.NewStable()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The share of keys that are denied, by their age, is the predicted one. It is
// measured over 1,500 ages from each point on, in 3 states of the filter.
func TestStableForgetsAsPredicted(t *testing.T) {
	const n, around = 20_000, 1500
	for _, width := range []int{1, 2, 4, 8} {
		for _, p := range []float64{0.3, 0.01} {
			if testing.Short() && (width != 2 || p != 0.01) {
				continue
			}
			s := stable(t, n, p, width)
			hs := hashes(12*n, uint64(width))
			denied, predicted := map[int]float64{}, map[int]float64{}
			var ages []int
			for age := n / 2; age < 5*n/2; age += n / 8 {
				ages = append(ages, age)
			}
			const states, apart = 3, 0.6 * n
			for i, h := range hs {
				insert(t, s, []uint64{h})
				if left := len(hs) - 1 - i; left%apart != 0 || left/apart >= states {
					continue
				}
				for _, age := range ages {
					for a := range around {
						if !s.ContainsHash(hs[i-age-a]) {
							denied[age]++
						}
						if a%50 == 25 {
							predicted[age] += 50 * s.Forgotten(uint64(age+a))
						}
					}
				}
			}
			for _, age := range ages {
				total := float64(around * states)
				got, want := denied[age]/total, predicted[age]/total
				// Keys of one block are forgotten together, and there are
				// few of these 1,500 in any: twice the variance.
				sigma := math.Sqrt(max(want*(1-want), 1/total) / total * 2)
				if math.Abs(got-want) > 4*sigma+0.005 {
					t.Errorf("width %d, p = %g: of keys %d inserts old %.4f are forgotten, predicted %.4f (sigma %.4f)", width, p, age, got, want, sigma)
				}
				if age+around <= n && got != 0 {
					t.Errorf("width %d: keys %d inserts old are forgotten, made for %d", width, age, n)
				}
			}
		}
	}
}

// The rate converges to the bound and stays there, and Stats knows it all the
// way. The tolerance is 5 standard deviations of 200,000 queries, and 4% for
// the fill of one filter.
func TestStableRateConverges(t *testing.T) {
	const n, p = 30_000, 0.02
	for _, width := range []int{1, 2, 4} {
		if testing.Short() && width != 2 {
			continue
		}
		s := stable(t, n, p, width)
		hs, none := hashes(8*n, 5), hashes(200_000, 6)
		dst := make([]bool, len(none))
		for i, h := range hs {
			insert(t, s, []uint64{h})
			if (i+1)%(n/2) != 0 {
				continue
			}
			s.ContainsHashes(dst, none)
			yes := 0.0
			for _, b := range dst {
				if b {
					yes++
				}
			}
			got, want := yes/float64(len(none)), s.Stats().Predicted
			tolerance := 5*math.Sqrt(p/float64(len(none))) + 0.04*p
			if math.Abs(got-want) > tolerance || got > p+tolerance {
				t.Errorf("width %d, %d keys: rate %.4f, predicted %.4f, asked for %.4f", width, i+1, got, want, p)
			}
			if i > 2*n && got < p-tolerance {
				t.Errorf("width %d, %d keys: rate %.4f, far below %.4f: memory is wasted", width, i+1, got, p)
			}
		}
		if got := s.Inserts(); got != 8*n {
			t.Errorf("Inserts() = %d, want %d", got, 8*n)
		}
	}
}

// Keys that come again and again stay; a stream of few keys fills nothing.
func TestStableRepetitions(t *testing.T) {
	s := stable(t, 1000, 0.01, 2)
	few := hashes(100, 1)
	for range 200 {
		insert(t, s, few)
	}
	st := s.Stats()
	if st.Items < 90 || st.Items > 110 || st.Predicted > 1e-4 {
		t.Errorf("100 keys, 200 times each: %+v", st)
	}
	for _, h := range few {
		if !s.ContainsHash(h) {
			t.Fatal("a key that comes all the time is forgotten")
		}
	}
}

// A random history: the last n keys are there at every step, and a filter that
// is reloaded after every step, or cloned, ends in the same bytes.
func TestStableHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100).Draw(t, "n")
		p := rapid.Float64Range(1e-6, 0.9).Draw(t, "p")
		width := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "width")
		plain, reloaded := stable(t, n, p, width), stable(t, n, p, width)
		var all []uint64
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			for _, h := range rapid.SliceOfN(rapid.Uint64(), 0, 100).Draw(t, "keys") {
				for _, f := range []bloomery.Inserter{plain, reloaded} {
					if err := f.InsertHash(h); err != nil {
						t.Fatal(err)
					}
				}
				all = append(all, h)
				for _, h := range all[max(0, len(all)-n):] {
					if !plain.ContainsHash(h) {
						t.Fatalf("one of the last %d keys is forgotten", n)
					}
				}
			}
			data := encoded(t, reloaded)
			v, err := counting.Config{}.View(data)
			if err != nil {
				t.Fatal(err)
			}
			c, err := v.Clone()
			if err != nil {
				t.Fatal(err)
			}
			reloaded = c.(*counting.Stable)
			if !bytes.Equal(data, encoded(t, plain)) {
				t.Fatal("the reloaded filter differs from the plain one")
			}
		}
		if plain.Clear(); !bytes.Equal(encoded(t, plain), encoded(t, stable(t, n, p, width))) {
			t.Fatal("a cleared filter is not a new one")
		}
	})
}

func TestStableGivenShape(t *testing.T) {
	s, err := counting.Config{Capacity: 100, Bits: 4000, Hashes: 5}.NewStable()
	if err != nil || s.Shape().Bits != 4096 || s.Shape().Width != 2 {
		t.Fatalf("%v, %v", s, err)
	}
	insert(t, s, hashes(5000, 1))
	if st := s.Stats(); st.Asked <= 0 || st.Predicted > 2*st.Asked || st.Predicted < st.Asked/2 {
		t.Errorf("%+v", st)
	}
	if _, err := (counting.Config{Bits: 4000, Hashes: 5}).NewStable(); err == nil {
		t.Error("no capacity: no error")
	}
}

func ExampleNewStable() {
	s := counting.NewStable(1000, 0.01) // the last 1,000 keys, for ever
	for i := range 100_000 {
		_ = s.InsertString(fmt.Sprint("request ", i)) // never fails
	}
	fmt.Println(s.ContainsString("request 99999"), s.ContainsString("request 99000"))
	fmt.Println(s.ContainsString("request 5"))
	fmt.Printf("%.2f %.2f %.2f\n", s.Forgotten(1000), s.Forgotten(1200), s.Forgotten(1400))
	// Output:
	// true true
	// false
	// 0.00 0.59 0.99
}

func ExampleNewSpectral() {
	s := counting.NewSpectral(1000, 0.01)
	for i := range 900 {
		_ = s.InsertString(fmt.Sprint("once ", i)) // counters of 32 bits do not fill up
		_ = s.InsertString("often")
	}
	fmt.Println(s.CountString("often"), s.CountString("once 7"), s.CountString("never"))
	fmt.Println(s.Inserts(), s.Excess() < 0.05)
	// Output:
	// 900 1 0
	// 1800 true
}
