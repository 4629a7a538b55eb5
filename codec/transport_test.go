package codec_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
)

// sparse returns a Standard with a share of its bits set.
func sparse(tb testing.TB, bits uint64, fill float64, seed uint64) *bloom.Standard {
	tb.Helper()
	f, err := bloom.Config{Bits: bits, Hashes: 1}.NewStandard()
	if err != nil {
		tb.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	hs := make([]uint64, int(f.Shape().Count(fill)))
	for i := range hs {
		hs[i] = rng.Uint64()
	}
	f.AddHashes(nil, hs)
	return f
}

// The promise of the transport form, header and checksums included: at 10%
// fill at most 0.52 of the bytes, elsewhere within 4% of the entropy.
func TestTransportSizes(t *testing.T) {
	for _, c := range []struct{ fill, most float64 }{
		{0.001, 0.0119}, {0.01, 0.084}, {0.05, 0.298}, {0.1, 0.488}, {0.2, 0.75}, {0.3, 0.917}, {0.5, 1.0002}, {0.9, 0.488}, {0.99, 0.084},
	} {
		data := encoded(t, sparse(t, 4<<20, min(c.fill, 1-c.fill), 1))
		if c.fill > 0.5 {
			payload := data[64 : 64+4<<20/8]
			for i := range payload {
				payload[i] ^= 0xff
			}
			sealTable(data, len(payload))
		}
		small := compressed(t, data)
		if got := float64(len(small)) / float64(len(data)); got > c.most {
			t.Errorf("fill %v: %.4f of the bytes, want at most %v", c.fill, got, c.most)
		}
		back, err := codec.Decompress(nil, small)
		if err != nil || !bytes.Equal(back, data) {
			t.Errorf("fill %v: comes back different (%v)", c.fill, err)
		}
	}
	// Blocked filters spread their bits less evenly.
	f := bloom.New(1_000_000, 0.01)
	f.AddHashes(nil, hashes(150_000, 3))
	data := encoded(t, f)
	got := float64(len(compressed(t, data))) / float64(len(data))
	if fill := f.Stats().Saturation; fill > 0.1 || got > 0.52 {
		t.Errorf("bloom.Filter at fill %.3f: %.4f of the bytes, want at most 0.52", fill, got)
	}
}

// Whatever the payload is made of, it comes back, from the functions and from
// the streams alike.
func TestTransportRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := drawEncoding(t, "data")
		small, err := codec.Compress([]byte("before"), data)
		if err != nil {
			t.Fatal(err)
		}
		small, ok := bytes.CutPrefix(small, []byte("before"))
		if !ok {
			t.Fatal("Compress lost what was in dst")
		}
		if most := len(data) + 20 + 4*(len(data)/65536); len(small) > most {
			t.Fatalf("%d bytes became %d, more than %d", len(data), len(small), most)
		}
		back, err := codec.Decompress([]byte("before"), small)
		if err != nil || !bytes.Equal(back, append([]byte("before"), data...)) {
			t.Fatalf("comes back different (%v)", err)
		}

		var stream bytes.Buffer
		w := codec.NewWriter(&stream)
		step := rapid.SampledFrom([]int{1000, 65536, 65600, 1 << 20}).Draw(t, "step")
		for rest := data; len(rest) > 0; rest = rest[min(step, len(rest)):] {
			if _, err := w.Write(rest[:min(step, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || !bytes.Equal(stream.Bytes(), small) {
			t.Fatalf("Writer gives other bytes than Compress (%v)", err)
		}
		stream.WriteString("rest")
		back, err = io.ReadAll(codec.NewReader(&stream))
		if err != nil || !bytes.Equal(back, data) || stream.String() != "rest" {
			t.Fatalf("Reader gives other bytes than Decompress, or %q is left (%v)", stream.String(), err)
		}
	})
}

// drawEncoding draws a Standard whose payload is a patchwork of empty, sparse,
// dense, full and repeated stretches.
func drawEncoding(t *rapid.T, label string) []byte {
	words := rapid.IntRange(8, 30_000).Draw(t, label+" words")
	f, err := bloom.Config{Bits: uint64(words) * 64, Hashes: 1}.NewStandard()
	if err != nil {
		t.Fatal(err)
	}
	data, _ := f.MarshalBinary()
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, label+" seed"), 0))
	payload := data[64 : 64+8*words]
	for len(payload) > 0 {
		part := payload[:min(len(payload), 8*rapid.IntRange(1, 9000).Draw(t, label+" stretch"))]
		payload = payload[len(part):]
		paint(rng, part, rapid.IntRange(0, 9).Draw(t, label+" how"))
	}
	return sealTable(data, words*8)
}

// paint fills whole words in one of ten ways.
func paint(rng *rand.Rand, part []byte, how int) {
	same := rng.Uint64()
	for i := 0; i < len(part); i += 8 {
		x := rng.Uint64()
		switch how {
		case 0:
			x = 0
		case 1:
			x = ^uint64(0)
		case 2:
			x = same
		case 3, 4, 5, 6:
			for range how {
				x &= rng.Uint64() // 1 in 16 to 1 in 128
			}
		case 7:
			x |= rng.Uint64() | rng.Uint64()
		case 8:
			x = 1 << (x % 64)
			if rng.IntN(1000) > 0 {
				x = 0
			}
		}
		binary.LittleEndian.PutUint64(part[i:], x)
	}
}

// sealTable puts the right checksums behind a payload of n bytes.
func sealTable(data []byte, n int) []byte {
	c := crc32.MakeTable(crc32.Castagnoli)
	table := data[64+n:]
	for i := 0; i*(1<<20) < n; i++ {
		binary.LittleEndian.PutUint32(table[4*i:], crc32.Checksum(data[64+i<<20:64+min(n, (i+1)<<20)], c))
	}
	end := len(table) - 4
	binary.LittleEndian.PutUint32(table[end:], crc32.Checksum(table[:end], c))
	return data
}

// Every single flipped bit is noticed, or changes nothing.
func TestTransportDamage(t *testing.T) {
	data := encoded(t, sparse(t, 20_000, 0.08, 2))
	small := compressed(t, data)
	for at := range small {
		for bit := range 8 {
			bad := bytes.Clone(small)
			bad[at] ^= 1 << bit
			back, err := codec.Decompress(nil, bad)
			switch {
			case err == nil && !bytes.Equal(back, data):
				t.Fatalf("byte %d, bit %d flipped: another filter", at, bit)
			case err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion):
				t.Fatalf("byte %d, bit %d flipped: %v", at, bit, err)
			case err != nil && back != nil:
				t.Fatal("damage returns data")
			}
		}
	}
	for n := range small {
		if _, err := codec.Decompress(nil, small[:n]); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Fatalf("cut off after %d bytes: %v", n, err)
		}
	}
	if _, err := codec.Decompress(nil, append(bytes.Clone(small), 0)); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a byte too many: %v", err)
	}
}

func TestCompressRefuses(t *testing.T) {
	data := encoded(t, sparse(t, 20_000, 0.08, 2))
	flipped := bytes.Clone(data)
	flipped[500] ^= 1
	for name, bad := range map[string][]byte{
		"nothing": nil, "a part": data[:1000], "a header": data[:64], "too much": append(bytes.Clone(data), 1),
		"damage": flipped, "text": bytes.Repeat([]byte("text"), 100),
	} {
		if out, err := codec.Compress([]byte("x"), bad); !errors.Is(err, bloomery.ErrCorrupt) || string(out) != "x" {
			t.Errorf("%s: Compress = %q, %v, want ErrCorrupt and dst as it was", name, out, err)
		}
		w := codec.NewWriter(io.Discard)
		_, err := w.Write(bad)
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: Writer: %v, want ErrCorrupt", name, err)
		}
		if again := w.Close(); !errors.Is(again, bloomery.ErrCorrupt) {
			t.Errorf("%s: Close after an error: %v", name, again)
		}
	}
	r, w := io.Pipe()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	cw := codec.NewWriter(w)
	if _, err := cw.Write(data); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("closed pipe: %v", err)
	}
}

// A header that claims terabytes, or a filter as large as the memory, costs
// nothing until its data arrives.
func TestTransportHostileClaims(t *testing.T) {
	plain := encoded(t, sparse(t, 20_000, 0.08, 2))
	small := compressed(t, plain)
	for _, c := range []struct {
		payload uint64
		want    error
	}{
		{1 << 46, bloomery.ErrTooLarge}, {1 << 32, bloomery.ErrCorrupt}, {17, bloomery.ErrCorrupt}, {1<<64 - 8, bloomery.ErrCorrupt},
	} {
		bad := bytes.Clone(small)
		binary.LittleEndian.PutUint64(bad[16+48:], c.payload)
		copy(bad[16:], resealed(bad[16:], 0, 'b'))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := codec.Decompress(nil, bad)
		_, err2 := io.Copy(io.Discard, codec.NewReader(bytes.NewReader(bad)))
		runtime.ReadMemStats(&after)
		if !errors.Is(err, c.want) && !errors.Is(err, bloomery.ErrTooLarge) || !errors.Is(err2, bloomery.ErrCorrupt) {
			t.Errorf("payload of %d: %v and %v, want %v", c.payload, err, err2, c.want)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
			t.Errorf("payload of %d: %d bytes allocated for %d", c.payload, got, len(bad))
		}
	}
}

// TestTransportOfOtherVersions changes the first bytes of a transport form under a
// sound checksum.
func TestTransportOfOtherVersions(t *testing.T) {
	small := compressed(t, encoded(t, bloom.New(1000, 0.01)))
	for at, want := range map[int]error{0: bloomery.ErrCorrupt, 8: bloomery.ErrVersion, 9: bloomery.ErrVersion, 10: bloomery.ErrCorrupt, 11: bloomery.ErrCorrupt} {
		other := bytes.Clone(small)
		other[at]++
		binary.LittleEndian.PutUint32(other[12:], crc32.Checksum(other[:12], crc32.MakeTable(crc32.Castagnoli)))
		if _, err := io.ReadAll(codec.NewReader(bytes.NewReader(other))); !errors.Is(err, want) {
			t.Errorf("byte %d is another: %v, want %v", at, err, want)
		}
	}
	if n, err := codec.NewReader(bytes.NewReader(small)).Read(nil); n != 0 || err != nil {
		t.Errorf("reading nothing: %d, %v", n, err)
	}
}

// TestFormNames checks the names of forms, which error messages have.
func TestFormNames(t *testing.T) {
	for form, want := range map[codec.Form]string{codec.FormPlain: "plain", codec.FormTransport: "transport", codec.FormPatch: "patch", 9: "Form(9)"} {
		if got := form.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}

// shortly takes a byte less than it is given.
type shortly struct{}

func (shortly) Write(b []byte) (int, error) { return max(len(b)-1, 0), nil }

// TestShortWrites checks that writers notice what was not written.
func TestShortWrites(t *testing.T) {
	data := encoded(t, bloom.New(10_000, 0.01))
	w := codec.NewWriter(shortly{})
	_, err := w.Write(data)
	if err = errors.Join(err, w.Close()); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a transport form: %v, want io.ErrShortWrite", err)
	}
	s, err := codec.NewSealer(shortly{}, sealKey(1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Write(data)
	if err = errors.Join(err, s.Close()); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a seal: %v, want io.ErrShortWrite", err)
	}
}
