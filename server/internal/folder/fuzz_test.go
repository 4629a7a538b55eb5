package folder_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// seal makes a frame of a log.
func seal(body []byte, a, b uint64) []byte {
	f := append(make([]byte, folder.FrameHeader), body...)
	folder.SealFrame(f, folder.LogFrame, a, b)
	return f
}

func FuzzFrame(f *testing.F) {
	f.Add(seal([]byte("body"), 5, 3))
	f.Add(seal(nil, 0, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		fr, err := folder.ParseFrame(data, folder.LogFrame)
		if err != nil {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
				t.Fatalf("error %v wraps neither cause", err)
			}
			return
		}
		if !bytes.HasPrefix(data, seal(fr.Body, fr.A, fr.B)) {
			t.Fatal("a frame that was taken encodes to other bytes")
		}
	})
}
