// Flags for numbers, rates, sizes and seeds.

package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/bloomery/bloomery/internal/figures"
	"github.com/bloomery/bloomery/sizing"
)

// number is a flag that is read by one of the functions of package figures.
type number[T int | int64 | uint64 | float64] struct {
	value T
	text  string // as it was given, or the default
	kind  string
	parse func(string) (T, error)
}

var _ pflag.Value = (*number[uint64])(nil)

// Set implements pflag.Value.
func (v *number[T]) Set(s string) error {
	x, err := v.parse(s)
	if err != nil {
		return err
	}
	v.value, v.text = x, s
	return nil
}

// String implements pflag.Value.
func (v *number[T]) String() string { return v.text }

// Type implements pflag.Value.
func (v *number[T]) Type() string { return v.kind }

// countFlag is a flag for a number of things, at least 1, without a default.
func countFlag() number[uint64] { return newNumber("N", "", atLeastOne(figures.Count)) }

// rateFlag is a flag for a false positive rate; the default may be empty.
func rateFlag(text string) number[float64] { return newNumber("P", text, figures.Rate) }

// shareFlag is a flag for a number from 0 on.
func shareFlag(text string) number[float64] { return newNumber("X", text, figures.Share) }

// headroomFlag is a flag for percents that are added to a number of keys: 50 and 50% are
// the same.
func headroomFlag() number[int] {
	return newNumber("PERCENT", "", func(s string) (int, error) {
		n, err := strconv.Atoi(strings.TrimSuffix(s, "%"))
		if err != nil || n < 0 || n > sizing.MaxHeadroom {
			return 0, fmt.Errorf("%q is not a whole number of percent from 0 to %d", s, sizing.MaxHeadroom)
		}
		return n, nil
	})
}

// flagOf is a flag that sets a variable as package figures reads it.
type flagOf[T any] struct {
	to    *T
	kind  string
	parse func(string) (T, error)
}

// Set implements pflag.Value.
func (v flagOf[T]) Set(s string) error {
	x, err := v.parse(s)
	if err == nil {
		*v.to = x
	}
	return err
}

// String implements pflag.Value.
func (v flagOf[T]) String() string {
	if v.to == nil {
		return ""
	}
	if text := fmt.Sprint(*v.to); text != "0s" {
		return text
	}
	return "0" // as pflag writes no default
}

// Type implements pflag.Value.
func (v flagOf[T]) Type() string { return v.kind }

// durationVar defines a flag for a time: 90s, 1h30m, 7d.
func durationVar(f *pflag.FlagSet, to *time.Duration, name string, usual time.Duration, usage string) {
	*to = usual
	f.Var(flagOf[time.Duration]{to, "duration", figures.Duration}, name, usage)
}

// intVar defines a flag for a whole number: 1000, 10k.
func intVar(f *pflag.FlagSet, to *int, name, short string, usual int, usage string) {
	*to = usual
	f.VarP(flagOf[int]{to, "int", func(s string) (int, error) {
		n, err := figures.Count(s)
		if err == nil && n > math.MaxInt {
			err = fmt.Errorf("%q is too large", s)
		}
		return int(n), err
	}}, name, short, usage)
}

// amountVar defines a flag for a number that need not be whole: 0.5, 1k.
func amountVar(f *pflag.FlagSet, to *float64, name, usage string) {
	f.Var(flagOf[float64]{to, "float", figures.Amount}, name, usage)
}

// sizeFlag is a flag for an amount of memory, at least 1 byte.
func sizeFlag(text string) number[int64] { return newNumber("SIZE", text, atLeastOne(figures.Size)) }

// randomSeed asks for a seed that nobody can guess beforehand.
const randomSeed = "random"

// seedFlag is a flag for the seed of a hash.
func seedFlag() number[uint64] {
	return newNumber("S", "", func(s string) (uint64, error) {
		if s == randomSeed {
			return rand.Uint64(), nil
		}
		n, err := strconv.ParseUint(s, 0, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number from 0 to 2^64-1, and not random", s)
		}
		return n, nil
	})
}

// atLeastOne makes a function refuse 0, which would mean nothing, or something
// else than it says.
func atLeastOne[T int64 | uint64](parse func(string) (T, error)) func(string) (T, error) {
	return func(s string) (T, error) {
		n, err := parse(s)
		if err == nil && n < 1 {
			return 0, errors.New("must be at least 1")
		}
		return n, err
	}
}

func newNumber[T int | int64 | uint64 | float64](kind, text string, parse func(string) (T, error)) number[T] {
	v := number[T]{kind: kind, parse: parse}
	if text == "" {
		return v
	}
	if err := v.Set(text); err != nil {
		panic("bloomery: a default is wrong: " + err.Error()) // written in the program
	}
	return v
}
