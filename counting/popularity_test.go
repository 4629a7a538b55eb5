package counting_test

import (
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/hashing"
)

// Counts of the heaviest keys of a stream whose popularity falls as that of
// words does (Zipf's law).
func TestSpectralZipf(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics: once is enough")
	}
	const keys, draws, heavy = 100_000, 1_000_000, 1000
	weights, hs := make([]float64, keys), hashes(keys, 3)
	for i := range weights {
		weights[i] = 1 / float64(i+1)
	}
	for _, p := range []float64{0.3, 0.1, 0.01} {
		if testing.Short() && p != 0.1 {
			continue
		}
		// Not all keys are drawn.
		near, _ := drawn(t, counting.NewSpectral(keys*4/5, p), weights, hs, draws, heavy)
		if near < 0.99 {
			t.Errorf("p = %g: %.2f%% of the %d heaviest keys are counted within 1%%, want 99%%", p, 100*near, heavy)
		}
	}
}

// TestSpectralRealPopularity is the same for 100 million draws of the
// downloads of a package registry: BLOOMERY_COUNTS is the path of the file
// counts.json of the npm package download-counts.
func TestSpectralRealPopularity(t *testing.T) {
	path := os.Getenv("BLOOMERY_COUNTS")
	if path == "" {
		t.Skip("BLOOMERY_COUNTS does not name counts.json of download-counts")
	}
	weights, hs := popularity(t, path)
	const draws, heavy = 100_000_000, 10_000
	for _, p := range []float64{0.1, 0.01} {
		s := counting.NewSpectral(200_000, p) // 180,221 of the packages are drawn
		near, distinct := drawn(t, s, weights, hs, draws, heavy)
		t.Logf("p = %g: %d keys, %d of them drawn; %.3f%% of the %d heaviest within 1%%; %d bytes",
			p, len(hs), distinct, 100*near, heavy, s.Stats().Bytes)
		if near < 0.99 {
			t.Errorf("p = %g: %.2f%% of the %d heaviest keys are counted within 1%%, want 99%%", p, 100*near, heavy)
		}
	}
}

// popularity reads an object of names and counts, a token at a time.
func popularity(t *testing.T, path string) (weights []float64, hs []uint64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // it was only read
	var hasher hashing.Hasher
	for d := json.NewDecoder(f); ; {
		switch token, err := d.Token(); v := token.(type) {
		case string:
			hs = append(hs, hasher.HashString(v))
		case float64:
			weights = append(weights, v)
		default:
			if err == io.EOF {
				if len(hs) == 0 || len(hs) != len(weights) {
					t.Fatalf("%d names and %d counts in %s", len(hs), len(weights), path)
				}
				return weights, hs
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// drawn inserts draws of keys by their weights into s. It returns the share of
// the heaviest keys whose count is within 1% of the truth, and the number of
// different keys drawn. It ends the test if a count is too low, or if counts
// are too high by more than Excess says.
func drawn(t *testing.T, s *counting.Spectral, weights []float64, hs []uint64, draws, heavy int) (near float64, distinct int) {
	t.Helper()
	next := aliases(weights)
	r := rand.New(rand.NewPCG(9, 9))
	truth := make([]uint64, len(hs))
	for range draws {
		i := next(r)
		truth[i]++
		if err := s.InsertHash(hs[i]); err != nil {
			t.Fatal(err)
		}
	}
	order := make([]int, 0, len(hs))
	excess, wrong := 0.0, 0.0
	for i, n := range truth {
		got := s.CountHash(hs[i])
		if got < n {
			t.Fatalf("count = %d of a key that was inserted %d times", got, n)
		}
		excess += float64(got - n)
		if n > 0 {
			order = append(order, i)
			if got != n {
				wrong++
			}
		}
	}
	distinct = len(order)
	slices.SortFunc(order, func(a, b int) int { return int(truth[b]) - int(truth[a]) })
	for _, i := range order[:heavy] {
		if off := float64(s.CountHash(hs[i]) - truth[i]); off <= 0.01*float64(truth[i]) {
			near += 1 / float64(heavy)
		}
	}
	excess /= float64(len(hs))
	wrong /= float64(distinct)
	t.Logf("mean excess %.3g, bound %.3g; share of wrong counts %.3g, bound %.3g; the last of the heaviest has %d",
		excess, s.Excess(), wrong, s.Stats().Predicted, truth[order[heavy-1]])
	if excess > s.Excess() {
		t.Errorf("counts are too high by %.3g on the average, Excess() = %.3g", excess, s.Excess())
	}
	if limit := s.Stats().Predicted; wrong > limit+4*math.Sqrt(limit/float64(distinct)) {
		t.Errorf("%.4g of the counts are too high, predicted at most %.4g", wrong, limit)
	}
	return near, distinct
}

// aliases returns a function that draws numbers by their weights in constant
// time (Walker's method: every slot holds one number and the rest of another).
func aliases(weights []float64) func(r *rand.Rand) int {
	n := len(weights)
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	share, other := make([]float64, n), make([]int, n)
	var small, large []int
	for i, w := range weights {
		if share[i] = w / sum * float64(n); share[i] < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		other[s] = l
		if share[l] -= 1 - share[s]; share[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	for _, i := range append(small, large...) {
		share[i] = 1 // what rounding left over
	}
	return func(r *rand.Rand) int {
		i := r.IntN(n)
		if r.Float64() < share[i] {
			return i
		}
		return other[i]
	}
}
