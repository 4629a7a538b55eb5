package memory

import (
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/bloomery/bloomery"
)

// MapFrom is the size from which Map asks the system for an array of its own:
// below it, a system call for each array and a page that is not full would cost
// more than the heap. Parts of filters that are spread over nodes are larger: on the heap, the
// collector would let as much garbage lie beside them as they take.
const MapFrom = 256 << 10

// Map returns an array of zero bytes outside of the Go heap if it has 256 KiB or
// more and the system can do that, and one on the heap otherwise. The collector
// does not count it, pages take memory when they are first touched, and Unmap
// returns them at once. Memory that cannot be had is an error that wraps
// ErrTooLarge, where the heap would end the process; a negative number is one
// that wraps ErrParameter. Map is an [Alloc].
func Map(bytes int) ([]byte, error) { return mapOn(bytes, adviseHuge) }

// mapSmall is Map on pages of the usual size.
func mapSmall(bytes int) ([]byte, error) { return mapOn(bytes, adviseSmall) }

func mapOn(bytes int, advise func([]byte)) ([]byte, error) {
	if bytes < 0 {
		return nil, fmt.Errorf("memory: map: %w: %d bytes", bloomery.ErrParameter, bytes)
	}
	if err := Fits(uint64(bytes)); err != nil {
		return nil, fmt.Errorf("memory: map: %w", err)
	}
	if bytes < MapFrom {
		return Bytes(bytes), nil
	}
	b, err := mapped(bytes)
	if err != nil {
		return nil, fmt.Errorf("memory: map: %w: %d bytes: %w", bloomery.ErrTooLarge, bytes, err)
	}
	advise(b) // it begins with a whole huge page
	return b, nil
}

// touchStep is how much Touch asks the system for at a time: a huge page, which takes 0.4 to 5 milliseconds.
const touchStep = 2 << 20

// touching has one goroutine at a time make pages: many would take all processors from others.
var touching sync.Mutex // guards nothing

// Touch has the system make the pages of an array that Map has returned, huge ones where there can be, as the first write to
// each of them would, and leaves what is in them. That takes 0.3 to 2 seconds for each GiB, and almost
// no time for pages that are there. Touch calls stop, if it is not nil, before every 2 MiB; if stop returns
// true, Touch ends and returns false. It does nothing for arrays on the heap, or on systems that cannot do
// it; Linux can since 5.14.
//
// The array may be unmapped meanwhile. What is mapped there next gets its pages early and is not changed.
func Touch(b []byte, stop func() bool) bool {
	if len(b) < MapFrom {
		return true
	}
	return inSteps(b, stop, func(b []byte) bool {
		moveHuge(b)
		return touch(b)
	})
}

// Gather moves to huge pages what was written or read of an array that Map has returned. The rest takes no memory. It asks
// stop as Touch does, and as there the array may be unmapped meanwhile.
func Gather(b []byte, stop func() bool) bool {
	if len(b) < MapFrom {
		return true
	}
	return inSteps(b, stop, func(b []byte) bool {
		moveHuge(b)
		return true
	})
}

// moveHuge moves what there is of a step to huge pages, and has the rest made on them. To ask the system to move nothing takes
// long, too: it waits for all processors first.
func moveHuge(b []byte) {
	adviseHuge(b)
	if resident(b) {
		collapseHuge(b)
	}
}

// inSteps calls do for one part of an array after the other, until do returns false. It returns false if stop ends it. After each
// it pauses: the system runs nobody else on a processor that clears or moves a huge page, and a client that waits for its reply
// needs a processor several times.
func inSteps(b []byte, stop func() bool, do func([]byte) bool) bool {
	for len(b) > 0 {
		if stop != nil && stop() {
			return false
		}
		n := len(b)
		if n > touchStep { // whole huge pages follow
			n = touchStep - int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))%touchStep)
		}
		touching.Lock()
		began := time.Now()
		done := do(b[:n])
		took := time.Since(began)
		touching.Unlock()
		if !done {
			return true
		}
		if b = b[n:]; took > time.Millisecond/8 {
			time.Sleep(took / 2)
		}
	}
	return true
}

// Unmap gives back an array that Map returned, as it was returned: nothing may
// use it from then on. What lies on the heap is left to the collector. Any
// other array of 256 KiB or more is an error that wraps ErrParameter.
func Unmap(b []byte) error {
	if len(b) < MapFrom {
		return nil
	}
	if err := unmapped(b); err != nil {
		return fmt.Errorf("memory: unmap: %w: %d bytes: %w", bloomery.ErrParameter, len(b), err)
	}
	return nil
}
