package cuckoo_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cuckoo"
)

func TestConfigErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		config cuckoo.Config
		want   error
		say    string
	}{
		{"zero", cuckoo.Config{}, bloomery.ErrParameter, "capacity 0"},
		{"n negative", cuckoo.Config{Capacity: -1, ErrorRate: 0.01}, bloomery.ErrParameter, "capacity -1"},
		{"p zero", cuckoo.Config{Capacity: 10}, bloomery.ErrParameter, "rate 0"},
		{"p negative", cuckoo.Config{Capacity: 10, ErrorRate: -0.5}, bloomery.ErrParameter, "-0.5"},
		{"p one", cuckoo.Config{Capacity: 10, ErrorRate: 1}, bloomery.ErrParameter, "rate 1"},
		{"p NaN", cuckoo.Config{Capacity: 10, ErrorRate: math.NaN()}, bloomery.ErrParameter, "NaN"},
		{"p Inf", cuckoo.Config{Capacity: 10, ErrorRate: math.Inf(1)}, bloomery.ErrParameter, "Inf"},
		{"p too low", cuckoo.Config{Capacity: 10, ErrorRate: 1e-9}, bloomery.ErrParameter, "2e-09"},
		{"n largest", cuckoo.Config{Capacity: math.MaxInt, ErrorRate: 0.01}, bloomery.ErrTooLarge, ""},
		{"buckets too many", cuckoo.Config{Buckets: 1 << 56, Width: 8}, bloomery.ErrTooLarge, "memory"},
		{"buckets near overflow", cuckoo.Config{Buckets: math.MaxUint64, Width: 8}, bloomery.ErrTooLarge, ""},
		{"buckets beyond bits", cuckoo.Config{Buckets: 1 << 60, Width: 8}, bloomery.ErrTooLarge, "2^63"},
		{"buckets without width", cuckoo.Config{Buckets: 10}, bloomery.ErrParameter, "0 bits"},
		{"width without buckets", cuckoo.Config{Width: 8}, bloomery.ErrParameter, "0 buckets"},
		{"width 3", cuckoo.Config{Buckets: 10, Width: 3}, bloomery.ErrParameter, "3 bits"},
		{"width 31", cuckoo.Config{Buckets: 10, Width: 31}, bloomery.ErrParameter, "31 bits"},
		{"width 33", cuckoo.Config{Buckets: 10, Width: 33}, bloomery.ErrParameter, "33 bits"},
		{"width negative", cuckoo.Config{Buckets: 10, Width: -8}, bloomery.ErrParameter, "-8 bits"},
		{"shape and rate", cuckoo.Config{Buckets: 10, Width: 8, ErrorRate: 0.1}, bloomery.ErrParameter, "0.1"},
		{"shape and negative n", cuckoo.Config{Buckets: 10, Width: 8, Capacity: -1}, bloomery.ErrParameter, "capacity -1"},
		{"shape and too many", cuckoo.Config{Buckets: 10, Width: 8, Capacity: 41}, bloomery.ErrParameter, "40 slots"},
	} {
		f, err := c.config.New()
		if err == nil || f != nil {
			t.Errorf("%s: got a filter, want an error", c.name)
			continue
		}
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say) || !strings.HasPrefix(err.Error(), "cuckoo: new: ") {
			t.Errorf("%s: %q, want %q with %q", c.name, err, c.want, c.say)
		}
	}
}

func TestNewPanicsWithASentence(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("New panicked with %v, want an ErrParameter", err)
		}
	}()
	cuckoo.New(0, 0.01)
	t.Error("New did not panic")
}

func TestGivenShape(t *testing.T) {
	f, err := cuckoo.Config{Buckets: 101, Width: 9, Capacity: 300}.New()
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Shape(); s.Buckets != 102 || s.Width != 9 {
		t.Errorf("Shape() = %+v, want 102 buckets and 9 bits", s)
	}
	if got, want := f.Stats().Asked, f.Shape().Rate(300); got != want {
		t.Errorf("Asked = %g, want the rate at capacity, %g", got, want)
	}
}

func TestAlloc(t *testing.T) {
	var arena []byte
	give := func(n int) ([]byte, error) {
		arena = make([]byte, n+64)
		return arena[:n+8], nil // more than asked for is fine
	}
	f, err := cuckoo.Config{Capacity: 1000, ErrorRate: 0.01, Alloc: give}.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.InsertHash(12345678901234567890); err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, b := range arena {
		if b != 0 {
			used++
		}
	}
	if used == 0 {
		t.Error("nothing was written to the memory that Alloc gave")
	}
	refuse := errors.New("no more")
	for name, alloc := range map[string]func(int) ([]byte, error){
		"refuses":    func(int) ([]byte, error) { return nil, refuse },
		"too little": func(n int) ([]byte, error) { return make([]byte, n)[:n-1], nil },
		"misaligned": func(n int) ([]byte, error) { return make([]byte, n+1)[1:], nil },
	} {
		f, err := cuckoo.Config{Capacity: 1000, ErrorRate: 0.01, Alloc: alloc}.New()
		if f != nil || err == nil || name == "refuses" && !errors.Is(err, refuse) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}
