// Package formattest has the tests that every format of other systems passes: keys are
// kept, bytes come back, the rate is what Stats predicts, and hostile files get an error
// and no memory.
package formattest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/bloomery/bloomery"
)

// Format is what a package has to offer.
type Format struct {
	// Make returns a filter of keys, sized for them and a false positive rate.
	Make func(keys [][]byte, p float64) (bloomery.Filter, error)
	// Open and Marshal read and write a file.
	Open    func(data []byte) (bloomery.Filter, error)
	Marshal func(f bloomery.Filter) ([]byte, error)
	// Sizes are the numbers of keys that rates are measured with.
	Sizes []int
	// Rates are those that are asked for; none asks for 1% and 0.1%.
	Rates []float64
	// Bare is whether a part of a file, or more than a file, may look like one.
	Bare bool
	// Allocs is how often a lookup allocates.
	Allocs float64
}

// Run runs all tests.
func Run(t *testing.T, f Format) {
	t.Run("ComesBack", f.comesBack)
	t.Run("Truncated", f.truncated)
	t.Run("Hostile", f.hostile)
	t.Run("Rates", f.rates)
	t.Run("Allocs", f.allocs)
}

// Keys returns n random keys; those of two seeds differ.
func Keys(n int, seed uint64) [][]byte {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = binary.LittleEndian.AppendUint64(nil, random.Uint64())
		for range random.IntN(12) {
			keys[i] = append(keys[i], byte(random.Uint32()))
		}
	}
	return keys
}

// made is a filter of keys that must be there, with its bytes.
func (f Format) made(t testing.TB, keys [][]byte, p float64) (bloomery.Filter, []byte) {
	t.Helper()
	filter, err := f.Make(keys, p)
	if err != nil {
		t.Fatal(err)
	}
	lost(t, filter, keys)
	data, err := f.Marshal(filter)
	if err != nil {
		t.Fatal(err)
	}
	return filter, data
}

// lost asks for keys that were added.
func lost(t testing.TB, filter bloomery.Filter, keys [][]byte) {
	t.Helper()
	for _, key := range keys {
		if !filter.Contains(key) {
			t.Fatalf("a key is lost: %x", key)
		}
	}
}

func (f Format) comesBack(t *testing.T) {
	for _, n := range []int{1, 2, 10, 100, 1000} {
		keys := Keys(n, 1)
		filter, data := f.made(t, keys, 0.01)
		back, err := f.Open(data)
		if err != nil {
			t.Fatalf("%d keys: %v", n, err)
		}
		lost(t, back, keys)
		for _, key := range Keys(1000, 2) {
			if filter.Contains(key) != back.Contains(key) {
				t.Fatalf("%d keys: answers differ for %x", n, key)
			}
		}
		again, err := f.Marshal(back)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%d keys: written again differs, %v", n, err)
		}
		a, b := filter.Stats(), back.Stats()
		if a.Items != b.Items || a.Predicted != b.Predicted || math.Abs(float64(a.Items)-float64(n)) > 1+float64(n)/20 {
			t.Errorf("%d keys: %v, and when it is back: %v", n, a, b)
		}
	}
}

func (f Format) truncated(t *testing.T) {
	_, data := f.made(t, Keys(20, 1), 0.01)
	for i := range data {
		if _, err := f.bounded(t, data[:i]); err == nil && !f.Bare || err != nil && !refused(err) {
			t.Errorf("the first %d of %d bytes: %v", i, len(data), err)
		}
	}
	if _, err := f.bounded(t, append(bytes.Clone(data), 0)); err == nil && !f.Bare {
		t.Error("a byte more than there should be, and no error")
	}
}

// hostile puts large and small numbers everywhere into a small file.
func (f Format) hostile(t *testing.T) {
	_, data := f.made(t, Keys(3, 1), 0.01)
	for i := range data {
		for _, numbers := range []string{"\x00", "\xff", "\x7f", "\x80", "\x00\x00\x00\x00", "\xff\xff\xff\xff", "\x7f\xff\xff\xff", "\x80\x00\x00\x00", "\xff\xff\xff\xff\xff\xff\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\x7f"} {
			damaged := bytes.Clone(data)
			copy(damaged[i:], numbers)
			f.ask(t, damaged)
		}
	}
}

// refused reports whether an error is one for files.
func refused(err error) bool {
	return errors.Is(err, bloomery.ErrCorrupt) || errors.Is(err, bloomery.ErrVersion) || errors.Is(err, bloomery.ErrTooLarge)
}

// ask opens a file that may be anything, and uses what is in it.
func (f Format) ask(t testing.TB, data []byte) {
	t.Helper()
	filter, err := f.bounded(t, data)
	if err != nil {
		if !refused(err) {
			t.Errorf("%x: %v", data, err)
		}
		return
	}
	filter.Contains(nil)
	filter.Contains([]byte("alice"))
	written, err := f.Marshal(filter)
	back, err2 := f.Open(written)
	if err != nil || err2 != nil {
		t.Fatalf("%x: written %v, and opened again %v", data, err, err2)
	}
	if again, err := f.Marshal(back); err != nil || !bytes.Equal(again, written) {
		t.Errorf("%x: %x, and then %x, %v", data, written, again, err)
	}
	if len(data)%4 != 0 {
		return // Stats measures, which fuzzing need not wait for each time
	}
	if s := filter.Stats(); !(s.Predicted >= 0 && s.Predicted <= 1) || !(s.Saturation >= 0 && s.Saturation <= 1) || s.String() == "" {
		t.Errorf("%x: %+v", data, s)
	}
}

// slack is what opening may allocate beside twice the input.
const slack = 64 << 10

// bounded opens a file, and fails the test if that took more memory than the file, or
// what it unpacks to, allows.
func (f Format) bounded(t testing.TB, data []byte) (bloomery.Filter, error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	filter, err := f.Open(data)
	runtime.ReadMemStats(&after)
	input := len(data)
	if err == nil {
		if written, err := f.Marshal(filter); err == nil {
			input = max(input, len(written))
		}
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(2*input+slack) {
		t.Errorf("opening %d bytes allocated %d", input, took)
	}
	return filter, err
}

// queries is how many absent keys a rate is measured with: one standard deviation is 6%
// of it, more below 0.1%.
func queries(p float64) int { return int(min(280/p, 280_000)) }

// measured is the mean of what filters of n keys predict, and of what they do, and one
// standard deviation of the difference.
func (f Format) measured(t testing.TB, n int, p float64) (predicted, measured, sigma float64) {
	t.Helper()
	// What 50 filters predict is far more exact than what they are asked for.
	filters, queries := max(min(20_000/n, 50), 1), queries(p)
	wrong, asked, variance := 0, 0, 0.0
	for i := range filters {
		filter, _ := f.made(t, Keys(n, uint64(i+1)), p)
		s := filter.Stats()
		predicted += s.Predicted / float64(filters)
		variance += s.PredictedSigma * s.PredictedSigma / float64(filters*filters)
		for _, key := range Keys(queries/filters, uint64(1000+i)) {
			asked++
			if filter.Contains(key) {
				wrong++
			}
		}
	}
	variance += max(predicted, 1/float64(queries)) / float64(queries)
	return predicted, float64(wrong) / float64(asked), math.Sqrt(variance)
}

// rates compares what filters predict with what they do. The tolerance is four
// standard deviations, and a tenth for what predictions leave out that are not measured.
func (f Format) rates(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	rates := f.Rates
	if rates == nil {
		rates = []float64{0.01, 0.001}
	}
	for _, n := range f.Sizes {
		for _, p := range rates {
			predicted, measured, sigma := f.measured(t, n, p)
			t.Logf("%7d keys, asked %7.4f%%, predicted %7.4f%%, measured %7.4f%%", n, 100*p, 100*predicted, 100*measured)
			if math.Abs(measured-predicted) > 4*sigma+predicted/10 {
				t.Errorf("%d keys at %v: predicted %v, measured %v, σ %v", n, p, predicted, measured, sigma)
			}
		}
	}
}

func (f Format) allocs(t *testing.T) {
	keys := Keys(100, 1)
	filter, _ := f.made(t, keys, 0.01)
	i := 0
	if got := testing.AllocsPerRun(100, func() { filter.Contains(keys[i%len(keys)]); i++ }); got != f.Allocs {
		t.Errorf("a lookup allocates %v times, want %v", got, f.Allocs)
	}
}

// Fuzz opens whatever comes, besides seeds and filters of a few keys.
func Fuzz(f *testing.F, format Format, seeds ...[]byte) {
	for _, n := range []int{1, 10, 200} {
		if format.Make != nil {
			_, data := format.made(f, Keys(n, 1), 0.01)
			f.Add(data)
		}
	}
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) { format.ask(t, data) })
}

// Bounded opens a file within the bound of memory.
func Bounded(t testing.TB, f Format, data []byte) (bloomery.Filter, error) {
	t.Helper()
	return f.bounded(t, data)
}
