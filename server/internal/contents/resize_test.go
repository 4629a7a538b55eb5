package contents

import (
	"errors"
	"testing"

	bloomfilter "github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
)

// TestFoldedOfWhatIsGone folds small and large parts whose arrays were given back: nothing reads them any more.
func TestFoldedOfWhatIsGone(t *testing.T) {
	for _, items := range []int{10_000, 500_000, 5_000_000} {
		var s Supply
		s.Init()
		outline, err := codec.AppendOutline(nil, bloomfilter.New(items, 0.01))
		if err != nil {
			t.Fatal(err)
		}
		p := NewPart(made(t, &s, outline))
		p.Leave(false)
		if f, err := p.Folded(); f != nil || !errors.Is(err, ErrRetry) {
			t.Errorf("a filter of %d items that is gone: %v, %v, want ErrRetry", items, f, err)
		}
	}
}
