package compose_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
)

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestQuorumEncodingMemory asks that an encoding of a quorum takes little more memory
// than it is long, none if there is room for it, and none if it is written.
func TestQuorumEncodingMemory(t *testing.T) {
	var members []bloomery.Hashed
	for range 5 {
		members = append(members, bloom.New(1<<20, 0.01))
	}
	q, err := compose.NewQuorum(3, members...)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} {
		if err := q.InsertString(key); err != nil {
			t.Fatal(err)
		}
	}
	var data []byte
	took := allocated(func() { data, err = q.MarshalBinary() })
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("MarshalBinary of %d bytes allocates %d", len(data), took)
	// The race detector makes slices.Grow take its memory twice.
	if most := uint64(len(data)) * 21 / 10; took > most {
		t.Errorf("MarshalBinary of %d bytes allocates %d, at most %d expected", len(data), took, most)
	}
	const little = 64 << 10
	buf := make([]byte, 0, len(data))
	took = allocated(func() { buf, err = q.AppendBinary(buf) })
	if err != nil || took > little || !bytes.Equal(buf, data) {
		t.Errorf("AppendBinary where there is room: %v, %d bytes, allocates %d", err, len(buf), took)
	}
	w := bytes.NewBuffer(buf[:0])
	var n int64
	took = allocated(func() { n, err = q.WriteTo(w) })
	t.Logf("WriteTo of %d bytes allocates %d", len(data), took)
	if err != nil || n != int64(len(data)) || took > little || !bytes.Equal(w.Bytes(), data) {
		t.Errorf("WriteTo: %v, %d bytes of %d, allocates %d", err, n, len(data), took)
	}
	prefix := []byte("before")
	if got, err := q.AppendBinary(prefix); err != nil || !bytes.Equal(got[:6], prefix) || !bytes.Equal(got[6:], data) {
		t.Errorf("AppendBinary behind other bytes: %v", err)
	}
}

// TestQuorumWriteFails asks that WriteTo returns the error of its writer, and how much
// was written, wherever it fails.
func TestQuorumWriteFails(t *testing.T) {
	q, err := compose.NewQuorum(1, bloom.New(100, 0.01), bloom.New(200, 0.01))
	if err != nil {
		t.Fatal(err)
	}
	data, err := q.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for room := range data {
		w := &tightWriter{room: room}
		if n, err := q.WriteTo(w); !errors.Is(err, io.ErrShortWrite) || n != int64(room) || !bytes.Equal(w.got, data[:room]) {
			t.Fatalf("room for %d of %d bytes: %d written, %v", room, len(data), n, err)
		}
	}
}

// tightWriter takes so many bytes.
type tightWriter struct {
	room int
	got  []byte
}

func (w *tightWriter) Write(b []byte) (int, error) {
	n := min(len(b), w.room-len(w.got))
	w.got = append(w.got, b[:n]...)
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}
