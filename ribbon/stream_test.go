package ribbon_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/ribbon"
)

// disk is a Scratch in memory that can be full or broken.
type disk struct {
	mu      sync.Mutex
	data    []byte
	room    int64
	damaged bool
}

var errFull = errors.New("no space left on device")

func (d *disk) WriteAt(b []byte, at int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	end := at + int64(len(b))
	if end > d.room {
		return 0, errFull
	}
	if end > int64(len(d.data)) {
		d.data = append(d.data, make([]byte, end-int64(len(d.data)))...)
	}
	return copy(d.data[at:], b), nil
}

func (d *disk) ReadAt(b []byte, at int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at >= int64(len(d.data)) {
		return 0, io.EOF
	}
	n := copy(b, d.data[at:])
	if d.damaged {
		b[0] ^= 1
	}
	return n, nil
}

func newDisk() *disk { return &disk{room: 1 << 40} }

// A stream gives the bytes of a build in memory with as many shards.
func TestStream(t *testing.T) {
	hs := hashes(40_000, 1)
	twice := append(slices.Clone(hs), hs[:10_000]...)
	for _, c := range configs {
		if c.Shards == 0 {
			c.Shards = 1
		}
		want := encoded(t, built(t, c, hs))
		c.Scratch, c.Memory = newDisk(), 64<<20
		var buf bytes.Buffer
		n, err := c.Stream(t.Context(), slices.Values(twice)).WriteTo(&buf)
		if err != nil || n != int64(buf.Len()) {
			t.Fatalf("%d shards: WriteTo = %d, %v; %d bytes were written", c.Shards, n, err, buf.Len())
		}
		if !bytes.Equal(buf.Bytes(), want) {
			t.Errorf("%d shards of width %d at %g: the stream gives other bytes", c.Shards, c.Width, c.ErrorRate)
		}
	}
}

// With little memory there are more shards.
func TestStreamInLittleMemory(t *testing.T) {
	hs := hashes(100_000, 2)
	var read, done uint64
	c := ribbon.Config{ErrorRate: 0.01, Scratch: newDisk(), Memory: 1 << 20, Progress: func(r, b uint64) { read, done = r, b }}
	var buf bytes.Buffer
	if _, err := c.Stream(t.Context(), slices.Values(hs)).WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	f, err := ribbon.Config{}.Read(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if got := forgotten(f, hs); got > 0 {
		t.Errorf("%d keys forgotten", got)
	}
	if read != 100_000 || done != read {
		t.Errorf("progress ends with %d, %d", read, done)
	}
	if f.Stats().Items != 100_000 {
		t.Errorf("Stats() = %+v", f.Stats())
	}
}

func TestStreamEmpty(t *testing.T) {
	c := ribbon.Config{ErrorRate: 0.01, Scratch: newDisk()}
	var buf bytes.Buffer
	if _, err := c.Stream(t.Context(), slices.Values([]uint64(nil))).WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	if want := encoded(t, built(t, c, nil)); !bytes.Equal(buf.Bytes(), want) {
		t.Error("the empty stream gives other bytes than the empty build")
	}
}

func TestStreamFails(t *testing.T) {
	hs := hashes(100_000, 3)
	broken := errors.New("broken pipe")
	cancelled, cancel := context.WithCancel(context.Background())
	stopping := func(yield func(uint64) bool) {
		for i, h := range hs {
			if i == 70_000 {
				cancel()
			}
			if !yield(h) {
				return
			}
		}
	}
	good := func() ribbon.Config { return ribbon.Config{ErrorRate: 0.01, Scratch: newDisk(), Memory: 8 << 20} }
	for name, x := range map[string]struct {
		change func(c *ribbon.Config)
		ctx    context.Context
		seq    iter.Seq[uint64]
		w      io.Writer
		want   error
	}{
		"no scratch":          {change: func(c *ribbon.Config) { c.Scratch = nil }, want: bloomery.ErrParameter},
		"little memory":       {change: func(c *ribbon.Config) { c.Memory = 1000 }, want: bloomery.ErrParameter},
		"bad rate":            {change: func(c *ribbon.Config) { c.ErrorRate = 2 }, want: bloomery.ErrParameter},
		"shards too large":    {change: func(c *ribbon.Config) { c.Memory, c.Shards = 1<<20, 1 }, want: bloomery.ErrTooLarge},
		"shards too many":     {change: func(c *ribbon.Config) { c.Shards = 1 << 20 }, want: bloomery.ErrTooLarge},
		"disk full at once":   {change: func(c *ribbon.Config) { c.Scratch = &disk{} }, want: errFull},
		"disk full by hashes": {change: func(c *ribbon.Config) { c.Scratch = &disk{room: 500_000} }, want: errFull},
		"disk full by tables": {change: func(c *ribbon.Config) { c.Scratch = &disk{room: 810_000} }, want: errFull},
		"damaged disk":        {change: func(c *ribbon.Config) { c.Scratch = &disk{room: 1 << 40, damaged: true} }, want: bloomery.ErrCorrupt},
		"cancelled":           {ctx: cancelled, seq: stopping, want: context.Canceled},
		"writer fails":        {w: failing{broken}, want: broken},
	} {
		c := good()
		if x.change != nil {
			x.change(&c)
		}
		if x.ctx == nil {
			x.ctx = t.Context()
		}
		if x.seq == nil {
			x.seq = slices.Values(hs)
		}
		if x.w == nil {
			x.w = io.Discard
		}
		n, err := c.Stream(x.ctx, x.seq).WriteTo(x.w)
		if !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", name, err, x.want)
		}
		if n != 0 && name != "damaged disk" { // which is seen when it is read back
			t.Errorf("%s: %d bytes were written", name, n)
		}
	}
}

// failing is a writer that fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// A stream whose source fails says so by its context: nothing is written then.
func TestStreamTruncated(t *testing.T) {
	lost := errors.New("source lost")
	ctx, fail := context.WithCancelCause(t.Context())
	hs := hashes(1000, 12)
	truncated := func(yield func(uint64) bool) {
		for _, h := range hs[:500] {
			if !yield(h) {
				return
			}
		}
		fail(lost)
	}
	var out bytes.Buffer
	_, err := ribbon.Config{ErrorRate: 0.01, Scratch: newDisk()}.Stream(ctx, truncated).WriteTo(&out)
	if !errors.Is(err, lost) || out.Len() > 0 {
		t.Errorf("%v and %d bytes, want %v and none", err, out.Len(), lost)
	}
}
