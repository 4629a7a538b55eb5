package messages

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/store"
)

var update = flag.Bool("update", false, "write golden files that are missing")

// samples are messages by the name of their golden file.
func samples() map[string][]byte {
	add := store.Record{ID: 7, Index: 1, Body: &store.CuckooInsert{Room: 100, Hashes: []uint64{1, 1<<64 - 1}}}
	set := store.Record{At: 1_700_000_000_000, Body: &store.Set{String: store.String{Name: []byte("k"), Value: []byte("v")}}}
	birth := store.Record{At: 1_700_000_000_000, Body: &store.Birth{ID: 77, Seed: 1<<64 - 1, Lanes: 8}}
	message := func(h Header, records ...*store.Record) []byte {
		b := AppendHeader(nil, &h)
		for _, r := range records {
			b = store.AppendRecord(b, r)
		}
		return AppendSum(b)
	}
	return map[string][]byte{
		"data":  message(Header{Cluster: 77, Node: 3, Session: 1 << 40, Counter: 9, After: []Place{{0, 1 << 50}}}, &add, &add),
		"group": message(Header{Flags: Group, Cluster: 77, Node: 1, Session: 2, Counter: 1, After: []Place{{1, 5}, {9, 0}}}, &set, &set),
		"empty": message(Header{Cluster: 1<<64 - 1, Node: 1<<32 - 1, Session: 1, Counter: 1}),
		"birth": message(Header{}, &birth),
	}
}

// TestGoldenMessages asks that messages of every release can be read: files of
// testdata are never changed.
func TestGoldenMessages(t *testing.T) {
	for name, want := range samples() {
		path := filepath.Join("testdata", name+".message")
		got, err := os.ReadFile(path)
		if *update && errors.Is(err, os.ErrNotExist) {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is written as\n%x, and was\n%x", name, want, got)
		}
		var h Header
		records, err := Parse(&h, got)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list, err := Records(nil, records)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again := AppendHeader(nil, &h)
		for i := range list {
			again = store.AppendRecord(again, &list[i])
		}
		if !bytes.Equal(AppendSum(again), got) {
			t.Errorf("%s reads as something else: %+v", name, h)
		}
	}
}

// TestDamagedMessages asks that every changed bit and every cut is noticed.
func TestDamagedMessages(t *testing.T) {
	for name, msg := range samples() {
		for i := range msg {
			for bit := range 8 {
				b := bytes.Clone(msg)
				b[i] ^= 1 << bit
				if _, err := Parse(new(Header), b); !errors.Is(err, bloomery.ErrCorrupt) {
					t.Fatalf("%s with bit %d of byte %d changed: %v", name, bit, i, err)
				}
			}
			if _, err := Parse(new(Header), msg[:i]); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Fatalf("%s cut to %d bytes: %v", name, i, err)
			}
		}
		for at, v := range map[int]byte{0: 2, 1: 2} { // version and flags of a later release
			b := bytes.Clone(msg[:len(msg)-4])
			b[at] = v
			if _, err := Parse(new(Header), AppendSum(b)); !errors.Is(err, bloomery.ErrVersion) {
				t.Errorf("%s with byte %d = %d: %v", name, at, v, err)
			}
		}
	}
}

// FuzzMessage asks that a message that can be read is written the same, and that
// nothing else makes the reader do more than answer an error.
func FuzzMessage(f *testing.F) {
	for _, msg := range samples() {
		f.Add(msg)
		f.Add(msg[:len(msg)-4])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, msg := range [][]byte{b, AppendSum(bytes.Clone(b))} { // most inputs have a wrong checksum
			var h, again Header
			records, err := Parse(&h, msg)
			if err != nil {
				if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
					t.Fatal(err)
				}
				continue
			}
			if _, err := Records(nil, records); err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
				t.Fatal(err)
			}
			rest, err := Parse(&again, AppendSum(append(AppendHeader(nil, &h), records...)))
			if err != nil || !bytes.Equal(rest, records) || len(h.After) != len(again.After) || !reflect.DeepEqual(append(h.After, Place{}), append(again.After, Place{})) {
				t.Fatalf("%+v reads as %+v, %v", h, again, err)
			}
		}
	})
}

// FuzzSenders does the same for the table of senders.
func FuzzSenders(f *testing.F) {
	f.Add(Senders{}.Append(nil))
	f.Add(Senders{1: {1, 2, 3}, 9: {1 << 63, 1 << 40, 1<<64 - 1}}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := WholeSenders(b)
		if err != nil {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
				t.Fatal(err)
			}
			return
		}
		again, err := WholeSenders(table.Append(nil))
		if err != nil || !reflect.DeepEqual(table, again) {
			t.Fatalf("%v reads as %v, %v", table, again, err)
		}
	})
}
