package journal

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

func named(i, size int) *store.Record {
	return &store.Record{Body: &store.Persist{Name: append(fmt.Append(nil, i, " "), make([]byte, size)...)}}
}

// TestFiles asks that the files of a journal hold all records in their order, each at its position, and
// that a file begins where the one before ends.
func TestFiles(t *testing.T) {
	var files folder.Memory
	j := New(&files, "p")
	const records, size = 36, 512 << 10 // more than two files
	var positions []uint64
	for i := range records {
		positions = append(positions, j.Position())
		j.Pass(named(i, size))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if len(j.Starts()) < 3 || len(j.Names()) != len(j.Starts()) {
		t.Errorf("%d bytes are in %d files: %q", records*size, len(j.Starts()), j.Names())
	}
	i, at := 0, uint64(folder.CopyStart)
	for file, start := range j.Starts() {
		if start != at {
			t.Errorf("file %d begins at %d, the one before ends at %d", file, start, at)
		}
		for data := files.Bytes(j.Name(start)); len(data) > 0; {
			f, err := folder.ParseFrame(data, folder.LogFrame)
			if err != nil || f.A != at {
				t.Fatalf("a frame at %d says %d: %v", at, f.A, err)
			}
			data = data[folder.FrameHeader+len(f.Body):]
			for body := f.Body; len(body) > 0; i++ {
				var r store.Record
				n, err := r.Decode(body)
				if err != nil || at != positions[i] || !bytes.Equal(r.Body.(*store.Persist).Name, named(i, size).Body.(*store.Persist).Name) {
					t.Fatalf("record %d at %d, want %d: %v", i, at, positions[i], err)
				}
				body, at = body[n:], at+uint64(n)
			}
		}
	}
	if i != records || at != j.Position() {
		t.Errorf("%d records of %d, to %d of %d", i, records, at, j.Position())
	}
}

// TestMarks asks that a position is known of each message behind the first, of no others, and that a
// journal without one of them is of no use.
func TestMarks(t *testing.T) {
	j := New(&folder.Memory{}, "p")
	j.Track(2)
	j.Mark(0, 5) // before the lane has begun
	j.From(0, 10)
	want := []uint64{j.Position()}
	for seq := uint64(9); seq <= 12; seq++ { // 9 and 10 are in the copy
		j.Pass(named(int(seq), 10))
		if j.Mark(0, seq); seq > 10 {
			want = append(want, j.Position())
		}
	}
	for i, position := range want {
		if at, err := j.At(messages.Place{Lane: 0, Seq: 10 + uint64(i)}); err != nil || at != position {
			t.Errorf("message %d is at %d, want %d: %v", 10+i, at, position, err)
		}
	}
	for _, p := range []messages.Place{{Lane: 0, Seq: 9}, {Lane: 0, Seq: 13}, {Lane: 1, Seq: 1}, {Lane: 2, Seq: 1}} {
		if at, err := j.At(p); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%+v is at %d: %v", p, at, err)
		}
	}
	if j.Mark(0, 14); j.Close() == nil {
		t.Error("message 13 is missing, and the journal is good")
	}
}

// TestRefused asks that a condition on a part of other nodes ends a journal, and that no journal notes nothing.
func TestRefused(t *testing.T) {
	j := New(&folder.Memory{}, "p")
	j.Pass(&store.Record{Body: &store.ExpectPart{}})
	before := j.Position()
	if j.Pass(named(1, 1)); j.Position() != before || !errors.Is(j.Close(), ErrWatched) {
		t.Error("a transaction that watches a part of another node is in a copy")
	}
	var none *Journal
	none.Add(named(1, 1), &store.Result{})
	none.Pass(named(1, 1))
	none.Mark(1, 1)
}
