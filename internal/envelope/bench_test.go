package envelope

import (
	"bytes"
	"io"
	"testing"
)

func BenchmarkEnvelope(b *testing.B) {
	const words = 64 << 20 / 8
	h, w := sampleHeader(words), sampleWords(words)
	data := Append(nil, h, w)
	run := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	dst := make([]byte, 0, len(data))
	run("op=append", func() error { dst = Append(dst[:0], h, w); return nil })
	run("op=writeTo", func() error { _, err := WriteTo(io.Discard, h, w); return err })
	run("op=open", func() error {
		s, err := Open(data)
		if err == nil {
			err = s.Verify()
		}
		s.Words()
		return err
	})
	run("op=read", func() error { _, _, _, err := Read(bytes.NewReader(data), accept); return err })
	run("op=verify", func() error {
		s, _ := Open(data)
		return s.Verify()
	})
}
