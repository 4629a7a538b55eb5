package peers

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestHeaders(t *testing.T) {
	for _, h := range []header{
		{kind: kindQuestion, number: 7, room: MaxBody, patience: 9}, {kind: kindVoid, room: 3}, {kind: kindCancel, number: 1<<32 - 1},
		{kind: kindAnswer, number: 5}, {kind: kindRefused}, {kind: kindLong}, {kind: kindPing, number: 1}, {kind: kindPong},
	} {
		var body []byte
		if h.kind == kindQuestion || h.kind == kindAnswer {
			body, h.length = []byte("body"), 4
		}
		b := appendFrame(nil, h, body)
		got, err := parseHeader(b)
		if err != nil || got != h || !bytes.Equal(b[headerBytes:], body) {
			t.Errorf("%+v: %+v, %v", h, got, err)
		}
		for n := range headerBytes {
			if _, err := parseHeader(b[:n]); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d bytes of a header: %v", n, err)
			}
		}
	}
}

func TestHeadersRefused(t *testing.T) {
	long := appendFrame(nil, header{kind: kindQuestion}, nil)
	long[2] = 0x10 // 1 MiB
	if _, err := parseHeader(long); err != nil {
		t.Errorf("a body of MaxBody: %v", err)
	}
	long[0] = 1
	cases := map[string][]byte{
		"kind 0":           appendFrame(nil, header{}, nil),
		"kind too high":    appendFrame(nil, header{kind: kindEnd}, nil),
		"length":           long,
		"room":             appendFrame(nil, header{kind: kindQuestion, room: MaxBody + 1}, nil),
		"ping with body":   appendFrame(nil, header{kind: kindPing}, []byte("b")),
		"cancel with body": appendFrame(nil, header{kind: kindCancel}, []byte("b")),
		"long with body":   appendFrame(nil, header{kind: kindLong}, []byte("b")),
		"answer with room": appendFrame(nil, header{kind: kindAnswer, room: 1}, nil),
		"ping patience":    appendFrame(nil, header{kind: kindPing, patience: 1}, nil),
	}
	for name, b := range cases {
		if _, err := parseHeader(b); !errors.Is(err, errFrame) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// frames reads all frames of a stream, and returns them as they would be written.
func frames(r io.Reader) (again []byte, err error) {
	in := reader{bufio.NewReaderSize(r, 64)}
	for {
		h, err := in.header()
		if err != nil {
			return again, err
		}
		if h.length > MaxBody {
			return again, errors.New("a length that was not checked")
		}
		err = in.body(h.length, func(b []byte, fresh bool) {
			if fresh != (h.length > in.Size()) || len(b) != h.length {
				err = errors.New("another body")
			}
			again = appendFrame(again, h, b)
		})
		if err != nil {
			return again, err
		}
	}
}

// FuzzFrames reads any bytes as frames. What was read is what was there, up to the first byte
// that is wrong; nothing is allocated for a length that is too large.
func FuzzFrames(f *testing.F) {
	f.Add(appendFrame(appendFrame(nil, header{kind: kindPing, number: 1}, nil), header{kind: kindQuestion, room: 10}, []byte("question")))
	f.Add(appendFrame(nil, header{kind: kindAnswer}, bytes.Repeat([]byte("long"), 100)))
	f.Add([]byte{255, 255, 255, 255, 1})
	f.Add(appendFrame(nil, header{kind: kindAnswer}, make([]byte, 1024))[:17])
	f.Add(appendFrame(nil, header{kind: kindAnswer}, make([]byte, 10))[:17])
	f.Fuzz(func(t *testing.T, b []byte) {
		again, err := frames(bytes.NewReader(b))
		if !bytes.HasPrefix(b, again) {
			t.Fatalf("%x was read as %x", b, again)
		}
		switch {
		case errors.Is(err, io.EOF):
			if len(again) != len(b) {
				t.Fatalf("%d of %d bytes were read, and no more is missed", len(again), len(b))
			}
		case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errFrame):
			if len(again) == len(b) {
				t.Fatalf("%v behind the last frame", err)
			}
		default:
			t.Fatal(err)
		}
	})
}
