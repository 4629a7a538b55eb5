// Tests of files of other systems that claim what cannot be, or take long to read.

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
)

// dcsoFile returns a DCSO filter of one word for 10 keys, with 7 bits for each.
func dcsoFile(rate float64, keys, word uint64) (data []byte) {
	for _, x := range []uint64{1, 10, math.Float64bits(rate), 7, 64, keys, word} {
		data = binary.LittleEndian.AppendUint64(data, x)
	}
	return data
}

// TestForeignClaims has files whose numbers are the largest and the smallest there are.
func TestForeignClaims(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	full := dcsoFile(1e-9, math.MaxUint64, 0xffff0000ffff0000)
	write(t, name, full)
	write(t, filepath.Join(dir, "keys"), []byte("alice\nbob\n"))
	code, _, errOut := call(t, "add", name, filepath.Join(dir, "keys"))
	if after, err := os.ReadFile(name); code != exitLimit || string(after) != string(full) || err != nil {
		t.Errorf("add to a filter of 2^64-1 keys = %d, %v: %s", code, err, errOut)
	}
	write(t, name, dcsoFile(math.SmallestNonzeroFloat64, 3, math.MaxUint64))
	if code, out, errOut := call(t, "inspect", name); code != 0 || strings.Contains(out, "Inf") {
		t.Errorf("inspect = %d: %s%s", code, out, errOut)
	}
}

// TestForeignOverfull fills filters for 10 keys with 1,000: a format that is sized in bits for
// a key asks for no rate, which is not a rate of 0.
func TestForeignOverfull(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "keys"), []byte(numbered(1000)))
	for format, instead := range map[string]bool{"leveldb": false, "rocksdb": false, "dcso": true} {
		code, _, errOut := call(t, "build", "--format", format, "-n", "10", "-o", filepath.Join(dir, "f"), filepath.Join(dir, "keys"))
		if code != exitLimit || strings.Contains(errOut, "instead of") != instead || !strings.Contains(errOut, "room for 10: the false positive rate is") {
			t.Errorf("%s: %d: %s", format, code, errOut)
		}
	}
}

// TestForeignUnknown opens a filter of RocksDB whose hash is not known: no newer bloomery has written it.
func TestForeignUnknown(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	write(t, name, append(make([]byte, 64), 0xff, 0, 6, 0, 0))
	code, _, errOut := call(t, "inspect", "--format", "rocksdb", name)
	if code != exitBad || !strings.Contains(errOut, "FastLocalBloom") || !strings.Contains(errOut, "hint: docs/formats.md, under Limits, says which filters of rocksdb are read") {
		t.Errorf("inspect = %d: %s", code, errOut)
	}
}

// TestForeignInterrupted interrupts a command while it finds out which format a file has.
func TestForeignInterrupted(t *testing.T) {
	all := foreignFormats
	t.Cleanup(func() { foreignFormats = all })
	ctx, cancel := context.WithCancel(t.Context())
	foreignFormats = []foreignFormat{{name: "slow", open: func([]byte, foreignKey) (foreignFilter, error) {
		cancel()
		return nil, bloomery.ErrCorrupt
	}}}
	name := filepath.Join(t.TempDir(), "f")
	write(t, name, dcsoFile(0.01, 0, 0))
	for _, format := range []string{"", "slow"} {
		if f, err := (&formatFlag{format}).openForeign(ctx, name, nil); !errors.Is(err, context.Canceled) || f != nil {
			t.Errorf("format %q: %v, %v", format, f, err)
		}
	}
}
