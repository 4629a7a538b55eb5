package codec_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
)

const sealedChunk = 64 << 10

func sealKey(b byte) (k [32]byte) {
	for i := range k {
		k[i] = b + byte(i)
	}
	return k
}

func sealed(t testing.TB, data []byte) []byte {
	t.Helper()
	s, err := codec.Seal(nil, data, sealKey(1))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sample(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * i >> 3)
	}
	return b
}

// TestSealedFormOfTheDocs writes sealed data as docs/format.md describes it, without
// the package: what one release seals the next one must open, and no golden file can
// show it.
func TestSealedFormOfTheDocs(t *testing.T) {
	key, salt := sealKey(1), sample(32)
	derived, err := hkdf.Key(sha256.New, key[:], salt, "bloomery sealed filter 1", 48)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(derived[:32])
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 100, sealedChunk, sealedChunk + 100} {
		data := sample(n)
		form := slices.Concat([]byte("bloomsec\x01\x00\x00\x00\x00\x00\x00\x00"), salt, derived[32:])
		rest, nonce := data, make([]byte, 12)
		for ; len(rest) >= sealedChunk; rest = rest[sealedChunk:] {
			form = aead.Seal(form, nonce, rest[:sealedChunk], nil)
			nonce[7]++
		}
		nonce[11] = 1
		form = aead.Seal(form, nonce, rest, nil)
		if got, err := codec.Unseal(nil, form, key); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: %d come back, %v", n, len(got), err)
		}
	}
}

// Sizes around whole chunks: the last chunk may be empty, never missing.
func TestSealRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 100, sealedChunk - 1, sealedChunk, sealedChunk + 1, 3 * sealedChunk, 3*sealedChunk + 7} {
		data := sample(n)
		s, err := codec.Seal([]byte("before"), data, sealKey(1))
		if err != nil || !bytes.HasPrefix(s, []byte("before")) {
			t.Fatalf("%d bytes: Seal: %v", n, err)
		}
		s = s[len("before"):]
		if want := 64 + n + 16*(n/sealedChunk+1); len(s) != want {
			t.Errorf("%d bytes: sealed they have %d, want %d", n, len(s), want)
		}
		got, err := codec.Unseal([]byte("x"), s, sealKey(1))
		if err != nil || string(got[:1]) != "x" || !bytes.Equal(got[1:], data) {
			t.Errorf("%d bytes: Unseal: %d bytes, %v", n, len(got), err)
		}
		slow, err := io.ReadAll(codec.NewUnsealer(iotest.OneByteReader(bytes.NewReader(s)), sealKey(1)))
		if err != nil || !bytes.Equal(slow, data) {
			t.Errorf("%d bytes: read byte by byte: %d bytes, %v", n, len(slow), err)
		}
	}
}

// Two seals of the same data share no chunk, and neither shows the data.
func TestSealHides(t *testing.T) {
	data := bytes.Repeat([]byte("bloomery"), 3*sealedChunk/8)
	a, b := sealed(t, data), sealed(t, data)
	if bytes.Equal(a[16:80], b[16:80]) || bytes.Equal(a[64:128], b[64:128]) {
		t.Error("two seals of the same data begin alike")
	}
	if bytes.Contains(a[16:], []byte("bloomery")) {
		t.Error("the data can be read")
	}
	if bytes.Equal(a[64:64+sealedChunk], a[64+sealedChunk+16:64+2*sealedChunk+16]) {
		t.Error("equal chunks are encrypted alike")
	}
}

func TestUnsealRefuses(t *testing.T) {
	const whole = sealedChunk + 16
	data := sample(3*sealedChunk + 100)
	swap := func(b []byte) []byte {
		first := bytes.Clone(b[64 : 64+whole])
		copy(b[64:], b[64+whole:64+2*whole])
		copy(b[64+whole:], first)
		return b
	}
	for name, c := range map[string]struct {
		change func([]byte) []byte
		want   error
		text   string
	}{
		"empty":                {func([]byte) []byte { return nil }, bloomery.ErrCorrupt, "not a sealed filter"},
		"not sealed":           {func(b []byte) []byte { return sample(200) }, bloomery.ErrCorrupt, "not a sealed filter"},
		"half a preface":       {func(b []byte) []byte { return b[:40] }, bloomery.ErrCorrupt, "truncated"},
		"only a preface":       {func(b []byte) []byte { return b[:64] }, bloomery.ErrCorrupt, "truncated"},
		"cut in a chunk":       {func(b []byte) []byte { return b[:64+whole+200] }, bloomery.ErrCorrupt, "last chunk"},
		"cut behind a chunk":   {func(b []byte) []byte { return b[:64+whole] }, bloomery.ErrCorrupt, "truncated"},
		"last byte gone":       {func(b []byte) []byte { return b[:len(b)-1] }, bloomery.ErrCorrupt, "last chunk"},
		"a byte more":          {func(b []byte) []byte { return append(b, 0) }, bloomery.ErrCorrupt, "last chunk"},
		"chunks swapped":       {swap, bloomery.ErrCorrupt, "chunk 1"},
		"a chunk left out":     {func(b []byte) []byte { return append(b[:64+whole], b[64+2*whole:]...) }, bloomery.ErrCorrupt, "chunk 2"},
		"a bit in chunk 2":     {func(b []byte) []byte { b[64+whole+5] ^= 1; return b }, bloomery.ErrCorrupt, "chunk 2"},
		"a bit of the salt":    {func(b []byte) []byte { b[20] ^= 1; return b }, bloomery.ErrKey, "another key"},
		"a later version":      {func(b []byte) []byte { b[8] = 2; return b }, bloomery.ErrVersion, "sealed form 2"},
		"reserved bytes":       {func(b []byte) []byte { b[12] = 1; return b }, bloomery.ErrCorrupt, "reserved"},
		"another file's chunk": {func(b []byte) []byte { copy(b[64:64+whole], sealed(t, data)[64:]); return b }, bloomery.ErrCorrupt, "chunk 1"},
	} {
		got, err := codec.Unseal([]byte("kept"), c.change(sealed(t, data)), sealKey(1))
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.text) || string(got) != "kept" {
			t.Errorf("%s: %d bytes, %v, want %v with %q", name, len(got), err, c.want, c.text)
		}
		if errors.Is(err, io.EOF) {
			t.Errorf("%s: %v wraps io.EOF", name, err)
		}
	}
	if _, err := codec.Unseal(nil, sealed(t, data), sealKey(2)); !errors.Is(err, bloomery.ErrKey) {
		t.Errorf("another key: %v, want ErrKey", err)
	}
}

// A disk that fills up is an error of every call from then on.
func TestSealerFails(t *testing.T) {
	full := errors.New("no space")
	for _, room := range []int{0, 63, 100, 2 * sealedChunk} {
		s, err := codec.NewSealer(&limited{room, full}, sealKey(1))
		if err != nil {
			t.Fatal(err)
		}
		_, wrote := s.Write(sample(5 * sealedChunk))
		if err := s.Close(); !errors.Is(err, full) {
			t.Errorf("room for %d bytes: Write %v, Close %v, want %v", room, wrote, err, full)
		}
		if err := s.Close(); !errors.Is(err, full) {
			t.Errorf("room for %d bytes: second Close %v", room, err)
		}
	}
	s, _ := codec.NewSealer(io.Discard, sealKey(1))
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := s.Write([]byte("x")); err == nil {
		t.Error("Write behind Close succeeds")
	}
}

type limited struct {
	room int
	err  error
}

func (l *limited) Write(b []byte) (int, error) {
	if len(b) > l.room {
		n := l.room
		l.room = 0
		return n, l.err
	}
	l.room -= len(b)
	return len(b), nil
}

// The key is in no output.
func TestSealKeyIsSecret(t *testing.T) {
	k := sealKey(0xa0)
	sealer, err := codec.NewSealer(io.Discard, k)
	if err != nil {
		t.Fatal(err)
	}
	s, err := codec.Seal(nil, sample(10), k)
	if err != nil {
		t.Fatal(err)
	}
	unsealer := codec.NewUnsealer(bytes.NewReader(s), k)
	if _, err := unsealer.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, v := range []any{sealer, *sealer, unsealer, *unsealer} {
			out := strings.ToLower(fmt.Sprintf(verb, v))
			for _, secret := range []string{"a0a1a2", "160 161 162", "0xa0, 0xa1", "a0 a1", string(k[:3])} {
				if strings.Contains(out, secret) {
					t.Errorf("%s of %T shows the key", verb, v)
				}
			}
		}
	}
	if bytes.Contains(s, k[:4]) {
		t.Error("the key is in the file")
	}
}

func FuzzUnseal(f *testing.F) {
	key := sealKey(1)
	for _, n := range []int{0, 10, sealedChunk} {
		s, err := codec.Seal(nil, sample(n), key)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := codec.Unseal(nil, data, key)
		if err == nil {
			again, err := codec.Seal(nil, got, key)
			if err != nil || len(again) != len(data) {
				t.Errorf("%d bytes are sealed again as %d, %v", len(data), len(again), err)
			}
			return
		}
		if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrKey) && !errors.Is(err, bloomery.ErrVersion) {
			t.Errorf("error without a cause: %v", err)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	data := sample(64 << 20)
	s := sealed(b, data)
	dst := make([]byte, 0, len(s)+sealedChunk)
	b.Run("op=seal", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := codec.Seal(dst, data, sealKey(1)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("op=unseal", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := codec.Unseal(dst, s, sealKey(1)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestSealerOfWholeChunks closes sealers behind whole chunks, and twice.
func TestSealerOfWholeChunks(t *testing.T) {
	for _, n := range []int{0, sealedChunk, 2 * sealedChunk} {
		var buf bytes.Buffer
		s, err := codec.NewSealer(&buf, sealKey(1))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Write(sample(n))
		if err = errors.Join(err, s.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write([]byte("x")); err == nil {
			t.Error("a closed sealer takes more")
		}
		if got, err := codec.Unseal(nil, buf.Bytes(), sealKey(1)); err != nil || !bytes.Equal(got, sample(n)) {
			t.Errorf("%d bytes: %d come back, %v", n, len(got), err)
		}
		if n, err := codec.NewUnsealer(&buf, sealKey(1)).Read(nil); n != 0 || err != nil {
			t.Errorf("reading nothing: %d, %v", n, err)
		}
	}
}
