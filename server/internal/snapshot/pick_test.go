package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// partFile returns a part file of a number whose frames are of ids in turn.
func partFile(t testing.TB, number uint64, ids ...uint64) []byte {
	t.Helper()
	files := &folder.Memory{}
	f, err := files.Create(folder.PartName(number))
	if err != nil {
		t.Fatal(err)
	}
	w := folder.NewFrameWriter(f, folder.PartFrame, number)
	for i, id := range ids {
		body := binary.AppendUvarint(w.Body(), id)
		if err := w.Seal(append(body, bytes.Repeat([]byte{byte(i)}, 100*i)...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return files.Bytes(folder.PartName(number))
}

func picked(data []byte, wanted func(uint64) bool) (*Picked, error) {
	files := &folder.Memory{}
	files.Put("f", data)
	r, err := files.Open("f")
	if err != nil {
		return nil, err
	}
	return Pick(r, 7, 1<<32|7, wanted)
}

// TestPick asks that what is read is the file that would have been written with those contents
// alone, whatever pieces it is read in, and that damage is found when it is read.
func TestPick(t *testing.T) {
	data := partFile(t, 7, 1, 2, 2, 3, 1<<40, 2)
	p, err := picked(data, func(id uint64) bool { return id != 3 && id != 1 })
	if err != nil {
		t.Fatal(err)
	}
	all := make([]byte, p.Size())
	if n, err := p.ReadAt(all, 0); err != nil || n != len(all) {
		t.Fatalf("ReadAt = %d, %v", n, err)
	}
	files := &folder.Memory{}
	files.Put("f", all)
	r, err := files.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	f, ids := folder.NewFrameReader(r, folder.PartFrame, 1<<32|7), []uint64(nil)
	for {
		fr, err := f.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		id, _ := binary.Uvarint(fr.Body)
		ids = append(ids, id)
	}
	if len(ids) != 4 || ids[0] != 2 || ids[1] != 2 || ids[2] != 1<<40 || ids[3] != 2 {
		t.Errorf("contents of ids %v", ids)
	}
	for size := 1; size <= len(all)+1; size += 37 {
		for off := 0; off < len(all); off += 53 {
			b := make([]byte, size)
			n, err := p.ReadAt(b, int64(off))
			if want := all[off:min(off+size, len(all))]; !bytes.Equal(b[:n], want) || (err != nil) != (len(want) < size) {
				t.Fatalf("%d bytes at %d: %d, %v", size, off, n, err)
			}
		}
	}
	none, err := picked(data, func(uint64) bool { return false })
	if err != nil || none.Size() != 0 {
		t.Errorf("nothing: %d bytes, %v", none.Size(), err)
	}
	for at := folder.FrameHeader + 20; at < len(data); at += 97 {
		bad := bytes.Clone(data)
		bad[at] ^= 1
		p, err := picked(bad, func(uint64) bool { return true })
		if err == nil {
			_, err = p.ReadAt(make([]byte, p.Size()), 0)
		}
		if !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("damage at %d: %v", at, err)
		}
	}
	if _, err := picked(data[:len(data)-1], func(uint64) bool { return true }); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a file that is cut: %v", err)
	}
}

// FuzzPick reads files that nobody wrote.
func FuzzPick(f *testing.F) {
	f.Add(partFile(f, 7, 1, 2, 3))
	f.Add(partFile(f, 7))
	f.Add([]byte("blmr"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := picked(data, func(id uint64) bool { return id%2 == 1 })
		if err != nil {
			if !errors.Is(err, bloomery.ErrCorrupt) {
				t.Error(err)
			}
			return
		}
		if p.Size() > int64(len(data)) {
			t.Errorf("%d bytes of %d", p.Size(), len(data))
		}
		if _, err := p.ReadAt(make([]byte, p.Size()), 0); err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
			t.Error(err)
		}
	})
}

// counted counts what is read of a file.
type counted struct {
	folder.Reader
	bytes int
}

func (c *counted) ReadAt(b []byte, off int64) (int, error) {
	c.bytes += len(b)
	return c.Reader.ReadAt(b, off)
}

// TestPickReadsOnce asks that a frame is read once, in however many pieces others read it, and is let go of at the end.
func TestPickReadsOnce(t *testing.T) {
	files := &folder.Memory{}
	files.Put("f", partFile(t, 7, 1, 2, 2, 3, 2))
	r, err := files.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{Reader: r}
	p, err := Pick(c, 7, 8, func(id uint64) bool { return id == 2 })
	if err != nil {
		t.Fatal(err)
	}
	c.bytes = 0
	for off, b := int64(0), make([]byte, 10); off < p.Size(); off += 10 {
		if n, err := p.ReadAt(b[:min(10, p.Size()-off)], off); err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if int64(c.bytes) != p.Size() {
		t.Errorf("%d bytes were read for %d", c.bytes, p.Size())
	}
	if p.buf != nil {
		t.Error("a frame is kept when all was read")
	}
}
