package envelope

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
)

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
