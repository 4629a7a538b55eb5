package guava_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"unicode/utf16"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/guava"
	"github.com/bloomery/bloomery/foreign/internal/formattest"
)

func format(s guava.Strategy) formattest.Format {
	return formattest.Bloom(func(n uint64, p float64) (*foreign.Bloom, error) { return guava.New(n, p, s) }, guava.Open)
}

func TestFormat(t *testing.T) {
	for _, s := range []guava.Strategy{guava.Mitz32, guava.Mitz64} {
		t.Run(s.String(), func(t *testing.T) { formattest.Run(t, format(s)) })
	}
}

func FuzzOpen(f *testing.F) {
	formattest.Fuzz(f, format(guava.Mitz64), []byte("\x00\x01\x00\x00\x00\x01abcdefgh"))
}

// chars is what unencodedCharsFunnel makes of a string.
func chars(s string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return string(b)
}

func longs(from, to int64) (keys []string) {
	for i := from; i <= to; i++ {
		keys = append(keys, string(binary.LittleEndian.AppendUint64(nil, uint64(i))))
	}
	return keys
}

func ints(from, to int) (keys []string) {
	for i := from; i <= to; i++ {
		keys = append(keys, string(binary.LittleEndian.AppendUint32(nil, uint32(i))))
	}
	return keys
}

// TestBytes compares filters with those that Guava 31.1 writes for the same keys, and
// with two published ones.
func TestBytes(t *testing.T) {
	texts := []string{"hello", "world", "bloom", "filter"}
	var wide, many []string
	for _, s := range texts {
		wide = append(wide, chars(s))
	}
	for i := range 100 {
		many = append(many, "key-"+strconv.Itoa(i))
	}
	for _, c := range []struct {
		name string
		n    uint64
		p    float64
		keys []string
		want string
	}{
		{"UTF-8", 10, 0.01, texts, "010700000002021420180b00900480000540503460c1"},
		{"chars", 10, 0.01, wide, "01070000000284200852808088900001001008280a10"},
		{"longs", 10, 0.01, longs(1, 4), "01070000000250000104228010400007612610412622"},
		{"ints", 10, 0.01, ints(1, 4), "0107000000024818180481004c184421000948000200"},
		{"byte arrays", 1000, 0.001, many, "23189d77d275ca1b579512b2e55f2151bdc030827c18fd081af405bb2a4ae961"},
		{"50 ints", 100, 0.001, ints(0, 49), "d33c8c07ae4bb8b431c258aab542705507c6233e400a08c6c1719e5d7be874a5"},
		{"100 ints", 500, 0.01, ints(0, 99), "a4dcab8abb4defdac30f54902b3e66e640d4ec7ddd8cbee1d2dd7fcbc7114312"},
	} {
		b, err := guava.New(c.n, c.p, guava.Mitz64)
		formattest.Equal(t, c.name, b, err, c.want, c.keys...)
	}
}

// TestFalsePositives has the numbers of false positives in Guava's own test: even
// numbers are added, odd ones asked for.
func TestFalsePositives(t *testing.T) {
	if testing.Short() {
		t.Skip("a million keys")
	}
	same := func(s string) string { return s }
	for _, c := range []struct {
		strategy guava.Strategy
		funnel   func(string) string
		want     int
	}{{guava.Mitz32, chars, 29824}, {guava.Mitz64, chars, 30104}, {guava.Mitz64, same, 29763}} {
		b, err := guava.New(1_000_000, 0.03, c.strategy)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < 2_000_000; i += 2 {
			b.Add([]byte(c.funnel(strconv.Itoa(i))))
		}
		wrong := 0
		for i := 1; i < 2_000_000; i += 2 {
			if b.Contains([]byte(c.funnel(strconv.Itoa(i)))) {
				wrong++
			}
		}
		if wrong != c.want {
			t.Errorf("%v: %d false positives, want %d", c.strategy, wrong, c.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	for data, want := range map[string]error{
		"":                                 bloomery.ErrCorrupt,
		"\x01\x07\x7f\xff\xff\xff":         bloomery.ErrCorrupt, // 16 GiB
		"\x01\x07\xff\xff\xff\xff":         bloomery.ErrCorrupt,
		"\x01\x00\x00\x00\x00\x0112345678": bloomery.ErrCorrupt,
		"\x02\x07\x00\x00\x00\x0112345678": bloomery.ErrVersion,
	} {
		if _, err := guava.Open([]byte(data)); !errors.Is(err, want) {
			t.Errorf("%x: %v, want %v", data, err, want)
		}
	}
	for _, c := range []struct {
		n    uint64
		p    float64
		s    guava.Strategy
		want error
	}{{0, 0.01, 1, bloomery.ErrParameter}, {1, 0, 1, bloomery.ErrParameter}, {1, 1, 1, bloomery.ErrParameter}, {1, 0.5, 2, bloomery.ErrParameter}, {1 << 40, 0.01, 1, bloomery.ErrTooLarge}, {1, 1e-300, 1, bloomery.ErrTooLarge}} {
		if _, err := guava.New(c.n, c.p, c.s); !errors.Is(err, c.want) {
			t.Errorf("New(%d, %v, %v): %v, want %v", c.n, c.p, c.s, err, c.want)
		}
	}
}

func ExampleOpen() {
	// What Guava wrote for hello, world, bloom and filter, by stringFunnel(UTF_8).
	data := []byte("\x01\x07\x00\x00\x00\x02\x02\x14\x20\x18\x0b\x00\x90\x04\x80\x00\x05\x40\x50\x34\x60\xc1")
	f, err := guava.Open(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Contains([]byte("hello")), f.Contains([]byte("alice")))
	fmt.Println(f.Layout().Variant)
	// Output:
	// true false
	// MURMUR128_MITZ_64
}
