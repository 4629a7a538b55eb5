package cluster

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
	message := func(h header, records ...*store.Record) []byte {
		b := appendHeader(nil, &h)
		for _, r := range records {
			b = store.AppendRecord(b, r)
		}
		return appendSum(b)
	}
	return map[string][]byte{
		"data":  message(header{cluster: 77, node: 3, session: 1 << 40, counter: 9, after: []place{{0, 1 << 50}}}, &add, &add),
		"group": message(header{flags: flagGroup, cluster: 77, node: 1, session: 2, counter: 1, after: []place{{1, 5}, {9, 0}}}, &set, &set),
		"empty": message(header{cluster: 1<<64 - 1, node: 1<<32 - 1, session: 1, counter: 1}),
		"birth": message(header{}, &birth),
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
		var h header
		records, err := parseMessage(&h, got)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list, err := decodeRecords(nil, records)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again := appendHeader(nil, &h)
		for i := range list {
			again = store.AppendRecord(again, &list[i])
		}
		if !bytes.Equal(appendSum(again), got) {
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
				if _, err := parseMessage(new(header), b); !errors.Is(err, bloomery.ErrCorrupt) {
					t.Fatalf("%s with bit %d of byte %d changed: %v", name, bit, i, err)
				}
			}
			if _, err := parseMessage(new(header), msg[:i]); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Fatalf("%s cut to %d bytes: %v", name, i, err)
			}
		}
		for at, v := range map[int]byte{0: 2, 1: 2} { // version and flags of a later release
			b := bytes.Clone(msg[:len(msg)-4])
			b[at] = v
			if _, err := parseMessage(new(header), appendSum(b)); !errors.Is(err, bloomery.ErrVersion) {
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
		for _, msg := range [][]byte{b, appendSum(bytes.Clone(b))} { // most inputs have a wrong checksum
			var h, again header
			records, err := parseMessage(&h, msg)
			if err != nil {
				if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
					t.Fatal(err)
				}
				continue
			}
			if _, err := decodeRecords(nil, records); err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
				t.Fatal(err)
			}
			rest, err := parseMessage(&again, appendSum(append(appendHeader(nil, &h), records...)))
			if err != nil || !bytes.Equal(rest, records) || len(h.after) != len(again.after) || !reflect.DeepEqual(append(h.after, place{}), append(again.after, place{})) {
				t.Fatalf("%+v reads as %+v, %v", h, again, err)
			}
		}
	})
}

// FuzzSenders does the same for the table of senders.
func FuzzSenders(f *testing.F) {
	f.Add(senders{}.append(nil))
	f.Add(senders{1: {1, 2, 3}, 9: {1 << 63, 1 << 40, 1<<64 - 1}}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := wholeSenders(b)
		if err != nil {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
				t.Fatal(err)
			}
			return
		}
		again, err := wholeSenders(table.append(nil))
		if err != nil || !reflect.DeepEqual(table, again) {
			t.Fatalf("%v reads as %v, %v", table, again, err)
		}
	})
}
