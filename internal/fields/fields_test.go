package fields_test

import (
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/fields"
)

func TestOnly(t *testing.T) {
	type config struct {
		_     struct{}
		A     int
		B     float64
		Alloc func()
	}
	for _, c := range []struct {
		config config
		used   []string
		want   string
	}{
		{config{}, nil, ""},
		{config{A: 1, B: 2}, []string{"A", "B"}, ""},
		{config{A: -1}, []string{"B"}, "bad parameter: A is set, which New does not use"},
		{config{B: math.NaN()}, []string{"A"}, "bad parameter: B is set, which New does not use"},
		{config{Alloc: func() {}}, []string{"A", "B"}, "bad parameter: Alloc is set, which New does not use"},
	} {
		switch err := fields.Only(c.config, "New", c.used...); {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v", c, err)
		case c.want != "" && (!errors.Is(err, bloomery.ErrParameter) || err.Error() != c.want):
			t.Errorf("%+v: %v, want %s", c, err, c.want)
		}
	}
}
