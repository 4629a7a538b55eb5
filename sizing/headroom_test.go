package sizing_test

import (
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

func TestWithHeadroom(t *testing.T) {
	for _, c := range []struct {
		n       uint64
		percent int
		want    uint64
		err     error
	}{
		{1000, 0, 1000, nil},
		{1000, 50, 1500, nil},
		{1, 1, 2, nil}, // rounded up
		{0, 50, 0, nil},
		{1000, 1000, 11_000, nil},
		{1000, -1, 0, bloomery.ErrParameter},
		{1000, 1001, 0, bloomery.ErrParameter},
		{math.MaxUint64, 1, 0, bloomery.ErrTooLarge},
		{1 << 61, 1000, 0, bloomery.ErrTooLarge},
		{math.MaxUint64, 0, math.MaxUint64, nil},
	} {
		if got, err := sizing.WithHeadroom(c.n, c.percent); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("WithHeadroom(%d, %d) = %d, %v, want %d, %v", c.n, c.percent, got, err, c.want, c.err)
		}
	}
}
