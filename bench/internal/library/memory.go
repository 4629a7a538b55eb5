package library

import (
	"reflect"
	"unsafe"
)

// Memory returns the memory of a filter's array, which libraries keep to
// themselves: a large array is filled at random, since adding a billion keys
// to each library would take hours. path names the unexported fields that
// lead to the slice.
func Memory(filter any, path ...string) []uint64 {
	v := reflect.ValueOf(filter)
	for _, name := range path {
		v = reflect.Indirect(v).FieldByName(name)
	}
	bytes := uintptr(v.Len()) * v.Type().Elem().Size()
	return unsafe.Slice((*uint64)(v.UnsafePointer()), bytes/8)
}
