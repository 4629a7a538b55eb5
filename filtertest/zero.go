package filtertest

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
)

// mutators are the names of all methods that change a filter.
var mutators = []string{
	"Add", "AddString", "AddHash", "AddHashes", "AddKeys", "AddSeq",
	"Insert", "InsertString", "InsertHash", "InsertHashes", "InsertKeys", "InsertSeq",
	"Delete", "DeleteString", "DeleteHash",
	"Union", "Intersect", "Merge", "Resize", "Clear", "Advance",
	"AddColumn", "ClearColumn", "RemoveColumn", "ReplaceColumn",
}

// Zero tests the law of zero values: zero, a pointer to a filter that no constructor
// made, contains nothing, has no encoding, and panics with the name of the
// constructor when it is changed.
func Zero(t *testing.T, zero any, constructor string) {
	t.Helper()
	v := reflect.ValueOf(zero)
	for m := range v.Methods() {
		switch m.Name {
		case "Contains", "ContainsString", "ContainsHash":
			for _, result := range try(t, v, m.Name) {
				if result.Kind() == reflect.Bool && result.Bool() {
					t.Errorf("%T: %s of a zero value is true", zero, m.Name)
				}
			}
		case "ContainsHashes", "ContainsKeys":
			dst := []bool{true}
			call(v, m.Name, dst)
			if dst[0] {
				t.Errorf("%T: %s of a zero value sets dst to true", zero, m.Name)
			}
		case "MarshalBinary", "AppendBinary", "WriteTo":
			if err := lastError(try(t, v, m.Name)); !errors.Is(err, bloomery.ErrParameter) {
				t.Errorf("%T: %s of a zero value: %v, want ErrParameter", zero, m.Name, err)
			}
		case "Verify":
			if err := lastError(try(t, v, m.Name)); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Errorf("%T: Verify of a zero value: %v, want ErrCorrupt", zero, err)
			}
		case "Stats", "Count", "CountString", "CountHash", "Saturation", "EstimateCount", "All", "Clone", "Hash":
			try(t, v, m.Name)
		}
	}
	for _, name := range mutators {
		if !v.MethodByName(name).IsValid() {
			continue
		}
		switch got := panics(func() { call(v, name, nil) }); {
		case got == nil:
			t.Errorf("%T: %s of a zero value does not panic", zero, name)
		case !strings.Contains(fmt.Sprint(got), constructor):
			t.Errorf("%T: %s of a zero value panics with %v, want the name of %s", zero, name, got, constructor)
		}
	}
}

// try calls a method and reports a panic.
func try(t *testing.T, v reflect.Value, name string) (results []reflect.Value) {
	t.Helper()
	if got := panics(func() { results = call(v, name, nil) }); got != nil {
		t.Errorf("%v: %s of a zero value panics: %v", v.Type(), name, got)
	}
	return results
}

// panics returns what f panics with, nil if it does not.
func panics(f func()) (got any) {
	defer func() { got = recover() }()
	f()
	return nil
}

// call calls a method with arguments that fit its types.
func call(v reflect.Value, name string, dst []bool) []reflect.Value {
	m := v.MethodByName(name)
	in := make([]reflect.Value, m.Type().NumIn())
	for i := range in {
		in[i] = argument(m.Type().In(i), dst)
	}
	return m.Call(in)
}

// argument returns one key, as whatever type it is asked for.
func argument(t reflect.Type, dst []bool) reflect.Value {
	for _, x := range []any{
		dst, []byte("key"), "key", uint64(42), []uint64{42}, [][]byte{[]byte("key")}, 1,
		iter.Seq[[]byte](func(yield func([]byte) bool) { yield([]byte("key")) }),
	} {
		if reflect.TypeOf(x) == t {
			return reflect.ValueOf(x)
		}
	}
	if t.Kind() == reflect.Pointer {
		return reflect.New(t.Elem()) // another zero filter
	}
	return reflect.Zero(t)
}

// lastError returns the last result of a call if that is an error.
func lastError(results []reflect.Value) error {
	if len(results) == 0 {
		return nil
	}
	err, _ := reflect.TypeAssert[error](results[len(results)-1])
	return err
}
