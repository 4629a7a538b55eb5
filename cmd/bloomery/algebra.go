// Union and intersection of filters of any kind.

package main

import (
	"fmt"
	"reflect"

	"github.com/bloomery/bloomery"
)

// operation changes a filter by another one.
type operation func(other bloomery.Hashed) error

// unionOf returns the operation that adds the keys of another filter, nil if
// the kind has none.
func unionOf(f bloomery.Hashed) operation {
	v := reflect.ValueOf(f)
	if union := operationOf(f, v.MethodByName("Union")); union != nil {
		return union
	}
	return operationOf(f, v.MethodByName("Merge"))
}

// intersectionOf returns the operation that keeps what is in another filter,
// too, nil if the kind has none.
func intersectionOf(f bloomery.Hashed) operation {
	return operationOf(f, reflect.ValueOf(f).MethodByName("Intersect"))
}

// operationOf makes an operation of a method that takes a filter of its own
// type, as all kinds spell it: no interface can say that, and a kind that comes
// needs no entry here.
func operationOf(f bloomery.Hashed, method reflect.Value) operation {
	own := reflect.TypeOf(f)
	if !method.IsValid() || method.Type() != reflect.FuncOf([]reflect.Type{own}, []reflect.Type{reflect.TypeFor[error]()}, false) {
		return nil
	}
	return func(other bloomery.Hashed) error {
		if reflect.TypeOf(other) != own {
			return kindsDiffer{f.Stats().Kind, other.Stats().Kind}
		}
		err, _ := reflect.TypeAssert[error](method.Call([]reflect.Value{reflect.ValueOf(other)})[0])
		return err
	}
}

// kindsDiffer is the error of an operation on filters of two kinds.
type kindsDiffer struct{ one, other string }

// Error implements error.
func (k kindsDiffer) Error() string {
	return fmt.Sprintf("%v: %s filter and %s filter", bloomery.ErrIncompatible, aKind(k.one), aKind(k.other))
}

// Unwrap returns ErrIncompatible.
func (k kindsDiffer) Unwrap() error { return bloomery.ErrIncompatible }
