package local_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// slowFiles is a folder whose files are written to while nobody has locked it.
type slowFiles struct {
	*folder.Memory
	mu sync.Mutex
}

type slowFile struct {
	folder.File
	files *slowFiles
}

func (f *slowFiles) Create(name string) (folder.File, error) {
	file, err := f.Memory.Create(name)
	return slowFile{file, f}, err
}

func (f slowFile) Write(p []byte) (int, error) {
	f.files.mu.Lock()
	defer f.files.mu.Unlock()
	return f.File.Write(p)
}

// TestLongStringsAreShared asks that a long string that was made before is in the
// log without a copy, counts as long until it is written, in whatever order short
// records come, and is there after a start.
func TestLongStringsAreShared(t *testing.T) {
	files, state := &slowFiles{Memory: &folder.Memory{}}, store.New()
	d, err := local.Open(local.Config{State: state, Files: files, Fsync: local.Always, SnapshotAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	do := func(r store.Record) {
		op := door.Op{Record: r}
		if d.Do([]*door.Op{&op}); op.Err != nil || op.Result.Err != nil {
			t.Fatalf("operation %d: %v, %v", r.Op(), op.Err, op.Result.Err)
		}
		want[string(r.NewName())] = store.Text(op.Result.Entry)
	}
	long := 0
	files.mu.Lock()
	for i, size := range []int{10, store.Long, 3 << 20, 20, store.Long - 1, 5 << 20, 1} {
		name := strings.Repeat("n", i+1)
		set := &store.Set{String: store.String{Name: []byte(name), Value: bytes.Repeat([]byte{byte('a' + i)}, size)}}
		if size >= store.Long {
			store.MakeString(set, nil)
			long += size
		}
		do(store.Record{Body: set})
	}
	add := &store.Append{String: store.String{Name: []byte("nn"), Value: bytes.Repeat([]byte("tail"), store.Long)}}
	store.MakeString(add, state.Names.Lookup(add.Name, 0))
	long += len(add.Value)
	do(store.Record{Body: add})
	if got := d.Long(); got < int64(long) || got > int64(long)+1000 {
		t.Errorf("%d bytes of long strings wait, want %d", got, long)
	}
	if !d.Busy() {
		t.Error("many bytes wait, and the door takes more")
	}
	files.mu.Unlock()
	if d.Ready(false); d.Long() != 0 || d.Busy() {
		t.Errorf("%d bytes of long strings wait after Ready, busy %v", d.Long(), d.Busy())
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again := store.New()
	if d, err = local.Open(local.Config{State: again, Files: files, SnapshotAfter: -1}); err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if e := again.Names.Lookup([]byte(name), 0); e == nil || store.Text(e) != text {
			t.Errorf("the string of %d bytes is another one after a start", len(text))
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLongIsCounted asks that a long string counts from when it is put in order until it
// is written, in one frame.
func TestLongIsCounted(t *testing.T) {
	files := &folder.Memory{}
	d, err := local.Open(local.Config{State: store.New(), Files: files, Fsync: local.Never, SnapshotAfter: -1, Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("s", store.Long)
	if err := d.Step(); err != nil || d.Long() != 0 {
		t.Errorf("%d bytes of nothing, %v", d.Long(), err)
	}
	size := func() int { return len(files.Bytes(folder.LogName(0))) - int(d.Position()) } // of all that is no record
	before := size()
	do(t, d, store.Record{Body: &store.Set{String: store.String{Name: []byte("k"), Value: []byte(text), Made: text}}})
	if n := d.Long(); n < store.Long || n > store.Long+200 {
		t.Errorf("a string of %d bytes counts as %d", store.Long, n)
	}
	if err := d.Step(); err != nil || d.Long() != 0 {
		t.Errorf("%d bytes when it is written, %v", d.Long(), err)
	}
	if got := size() - before; got != folder.FrameHeader {
		t.Errorf("%d bytes more than those of the record, want %d: one frame", got, folder.FrameHeader)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
