package codec_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// TestFormNames checks the names of forms, which error messages have.
func TestFormNames(t *testing.T) {
	for form, want := range map[codec.Form]string{codec.FormPlain: "plain", codec.FormTransport: "transport", codec.FormPatch: "patch", 9: "Form(9)"} {
		if got := form.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}

// TestPeek asks for the hash of an encoding, of an outline and of what is neither.
func TestPeek(t *testing.T) {
	f, err := bloom.Config{Capacity: 100, ErrorRate: 0.01, Hasher: hashing.Seeded(7)}.New()
	if err != nil {
		t.Fatal(err)
	}
	data := encoded(t, f)
	if h, err := codec.Peek(data[:64]); err != nil || h.Kind.Name != "bloom" || h.Hash != hashing.XXH3 || h.Check != 7 {
		t.Errorf("Peek = %s, %v, %d, %v", h.Kind.Name, h.Hash, h.Check, err)
	}
	outline, err := codec.AppendOutline(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	o, err := codec.ParseOutline(outline)
	if err != nil {
		t.Fatal(err)
	}
	if hash, check := o.Hash(); hash != hashing.XXH3 || check != 7 {
		t.Errorf("Hash = %v, %d", hash, check)
	}
	if _, err := codec.ParseOutline(append(outline, 0)); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a byte behind the outline: %v, want ErrCorrupt", err)
	}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"transport":    {compressed(t, data), bloomery.ErrIncompatible},
		"sealed":       {sealed(t, data), bloomery.ErrIncompatible},
		"cut":          {data[:63], bloomery.ErrCorrupt},
		"unknown kind": {resealed(data, 10, 200), bloomery.ErrVersion},
	} {
		if _, err := codec.Peek(c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestOutlineRefuses has filters with keys and such without an encoding.
func TestOutlineRefuses(t *testing.T) {
	f := bloom.New(1_000_000, 0.01)
	f.AddHashes(nil, hashes(500_000, 1))
	if _, err := codec.AppendOutline(nil, f); !errors.Is(err, bloomery.ErrTooLarge) {
		t.Errorf("a filter with keys: %v, want ErrTooLarge", err)
	}
	type bare struct{ bloomery.Hashed }
	if _, err := codec.AppendOutline(nil, bare{f}); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("a filter without an encoding: %v, want ErrIncompatible", err)
	}
}

// pieces writes an encoding in pieces of a length.
type pieces struct {
	*bloom.Filter
	length int
}

func (p pieces) WriteTo(w io.Writer) (n int64, err error) {
	var buf bytes.Buffer
	if n, err = p.Filter.WriteTo(&buf); err != nil {
		return n, err
	}
	for buf.Len() > 0 {
		if _, err := w.Write(buf.Next(p.length)); err != nil {
			return n, err
		}
	}
	return n, nil
}

// TestOutlineOfPieces checks that an outline does not depend on how its filter is
// written.
func TestOutlineOfPieces(t *testing.T) {
	f := bloom.New(10_000, 0.01)
	f.AddHashes(nil, hashes(20, 1))
	want, err := codec.AppendOutline(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{1, 3, 8, 13, 64, 65, 1000} {
		if got, err := codec.AppendOutline(nil, pieces{f, length}); err != nil || !bytes.Equal(got, want) {
			t.Errorf("pieces of %d: another outline, %v", length, err)
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
