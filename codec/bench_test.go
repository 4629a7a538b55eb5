package codec_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/bloomery/bloomery/codec"
)

// The speed is in bytes of the plain encoding, both ways.
func BenchmarkTransport(b *testing.B) {
	for _, fill := range []float64{0.01, 0.1, 0.3, 0.5} {
		data := encoded(b, sparse(b, 32<<20, fill, 1))
		small := compressed(b, data)
		dst := make([]byte, 0, len(data)+len(data)/10)
		run := func(op string, f func() error) {
			b.Run(fmt.Sprintf("op=%s/fill=%v", op, fill), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(small))/float64(len(data)), "ratio")
			})
		}
		run("compress", func() error { _, err := codec.Compress(dst, data); return err })
		run("decompress", func() error { _, err := codec.Decompress(dst, small); return err })
		run("read", func() error { _, err := io.Copy(io.Discard, codec.NewReader(bytes.NewReader(small))); return err })
	}
}

func BenchmarkPlain(b *testing.B) {
	f := sparse(b, 32<<20, 0.5, 1)
	data := encoded(b, f)
	dst := make([]byte, 0, len(data))
	run := func(op string, f func() error) {
		b.Run("op="+op, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("append", func() error { _, err := f.AppendBinary(dst); return err })
	run("open", func() error { _, err := codec.Open(data); return err })
	run("read", func() error { _, err := codec.Read(bytes.NewReader(data)); return err })
	run("view", func() error { _, err := codec.Config{}.View(data); return err })
	run("inspect", func() error { _, err := codec.Inspect(bytes.NewReader(data)); return err })
}

func BenchmarkPatch(b *testing.B) {
	before, after := encoded(b, sparse(b, 32<<20, 0.4, 1)), encoded(b, sparse(b, 32<<20, 0.41, 1))
	patch, err := codec.Diff(before, after)
	if err != nil {
		b.Fatal(err)
	}
	for op, f := range map[string]func() error{
		"diff":  func() error { _, err := codec.Diff(before, after); return err },
		"patch": func() error { _, err := codec.Patch(before, patch); return err },
	} {
		b.Run("op="+op, func(b *testing.B) {
			b.SetBytes(int64(len(after)))
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(patch))/float64(len(after)), "ratio")
		})
	}
}
