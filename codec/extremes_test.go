package codec_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/cuckoo"
)

// TestLargestSizes asks that a size which is rounded up past the largest number is too
// large, and not 0.
func TestLargestSizes(t *testing.T) {
	failed := func(_ any, err error) error { return err }
	for _, n := range []uint64{math.MaxUint64, math.MaxUint64 - 7, math.MaxUint64 - 511, 1<<63 + 1} {
		b, c := bloom.Config{Bits: n, Hashes: 7}, counting.Config{Bits: n, Hashes: 7}
		eight := bloom.Config{Bits: n, Hashes: 8}
		folds := bloom.Config{Bits: n, Hashes: 8, Foldable: true}
		for name, err := range map[string]error{
			"bloom": failed(b.New()), "standard": failed(b.NewStandard()), "partitioned": failed(b.NewPartitioned()),
			"split": failed(eight.NewSplit()), "concurrent": failed(b.NewConcurrent()),
			"foldable": failed(folds.New()), "foldable standard": failed(folds.NewStandard()),
			"counting": failed(c.New()), "spectral": failed(c.NewSpectral()), "stable": failed(counting.Config{Capacity: 9, Bits: n, Hashes: 7}.NewStable()),
			"cuckoo": failed(cuckoo.Config{Buckets: n, Width: 8}.New()),
		} {
			if !errors.Is(err, bloomery.ErrTooLarge) || strings.Contains(err.Error(), " 0 ") {
				t.Errorf("%s of size %d: %v, want ErrTooLarge", name, n, err)
			}
		}
	}
}
