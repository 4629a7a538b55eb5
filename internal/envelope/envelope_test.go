package envelope

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/memory"
)

func sampleHeader(words int) Header {
	return Header{
		Kind: 7, Hash: hashing.SipHash, Check: 1 << 63, K: 9, Extra: 11, Capacity: 123, Rate: 0.25,
		Size: 456, Payload: uint64(words) * 8,
	}
}

func sampleWords(n int) []uint64 {
	words := make([]uint64, n)
	for i := range words {
		words[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	return words
}

func accept(Header) error { return nil }

func TestHeaderRoundTrip(t *testing.T) {
	h := sampleHeader(3)
	b := h.AppendTo([]byte("x"))[1:]
	if len(b) != HeaderSize {
		t.Fatalf("header has %d bytes", len(b))
	}
	got, err := ParseHeader(b)
	if err != nil || got != h {
		t.Errorf("ParseHeader = %+v, %v, want %+v", got, err, h)
	}
}

// Sizes around the chunk of 1 MiB and around what a reader grows by.
func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 8, chunk/8 - 1, chunk / 8, chunk/8 + 1, 2 * chunk / 8, 5*chunk/8 + 3} {
		h, words := sampleHeader(n), sampleWords(n)
		data := Append(nil, h, words)
		if uint64(len(data)) != h.EncodedSize() {
			t.Fatalf("%d words: %d bytes, EncodedSize says %d", n, len(data), h.EncodedSize())
		}
		s, err := Open(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Verify(); err != nil {
			t.Errorf("%d words: %v", n, err)
		}
		if got := s.Words(); len(got) != n || n > 0 && !reflect.DeepEqual(got, words) {
			t.Errorf("%d words come back as %d others", n, len(got))
		}
		got, back, read, err := Read(bytes.NewReader(data), accept)
		if err != nil || got != h || read != int64(len(data)) || n > 0 && !reflect.DeepEqual(back, words) {
			t.Errorf("%d words: Read = %+v, %d words, %d bytes, %v", n, got, len(back), read, err)
		}
		if len(back) != cap(back) && cap(back) > 2*max(n, chunk/8) {
			t.Errorf("%d words are kept in memory for %d", n, cap(back))
		}
	}
}

// A big-endian machine encodes word by word; the result must be the same.
func TestWordOrderDoesNotMatter(t *testing.T) {
	words := sampleWords(1000)
	fast := Append(nil, sampleHeader(1000), words)
	littleEndian = false
	defer func() { littleEndian = true }()
	if slow := Append(nil, sampleHeader(1000), words); !bytes.Equal(fast, slow) {
		t.Error("the portable encoder gives other bytes")
	}
	s, err := Open(fast)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Words(); !reflect.DeepEqual(got, words) {
		t.Error("the portable decoder gives other words")
	}
	if got := WordsOf(s.Payload); !reflect.DeepEqual(got, words) {
		t.Error("the portable view gives other words")
	}
}

// reseal puts the right checksum on a changed header.
func reseal(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
	return b
}

func TestHostileHeaders(t *testing.T) {
	le := binary.LittleEndian
	half := memory.Limit() / 2 &^ 7
	for name, c := range map[string]struct {
		change func(b []byte)
		want   error
	}{
		"another magic":      {func(b []byte) { b[0] = 'B' }, bloomery.ErrCorrupt},
		"a later version":    {func(b []byte) { b[8] = 2 }, bloomery.ErrVersion},
		"an unknown hash":    {func(b []byte) { b[12] = 3 }, bloomery.ErrVersion},
		"reserved bytes":     {func(b []byte) { b[14] = 1 }, bloomery.ErrCorrupt},
		"rate NaN":           {func(b []byte) { le.PutUint64(b[32:], math.Float64bits(math.NaN())) }, bloomery.ErrCorrupt},
		"rate 1":             {func(b []byte) { le.PutUint64(b[32:], math.Float64bits(1)) }, bloomery.ErrCorrupt},
		"rate -1":            {func(b []byte) { le.PutUint64(b[32:], math.Float64bits(-1)) }, bloomery.ErrCorrupt},
		"odd payload":        {func(b []byte) { le.PutUint64(b[48:], 17) }, bloomery.ErrCorrupt},
		"payload near 2^64":  {func(b []byte) { le.PutUint64(b[48:], math.MaxUint64-7) }, bloomery.ErrCorrupt},
		"terabytes":          {func(b []byte) { le.PutUint64(b[48:], 1<<46) }, bloomery.ErrTooLarge},
		"half of the memory": {func(b []byte) { le.PutUint64(b[48:], half) }, bloomery.ErrCorrupt}, // then the data ends
	} {
		data := Append(nil, sampleHeader(8), sampleWords(8))
		c.change(data)
		reseal(data)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, _, err := Read(bytes.NewReader(data), accept)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: Read: %v, want %v", name, err, c.want)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
			t.Errorf("%s: %d bytes allocated for %d bytes of data", name, got, len(data))
		}
		if _, err := Open(data); err == nil {
			t.Errorf("%s: Open accepts it", name)
		}
	}
}

func TestReadStopsWhereRefused(t *testing.T) {
	data := Append(nil, sampleHeader(8), sampleWords(8))
	no := errors.New("no")
	_, _, n, err := Read(bytes.NewReader(data), func(Header) error { return no })
	if !errors.Is(err, no) || n != HeaderSize {
		t.Errorf("Read = %d bytes, %v, want the header and the refusal", n, err)
	}
}

// shortWriter takes a number of bytes and then fails.
type shortWriter struct{ left int }

func (w *shortWriter) Write(b []byte) (int, error) {
	if len(b) > w.left {
		n := w.left
		w.left = 0
		return n, io.ErrClosedPipe
	}
	w.left -= len(b)
	return len(b), nil
}

func TestWriteToReportsFailure(t *testing.T) {
	h, words := sampleHeader(chunk/4), sampleWords(chunk/4)
	for _, room := range []int{0, 10, HeaderSize, HeaderSize + 100, HeaderSize + chunk, int(h.EncodedSize()) - 1} {
		n, err := WriteTo(&shortWriter{room}, h, words)
		if !errors.Is(err, io.ErrClosedPipe) || n != int64(room) {
			t.Errorf("room for %d bytes: WriteTo = %d, %v", room, n, err)
		}
	}
}

func TestDamageHasAnOffset(t *testing.T) {
	data := Append(nil, sampleHeader(chunk/8+10), sampleWords(chunk/8+10))
	data[HeaderSize+chunk+3] ^= 4
	s, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(); !errors.Is(err, bloomery.ErrCorrupt) || !strings.Contains(err.Error(), "offset 1048640 to 1048720") {
		t.Errorf("Verify() = %v, want the offset of the second chunk", err)
	}
}

// A Tally gets the checksums of a payload in whatever pieces it comes.
func TestTally(t *testing.T) {
	h, words := sampleHeader(3*chunk/8+5), sampleWords(3*chunk/8+5)
	data := Append(nil, h, words)
	s, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1000, 65536, chunk, chunk + 8, len(s.Payload)} {
		var sound, damaged Tally
		for part := range slices.Chunk(s.Payload, size) {
			sound.Add(part)
		}
		if err := sound.Check(h, s.table); err != nil {
			t.Errorf("pieces of %d: %v", size, err)
		}
		bad := bytes.Clone(s.Payload)
		bad[chunk+7] ^= 1
		bad[3*chunk+7] ^= 1
		for part := range slices.Chunk(bad, size) {
			damaged.Add(part)
		}
		if err := damaged.Check(h, s.table); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("pieces of %d, damaged: %v", size, err)
		}
		if got, err := damaged.Damaged(s.table); err != nil || !slices.Equal(got, []int{1, 3}) {
			t.Errorf("pieces of %d: chunks %v are damaged (%v), want 1 and 3", size, got, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(Append(nil, sampleHeader(3), sampleWords(3)))
	f.Add([]byte(Magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, words, n, err := Read(bytes.NewReader(data), accept)
		if n > int64(len(data)) {
			t.Fatalf("read %d of %d bytes", n, len(data))
		}
		if err == nil && !bytes.Equal(Append(nil, h, words), data[:n]) {
			t.Error("accepted bytes do not come out as they went in")
		}
		s, err2 := Open(data)
		if err2 == nil {
			err2 = s.Verify()
		}
		if (err == nil) != (err2 == nil) && int(n) == len(data) {
			t.Errorf("Read says %v, Open and Verify say %v", err, err2)
		}
	})
}

// A payload in parts of any length has the encoding of the whole.
func TestParts(t *testing.T) {
	words := make([]uint64, 300_001) // two chunks and a half
	for i := range words {
		words[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	h := Header{Kind: 99, Payload: uint64(len(words)) * 8}
	want := Append(nil, h, words)
	for _, cuts := range [][]int{{0}, {1}, {131_072}, {8, 9, 9, 140_000}, {131_071, 131_073, 262_144, 300_001}} {
		var parts [][]uint64
		from := 0
		for _, at := range append(cuts, len(words)) {
			parts = append(parts, words[from:at])
			from = at
		}
		if !bytes.Equal(Append(nil, h, parts...), want) {
			t.Errorf("parts cut at %v: Append gives other bytes", cuts)
		}
		var buf bytes.Buffer
		if n, err := WriteTo(&buf, h, parts...); err != nil || n != int64(len(want)) || !bytes.Equal(buf.Bytes(), want) {
			t.Errorf("parts cut at %v: WriteTo gives other bytes (%v)", cuts, err)
		}
	}
}

// A payload that fails midway ends the encoding with its error.
func TestWriteSeqPassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	n, err := WriteSeq(io.Discard, sampleHeader(8), func(yield func([]uint64, error) bool) {
		_ = yield(sampleWords(3), nil) && yield(nil, broken)
	})
	if !errors.Is(err, broken) || n != HeaderSize+24 {
		t.Errorf("WriteSeq = %d, %v, want %d bytes and the error", n, err, HeaderSize+24)
	}
}

// errRefused is what an Alloc that has no memory returns.
var errRefused = errors.New("no memory")

func refuseAll(int) ([]byte, error) { return nil, errRefused }

// TestBlank reads encodings that are zeros but for some words.
func TestBlank(t *testing.T) {
	h := sampleHeader(100)
	got, words, n, err := Read(&Blank{h, []Word{{0, 7}, {99, 8}}}, accept)
	want := make([]uint64, 100)
	want[0], want[99] = 7, 8
	if err != nil || got != h || n != 0 || !slices.Equal(words, want) {
		t.Errorf("Read = %+v, %v, %d bytes, %v", got, words, n, err)
	}
	if _, _, _, err := Read(&Blank{h, []Word{{100, 1}}}, accept); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a word behind the end: %v, want ErrCorrupt", err)
	}
	if _, _, n, err := Read(&Blank{Header: h}, func(Header) error { return errRefused }); n != 0 || !errors.Is(err, errRefused) {
		t.Errorf("a refused header: %d bytes, %v", n, err)
	}
	if _, _, _, err := ReadIn(&Blank{Header: h}, refuseAll, accept); !errors.Is(err, errRefused) {
		t.Errorf("without memory: %v", err)
	}
}

// TestRefusedMemory checks that what an Alloc refuses is refused, with the number of
// bytes that were read before.
func TestRefusedMemory(t *testing.T) {
	data := Append(nil, sampleHeader(10), sampleWords(10))
	s, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.WordsIn(refuseAll); !errors.Is(err, errRefused) {
		t.Errorf("WordsIn: %v", err)
	}
	if _, _, n, err := ReadIn(bytes.NewReader(data), refuseAll, accept); n != HeaderSize || !errors.Is(err, errRefused) {
		t.Errorf("ReadIn: %d bytes, %v", n, err)
	}
}

// TestSealAndWriter checks that the ways to write an encoding give the same bytes.
func TestSealAndWriter(t *testing.T) {
	h, words := sampleHeader(1000), sampleWords(1000)
	want := Append([]byte("before"), h, words)
	sealed := append([]byte("before"), make([]byte, HeaderSize)...)
	sealed = Seal(AppendWords(sealed, words), len("before"), h)
	if !bytes.Equal(sealed, want) {
		t.Error("Seal gives other bytes than Append")
	}
	var buf bytes.Buffer
	w := NewWriter(&buf, h)
	for piece := range slices.Chunk(BytesOf(words), 777) {
		if n, err := w.Write(piece); n != len(piece) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if n, err := w.End(); err != nil || n != int64(h.EncodedSize()) || n != w.Written() || !bytes.Equal(buf.Bytes(), want[len("before"):]) {
		t.Errorf("End = %d, %v, want %d and the bytes of Append", n, err, h.EncodedSize())
	}
	for after := range 3 { // header, payload, table
		w := NewWriter(&short{after}, h)
		_, _ = w.Write(BytesOf(words))
		if _, err := w.End(); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("write %d is short: %v, want io.ErrShortWrite", after, err)
		}
	}
}

// TestWordsOfShares checks that words are a view of bytes that begin at a multiple of
// 8, and a copy of others.
func TestWordsOfShares(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("words lie in memory in another order")
	}
	data := BytesOf(make([]uint64, 20))
	for at := range 65 {
		words := WordsOf(data[at : at+80])
		data[at]++
		if isView := words[0] != 0; isView != (address(data[at:])%8 == 0) {
			t.Errorf("from byte %d: a view: %t", at, isView)
		}
		data[at]--
	}
}

// TestApart checks that results never overwrite data that is still read.
func TestApart(t *testing.T) {
	buf := make([]byte, 100)
	for _, c := range []struct {
		name      string
		dst, data []byte
		want      int // capacity
	}{
		{"data in the room behind dst", buf[:10], buf[20:50], 10},
		{"data that begins there", buf[:10], buf[10:50], 10},
		{"data that ends there", buf[40:50], buf[30:51], 10},
		{"data before it", buf[40:50], buf[30:50], 60},
		{"data behind it", buf[:10:20], buf[20:50], 20},
		{"other memory", buf[:10], make([]byte, 100), 100},
	} {
		if got := Apart(c.dst, c.data); len(got) != len(c.dst) || cap(got) != c.want {
			t.Errorf("%s: room for %d bytes, want %d", c.name, cap(got), c.want)
		}
	}
}
