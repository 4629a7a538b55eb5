package dcso_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/dcso"
	"github.com/bloomery/bloomery/foreign/internal/formattest"
)

// format takes what is behind the bits as attached.
func format() formattest.Format {
	f := formattest.Bloom(dcso.New, dcso.Open)
	return f
}

// packed is the gzipped form.
func packed() formattest.Format {
	f := format()
	f.Marshal = func(f bloomery.Filter) ([]byte, error) { return dcso.Gzip(f.(*foreign.Bloom)) }
	return f
}

func TestFormat(t *testing.T) {
	f := format()
	f.Bare = true // what follows is attached
	formattest.Run(t, f)
}

func FuzzOpen(f *testing.F) { formattest.Fuzz(f, format(), broken(f)) }

func FuzzGzip(f *testing.F) {
	unpacks := format() // written plain, so that the bound counts what was unpacked
	for _, n := range []int{1, 100} {
		b, err := packed().Make(formattest.Keys(n, 1), 0.01)
		if err != nil {
			f.Fatal(err)
		}
		data, err := packed().Marshal(b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	formattest.Fuzz(f, unpacks)
}

func broken(t testing.TB) []byte {
	return formattest.Unhex(t, "010000000000000000000000000000007b14ae47e17a843f000000000000008000000000000000000000000000000000")
}

// TestBytes compares filters with those that DCSO's programs write.
func TestBytes(t *testing.T) {
	b, err := dcso.New(1000, 1e-6)
	formattest.Equal(t, "test.bloom", b, err, "f49c7cd2901831410a329738ba98c3d193e2921e52133b6d67b885b17cfc89ab", "foo", "bar", "baz")
	b, err = dcso.New(1000, 0.001)
	formattest.Equal(t, "bloom create -p 0.001 -n 1000", b, err, "00aa5684ae6fdab61829bb326e039b80280c2c60084b4fb7346fedfa5ac47fd9", "foo", "bar", "baz", "foo")
	if s := b.Stats(); s.Items != 3 || !s.Exact || s.Capacity != 1000 || s.Asked != 0.001 {
		t.Errorf("Stats = %+v", s)
	}
}

func TestGzip(t *testing.T) {
	b, err := dcso.New(1000, 0.001)
	if err != nil {
		t.Fatal(err)
	}
	b.Add([]byte("foo"))
	plain, err := b.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	small, err := dcso.Gzip(b)
	if err != nil || len(small) > len(plain)/5 || !dcso.Gzipped(small) || dcso.Gzipped(plain) {
		t.Fatalf("%d bytes gzipped to %d, %v", len(plain), len(small), err)
	}
	back, err := dcso.Open(small)
	if err != nil || !back.Contains([]byte("foo")) || back.Stats().Items != 1 {
		t.Fatalf("back from gzip: %v", err)
	}
	for i := range small {
		if _, err := dcso.Open(small[:i]); err == nil || i > 1 && !errors.Is(err, bloomery.ErrCorrupt) {
			t.Fatalf("the first %d bytes: %v", i, err)
		}
	}
}

// TestBomb gives gzip files that unpack to far more than their headers need, or promise
// far more than they hold.
func TestBomb(t *testing.T) {
	zip := func(bits uint64, size int) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		h := make([]byte, 48)
		for i, x := range []uint64{1, 10, math.Float64bits(0.01), 7, bits, 0} {
			binary.LittleEndian.PutUint64(h[8*i:], x)
		}
		_, _ = z.Write(h) // to memory
		_, _ = z.Write(make([]byte, size))
		_ = z.Close()
		return b.Bytes()
	}
	f := format()
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"attached":                         {zip(64, 64<<20), bloomery.ErrTooLarge},
		"a promise":                        {zip(1<<28, 1<<20), bloomery.ErrCorrupt},
		"an extra field that is not there": {[]byte("\x1f\x8b\b\x7f\xff\xf5\xff\x0f\x00db\xe2"), bloomery.ErrCorrupt},
		"too much":                         {zip(1<<62, 1<<20), bloomery.ErrTooLarge},
	} {
		if _, err := formattest.Bounded(t, f, c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	sound := zip(64, 8)
	if _, err := dcso.Open(sound); err != nil {
		t.Errorf("a sound one: %v", err)
	}
	if _, err := dcso.Open(append(bytes.Clone(sound), sound...)); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("two of them: %v", err)
	}
}

// TestAttached keeps what is behind the bits.
func TestAttached(t *testing.T) {
	b, err := dcso.New(10, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	data, err := b.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, `{"note":"a list"}`...)
	back, err := dcso.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	clear(data) // the filter keeps none of it
	back.Add([]byte("foo"))
	again, err := back.MarshalBinary()
	if err != nil || !strings.HasSuffix(string(again), `{"note":"a list"}`) || len(again) != len(data) {
		t.Errorf("%d bytes, %q, %v", len(again), again, err)
	}
}

func TestRefuses(t *testing.T) {
	if _, err := dcso.Open(broken(t)); !errors.Is(err, bloomery.ErrCorrupt) || !strings.Contains(err.Error(), "is too high") {
		t.Errorf("broken.bloom: %v", err)
	}
	b, err := dcso.New(10, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	data, err := b.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int]error{0: bloomery.ErrVersion, 17: nil, 23: bloomery.ErrCorrupt, 25: bloomery.ErrCorrupt, 39: bloomery.ErrCorrupt} {
		damaged := bytes.Clone(data)
		damaged[at] = 0xff
		if _, err := dcso.Open(damaged); !errors.Is(err, want) {
			t.Errorf("byte %d: %v, want %v", at, err, want)
		}
	}
	for _, rate := range []float64{math.NaN(), math.Inf(1), 1, 0, -0.01} {
		damaged := bytes.Clone(data)
		binary.LittleEndian.PutUint64(damaged[16:], math.Float64bits(rate))
		if _, err := dcso.Open(damaged); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("rate %v: %v", rate, err)
		}
	}
	for _, c := range []struct {
		n    uint64
		p    float64
		want error
	}{{0, 0.01, bloomery.ErrParameter}, {10, math.NaN(), bloomery.ErrParameter}, {math.MaxUint64, 1e-9, bloomery.ErrTooLarge}, {1 << 58, 0.01, bloomery.ErrTooLarge}} {
		if _, err := dcso.New(c.n, c.p); !errors.Is(err, c.want) {
			t.Errorf("New(%d, %v): %v, want %v", c.n, c.p, err, c.want)
		}
	}
}
