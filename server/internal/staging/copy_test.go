package staging

import (
	"errors"
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// during is a Run that does something while a digest is copied.
type during struct {
	Run
	do func() (stop bool)
}

func (d during) Stopped() bool { return d.do() }

// TestCopyOfDigest copies a digest whose lock others get meanwhile. Whatever they do with it, the copy is the digest of
// the moment at which it began; it ends with its client. Memory that only it needs is counted.
func TestCopyOfDigest(t *testing.T) {
	values := make([]float64, 50_000)
	for i := range values {
		values[i] = float64(i*7919%len(values)) + 1
	}
	for name, change := range map[string]func(*redisbloom.TDigest){
		"added to":   func(*redisbloom.TDigest) {},
		"compressed": (*redisbloom.TDigest).Compress,
		"reset":      (*redisbloom.TDigest).Reset,
		"released":   (*redisbloom.TDigest).Release,
	} {
		t.Run(name, func(t *testing.T) {
			s := store.New()
			d, err := s.NewDigest(redisbloom.TDigestParams{Compression: int64(len(values))})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Add(values...); err != nil {
				t.Fatal(err)
			}
			p := contents.NewPart(contents.Digest(d))
			a := Area{state: s, run: during{do: func() bool { return true }}}
			if _, err := a.compressed(p); !errors.Is(err, errStopped) {
				t.Errorf("the copy for a client that is gone: %v", err)
			}
			a.run = during{do: func() bool {
				p.Lock()
				defer p.Unlock()
				if err := d.Add(-1); err != nil {
					t.Error(err)
				}
				change(d)
				return false
			}}
			r, err := a.compressed(p)
			if err != nil {
				t.Fatal(err)
			}
			if n := r.Digest.Observations(); n != int64(len(values)) || r.Digest.Min() != 1 || !r.Digest.Compressed() {
				t.Errorf("%d values from %v on were copied, want %d from 1 on", n, r.Digest.Min(), len(values))
			}
			r.Digest.Release()
			if s.Copied() != 0 {
				t.Errorf("%d bytes are counted for copies that have ended", s.Copied())
			}
		})
	}
}
