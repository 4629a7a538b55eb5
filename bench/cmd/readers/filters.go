package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bloomery/bloomery/bench/internal/report"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

const (
	keys = 1_000_000
	rate = 0.01
)

// kinds are those that are timed, the default first.
var kinds = []string{"bloom", "standard", "split", "fuse8", "ribbon"}

// filters writes a filter of every kind to dir, and returns their sizes.
func filters(ctx context.Context, dir string) (map[string]int, error) {
	hashes := make([]uint64, keys)
	for i := range hashes {
		hashes[i] = hashing.Hasher{}.HashString(fmt.Sprintf("https://example.org/%07d", i))
	}
	sizes := map[string]int{}
	for _, k := range codec.Kinds() {
		if !slices.Contains(kinds, k.Name) {
			continue
		}
		data, err := encoded(k, hashes)
		if err != nil {
			return nil, err
		}
		sizes[k.Name] = len(data)
		if err := os.WriteFile(filepath.Join(dir, k.Name), data, 0o644); err != nil {
			return nil, err
		}
	}
	return sizes, ctx.Err()
}

func encoded(k codec.Kind, hashes []uint64) ([]byte, error) {
	type encoder interface{ MarshalBinary() ([]byte, error) }
	if k.Build != nil {
		f, err := k.Build(slices.Clone(hashes), rate, hashing.Hasher{})
		if err != nil {
			return nil, err
		}
		return f.(encoder).MarshalBinary()
	}
	f, err := k.New(keys, rate, hashing.Hasher{})
	if err != nil {
		return nil, err
	}
	f.(interface {
		AddHashes(dst []bool, hs []uint64)
	}).AddHashes(nil, hashes)
	return f.(encoder).MarshalBinary()
}

const intro = `The readers of [contrib/js](../../contrib/js/README.md) and [contrib/python](../../contrib/python/README.md) with
	filters of 1,000,000 keys at 1%%. Keys have 27 characters; each kind of lookup is timed for a second in batches of a few
	milliseconds, and the fastest batch of %d rounds counts. The promise for JavaScript: at least 500,000 lookups a second, and at
	most 12,000 bytes compressed with gzip.`

// document returns the report.
func document(ctx context.Context, root string, sizes map[string]int, all []speeds, rounds int, started time.Time) (*report.Document, error) {
	doc := report.New("Benchmarks of the readers", "make bench-readers")
	doc.Text(fmt.Sprintf(intro, rounds))
	for _, s := range all {
		t := &report.Table{Head: []string{"kind", "bytes", "opened in, ms", "present keys/s", "absent keys/s"}}
		for _, kind := range kinds {
			x := s.Kinds[kind]
			t.Row(kind, report.Number(float64(sizes[kind])), fmt.Sprintf("%.1f", x[0]), report.Number(x[1]), report.Number(x[2]))
		}
		doc.Section(s.Name)
		doc.Table(t)
	}
	doc.Section("Sizes")
	t := &report.Table{Head: []string{"file", "bytes", "by gzip"}}
	for _, path := range []string{"contrib/js/bloomery.js", "contrib/python/bloomery.py"} {
		data, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		packed, err := zipped(data)
		if err != nil {
			return nil, err
		}
		t.Row(path, report.Number(float64(len(data))), report.Number(float64(packed)))
	}
	doc.Table(t)
	doc.Add(report.Origin(ctx, "make bench-readers", started))
	return doc, nil
}

// zipped returns how long data is when it is compressed.
func zipped(data []byte) (int, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return 0, err
	}
	if _, err := z.Write(data); err != nil {
		return 0, err
	}
	err = z.Close()
	return out.Len(), err
}
