package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// mixed makes a folder with a pack of small contents, a large file, and a log
// that goes on with all of them.
func mixed(t *testing.T) (*folder.Memory, *store.State) {
	t.Helper()
	files := &folder.Memory{}
	state := store.New()
	d, err := local.Open(local.Config{State: state, Files: files, SnapshotAfter: -1, LogFile: 1 << 20, Small: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		do(t, d, newBloom(fmt.Sprint("bloom", i), 50))
		do(t, d, store.Record{Body: &store.Set{String: store.String{Name: fmt.Append(nil, "text", i), Value: fmt.Append(nil, i)}}})
		do(t, d, store.Record{Body: &store.MakeCuckoo{Name: fmt.Append(nil, "cuckoo", i), Params: redisbloom.CuckooParams{Capacity: 16, BucketSize: 2, MaxIterations: 5, Expansion: 1}}})
	}
	do(t, d, newBloom("large", 10_000))
	if err := d.Snapshot(); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(6) {
		do(t, d, add(3*i+1, i, i+1), store.Record{ID: 3*i + 3, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: []uint64{i}}})
	}
	do(t, d, add(19, 1, 2, 3))
	do(t, d,
		store.Record{Body: &store.Append{String: store.String{Name: []byte("text0"), Value: []byte("more")}}},
		store.Record{Body: &store.Increment{Name: []byte("text1"), By: 5}},
		store.Record{Body: &store.SetRange{String: store.String{Name: []byte("text2"), Value: []byte("over")}, Offset: 3}},
		store.Record{Body: &store.Set{String: store.String{Name: []byte("text3"), Value: []byte("anew")}}},
		store.Record{Body: &store.Rename{From: []byte("text4"), To: []byte("moved")}},
		store.Record{Body: &store.Rename{From: []byte("bloom4"), To: []byte("moved filter")}},
		store.Record{Body: &store.Remove{Names: [][]byte{[]byte("bloom5"), []byte("text5")}}},
		newBloom("young", 50)) // its id depends on all before it
	do(t, d, add(state.Names.Lookup([]byte("young"), 0).ID, 7))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return files, state
}

// without returns the state less some names.
func without(t *testing.T, files *folder.Memory, names []string) []byte {
	t.Helper()
	state, d := open(t, files.Copy(), local.Never)
	r := &store.Remove{}
	for _, name := range names {
		r.Names = append(r.Names, []byte(name))
	}
	if len(names) > 0 {
		do(t, d, store.Record{Body: r})
	}
	return snapshot(state)
}

// TestDropKeepsTheRest damages part files at every 7th byte: Inspect names what is
// lost, Drop removes exactly that, and everything else is as it was.
func TestDropKeepsTheRest(t *testing.T) {
	files, _ := mixed(t)
	names, _ := files.List()
	seen := map[string]bool{}
	for _, name := range names {
		if !strings.HasSuffix(name, ".part") {
			continue
		}
		data := files.Bytes(name)
		step := max(7, len(data)/200)
		for at := 0; at < len(data); at += step {
			broken := files.Copy()
			bad := bytes.Clone(data)
			bad[at] ^= 0x40
			broken.Put(name, bad)
			lost := checkDrop(t, files, broken, name, bad)
			for _, l := range lost {
				seen[l] = true
			}
			if len(lost) > 1 {
				t.Errorf("%s, offset %d: one bad byte loses %v", name, at, lost)
			}
		}
		for _, bad := range [][]byte{nil, data[:len(data)/2]} {
			broken := files.Copy()
			broken.Put(name, bad)
			checkDrop(t, files, broken, name, bad)
		}
		broken := files.Copy()
		if err := broken.Remove(name); err != nil {
			t.Fatal(err)
		}
		checkDrop(t, files, broken, name, nil)
	}
	for _, want := range []string{"bloom0", "cuckoo5", "text0", "text1", "text2", "moved", "moved filter", "large"} {
		if !seen[want] {
			t.Errorf("%q was never lost", want)
		}
	}
	for _, never := range []string{"text3", "bloom5", "text5", "young"} {
		if seen[never] {
			t.Errorf("%q was lost: the log has all of it, or has removed it", never)
		}
	}
}

func checkDrop(t *testing.T, whole, broken *folder.Memory, name string, bad []byte) (lost []string) {
	t.Helper()
	if _, err := local.Open(local.Config{State: store.New(), Files: broken}); !errors.Is(err, bloomery.ErrCorrupt) || !strings.Contains(err.Error(), name) {
		t.Fatalf("a start on damaged contents: %v", err)
	}
	report, err := local.Inspect(broken)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Droppable() {
		t.Fatalf("not droppable: %+v", report)
	}
	for _, l := range report.Lost {
		lost = append(lost, l.Name)
	}
	if err := local.Repair(broken, report); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("Repair of damaged contents: %v", err)
	}
	dropped, err := local.Drop(broken, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(dropped, lost) {
		t.Errorf("dropped %v, Inspect said %v", dropped, lost)
	}
	state, d := open(t, broken, local.Never)
	defer func() { _ = d.Close() }()
	if !bytes.Equal(snapshot(state), without(t, whole, lost)) {
		t.Errorf("%s: dropping %v changes something else", name, lost)
	}
	left, _ := broken.List()
	if bad != nil && !bytes.Equal(broken.Bytes(name+".damaged"), bad) {
		t.Errorf("the damaged file is gone: %v", left)
	}
	return lost
}

// TestDropRefuses asks that damage of manifest and log is not dropped.
func TestDropRefuses(t *testing.T) {
	files, _ := mixed(t)
	names, _ := files.List()
	for _, name := range names {
		if strings.HasSuffix(name, ".part") {
			continue
		}
		broken := files.Copy()
		data := broken.Bytes(name)
		data[40] ^= 1
		broken.Put(name, data)
		report, err := local.Inspect(broken)
		if err != nil {
			t.Fatal(err)
		}
		if !report.Damaged() || report.Droppable() {
			t.Errorf("%s: damaged %v, droppable %v", name, report.Damaged(), report.Droppable())
		}
		before, _ := broken.List()
		if _, err := local.Drop(broken, nil); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: Drop: %v", name, err)
		}
		if after, _ := broken.List(); !slices.Equal(before, after) || !bytes.Equal(broken.Bytes(name), data) {
			t.Errorf("%s: a refused Drop changed files: %v, then %v", name, before, after)
		}
	}
}

// TestUnknownFilesStay puts files of others into a folder: starts, snapshots and
// repairs leave them alone.
func TestUnknownFilesStay(t *testing.T) {
	files := smallFolder(t)
	others := []string{"notes.txt", "1.log", "0000000000000001.part.bak", "MANIFEST.old", "x.part", ".hidden"}
	for _, name := range others {
		files.Put(name, []byte("of somebody"))
	}
	_, d := open(t, files, local.EverySecond)
	do(t, d, add(1, 90))
	if err := errors.Join(d.Snapshot(), d.Snapshot(), d.Close()); err != nil {
		t.Fatal(err)
	}
	report, err := local.Inspect(files)
	if err == nil {
		err = local.Repair(files, report)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range others {
		if string(files.Bytes(name)) != "of somebody" {
			t.Errorf("%s was changed or removed", name)
		}
	}
}

// TestCheck asks that Check finds every missing file and every flipped byte that a
// start needs.
func TestCheck(t *testing.T) {
	files, _ := mixed(t)
	if err := local.Check(files); err != nil {
		t.Fatal(err)
	}
	names, _ := files.List()
	for _, name := range names {
		broken := files.Copy()
		if err := broken.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := local.Check(broken); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("without %s: %v", name, err)
		}
		data := files.Bytes(name)
		data[len(data)/3] ^= 1
		broken.Put(name, data)
		if err := local.Check(broken); !errors.Is(err, bloomery.ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("a bad byte in %s: %v", name, err)
		}
	}
}
