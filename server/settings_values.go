package server

// What values of settings look like, and how they are read and written.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery/internal/figures"
)

// Kind is what the values of a Setting look like.
type Kind uint8

// The kinds.
const (
	KindString   Kind = iota
	KindList          // strings, with commas between them
	KindBool          // true or false
	KindInt           // a whole number
	KindFloat         // a number
	KindBytes         // 512MiB
	KindDuration      // 1m30s
)

// String returns the name of the kind: string, list and so on.
func (k Kind) String() string {
	names := [...]string{"string", "list", "bool", "int", "float", "bytes", "duration"}
	if int(k) >= len(names) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return names[k]
}

// bare reports whether values are without quotes in a configuration file.
func (k Kind) bare() bool { return k == KindBool || k == KindInt || k == KindFloat }

// setting makes a setting of a field, with a way to write and to read values.
func setting[T any](name string, kind Kind, value T, help string, field func(*Config) *T, format func(T) string, parse func(string) (T, error)) Setting {
	return Setting{
		Name: name, Redis: name, Kind: kind, Default: format(value), Help: help,
		get: func(c *Config) string { return format(*field(c)) },
		set: func(c *Config, text string) error {
			v, err := parse(text)
			if err == nil {
				*field(c) = v
			}
			return err
		},
	}
}

func text(name, value, help string, field func(*Config) *string) Setting {
	return setting(name, KindString, value, help, field, func(s string) string { return s }, func(s string) (string, error) { return s, nil })
}

// word is a value of a setting that takes few, and how it is written.
type word[T comparable] struct {
	text  string
	value T
}

// oneOf makes a setting that takes few words. Its default is the zero value.
func oneOf[T comparable](name, help string, field func(*Config) *T, words ...word[T]) Setting {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	var usual T
	s := setting(name, KindString, usual, help, field, func(v T) string { return written(words, v) }, func(s string) (T, error) {
		if i := slices.Index(texts, s); i >= 0 {
			return words[i].value, nil
		}
		last := len(texts) - 1
		return usual, fmt.Errorf("%q: want %s or %s", s, strings.Join(texts[:last], ", "), texts[last])
	})
	s.Values = texts
	return s
}

// written returns the word of a value, or the value itself if it has none.
func written[T comparable](words []word[T], v T) string {
	for _, w := range words {
		if w.value == v {
			return w.text
		}
	}
	return fmt.Sprint(v)
}

func listSetting(name, value, help string, field func(*Config) *[]string) Setting {
	split := func(s string) ([]string, error) {
		return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }), nil
	}
	first, _ := split(value)
	return setting(name, KindList, first, help, field, func(s []string) string { return strings.Join(s, ",") }, split)
}

func boolSetting(name string, value bool, help string, field func(*Config) *bool) Setting {
	return setting(name, KindBool, value, help, field, strconv.FormatBool, func(s string) (bool, error) {
		v, err := strconv.ParseBool(s)
		if err != nil {
			err = fmt.Errorf("%q is neither true nor false", s)
		}
		return v, err
	})
}

func intSetting[T int | int64](name string, value T, help string, field func(*Config) *T) Setting {
	return setting(name, KindInt, value, help, field, func(v T) string { return strconv.FormatInt(int64(v), 10) }, func(s string) (T, error) {
		v, err := figures.Count(s)
		if n := T(v); err == nil && (n < 0 || uint64(n) != v) {
			err = fmt.Errorf("%q is too large", s)
		}
		return T(v), err
	})
}

func defaultOf(name string, value int64, help string, field func(*Defaults) *int64) Setting {
	return intSetting(name, value, help, func(c *Config) *int64 { return field(&c.Defaults) }).redis(name).live()
}

// expansionOf makes a setting of an expansion, in which 0 means that filters do not grow.
func expansionOf(name string, value int64, help string, field func(*Defaults) (expansion *int64, none *bool)) Setting {
	s := defaultOf(name, value, help, func(d *Defaults) *int64 {
		expansion, _ := field(d)
		return expansion
	})
	get, set := s.get, s.set
	s.get = func(c *Config) string {
		switch expansion, none := field(&c.Defaults); {
		case *none:
			return "0"
		case *expansion == 0:
			return s.Default
		}
		return get(c)
	}
	s.set = func(c *Config, text string) error {
		err := set(c, text)
		if expansion, none := field(&c.Defaults); err == nil {
			*none = *expansion == 0
		}
		return err
	}
	return s
}

func floatSetting(name string, value float64, help string, field func(*Config) *float64) Setting {
	return setting(name, KindFloat, value, help, field, func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }, figures.Share)
}

func durationSetting(name string, value time.Duration, help string, field func(*Config) *time.Duration) Setting {
	return setting(name, KindDuration, value, help, field, time.Duration.String, figures.Duration)
}

func bytesSetting[T int | int64](name string, value T, help string, field func(*Config) *T) Setting {
	return setting(name, KindBytes, value, help, field, func(v T) string { return formatBytes(int64(v)) }, func(s string) (T, error) {
		v, err := figures.Size(s)
		if err == nil && int64(T(v)) != v {
			err = fmt.Errorf("%q is too large", s)
		}
		return T(v), err
	})
}

// formatBytes writes an amount of memory in the largest unit that it is a whole
// number of.
func formatBytes(n int64) string {
	units := []string{"", "KiB", "MiB", "GiB", "TiB"}
	unit := 0
	for n > 0 && n%1024 == 0 && unit < len(units)-1 {
		n /= 1024
		unit++
	}
	return strconv.FormatInt(n, 10) + units[unit]
}
