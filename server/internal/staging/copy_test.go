package staging

import (
	"errors"
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// between is a Run that calls a function between two pieces.
type between struct {
	Run
	do func() (stop bool)
}

func (b between) Stopped() bool { return b.do() }

// TestCopyOfDigest copies a large digest whose lock others get between all pieces. Values that they add do not make the
// copy begin again, nor hold the lock; it does begin again when they reset or compress the digest, and ends with its client.
func TestCopyOfDigest(t *testing.T) {
	const pieces = 6
	values := make([]float64, pieces*copiedNodes)
	for i := range values {
		values[i] = float64(i*7919%len(values)) + 1
	}
	for _, tt := range []struct {
		name  string
		at    int // before this piece
		do    func(*redisbloom.TDigest)
		turns int
		items int64
		least float64
	}{
		{"added to", 0, func(*redisbloom.TDigest) {}, pieces - 1, int64(len(values)), 1},
		{"compressed", 3, (*redisbloom.TDigest).Compress, 3, int64(len(values)) + 3, -3},
		{"reset", 2, func(d *redisbloom.TDigest) {
			d.Reset()
			_ = d.Add(values[:2*copiedNodes]...)
		}, 3, 2 * copiedNodes, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := store.New()
			d, err := s.NewDigest(redisbloom.TDigestParams{Compression: int64(len(values))})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Add(values...); err != nil {
				t.Fatal(err)
			}
			p, turns := contents.NewPart(contents.Digest(d)), 0
			a := Area{state: s, run: between{do: func() bool {
				p.Lock()
				defer p.Unlock()
				turns++
				if err := d.Add(-float64(turns)); err != nil {
					t.Error(err)
				}
				p.Raise()
				if turns == tt.at {
					tt.do(d)
				}
				return false
			}}}
			r, err := a.compressed(p)
			if err != nil {
				t.Fatal(err)
			}
			if r.Digest.Observations() != tt.items || r.Digest.Min() != tt.least || turns != tt.turns {
				t.Errorf("%d values from %v on were copied, and others had %d turns; want %d from %v on, %d turns",
					r.Digest.Observations(), r.Digest.Min(), turns, tt.items, tt.least, tt.turns)
			}
			if d.Compressed() {
				return
			}
			a.run = between{do: func() bool { return true }}
			if _, err := a.compressed(p); !errors.Is(err, errStopped) {
				t.Errorf("the copy for a client that is gone: %v", err)
			}
		})
	}
}
