package memory

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestMapTakesHugePages touches mapped arrays and asks Linux what they lie on: all
// whole huge pages that fit into them, and no memory behind their end.
func TestMapTakesHugePages(t *testing.T) {
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || strings.Contains(string(mode), "[never]") {
		t.Skip("no huge pages here")
	}
	for _, n := range []int{mapStep, mapStep + 4096, 2*mapStep - 1, 2*mapStep + mapStep/2, 7*mapStep + 1} {
		b, err := Map(n)
		if err != nil {
			t.Fatal(err)
		}
		at := uintptr(unsafe.Pointer(&b[0]))
		if at%mapStep != 0 {
			t.Skip("this kernel places mappings anywhere")
		}
		for i := 0; i < n; i += 4096 {
			b[i] = 1
		}
		huge, all := pagesOf(t, at, at+uintptr(reach(n)))
		t.Logf("%d bytes: %d in memory, %d on huge pages", n, all, huge)
		if all > n+4095 {
			t.Errorf("an array of %d bytes takes %d", n, all)
		}
		if want := n / mapStep * mapStep; huge != want && huge != 0 { // 0: the system has none left
			t.Errorf("an array of %d bytes: %d of them on huge pages, want %d", n, huge, want)
		}
		if err := Unmap(b); err != nil {
			t.Errorf("Unmap of %d bytes: %v", n, err)
		}
	}
}

// pagesOf returns the bytes in memory of the mappings within [from, to), and how
// many of them are on huge pages.
func pagesOf(t *testing.T, from, to uintptr) (huge, all int) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	inside := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var a, b uintptr
		var kb int
		line := lines.Text()
		if n, _ := fmt.Sscanf(line, "%x-%x", &a, &b); n == 2 {
			inside = a >= from && b <= to
		} else if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kb); n == 1 && inside {
			all += kb << 10
		} else if n, _ := fmt.Sscanf(line, "AnonHugePages: %d kB", &kb); n == 1 && inside {
			huge += kb << 10
		}
	}
	return huge, all
}

// TestTouch has the pages of an array made, first up to a stop, then all, and checks that what is in
// them stays.
func TestTouch(t *testing.T) {
	const n = 6*touchStep + 12345
	b, err := Map(n)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = Unmap(b) }()
	inMemory := func() (bytes int) {
		page := os.Getpagesize()
		there := make([]byte, (n+page-1)/page)
		if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), n, uintptr(unsafe.Pointer(&there[0]))); errno != 0 {
			t.Fatal(errno)
		}
		for _, v := range there {
			bytes += int(v&1) * page
		}
		return bytes
	}
	b[0], b[touchStep+1], b[n-1] = 1, 2, 3
	if !touch(b[:4096]) {
		t.Skip("this kernel does not make pages when it is asked to")
	}
	before, asked := inMemory(), 0
	if Touch(b, func() bool { asked++; return asked > 4 }) {
		t.Error("Touch that was stopped = true")
	}
	if got := inMemory(); asked != 5 || got < before+2*touchStep || got > 6*touchStep {
		t.Errorf("stopped at question %d: %d bytes in memory, before %d", asked, got, before)
	}
	if !Touch(b, func() bool { return false }) {
		t.Error("Touch = false")
	}
	if got := inMemory(); got < n {
		t.Errorf("%d bytes of %d in memory", got, n)
	}
	sum := 0
	for _, v := range b {
		sum += int(v)
	}
	if sum != 6 || b[0] != 1 || b[touchStep+1] != 2 || b[n-1] != 3 {
		t.Error("Touch has changed the array")
	}
	if !Touch(make([]byte, 100), func() bool { t.Error("Touch has looked at a small array"); return true }) {
		t.Error("Touch of a small array = false")
	}
}

// TestStepsCoverHugePages goes through an array that begins in the middle of a huge page: each step behind the first covers whole ones.
func TestStepsCoverHugePages(t *testing.T) {
	b, err := Map(4 * touchStep)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = Unmap(b) }()
	from := touchStep - int(uintptr(unsafe.Pointer(&b[0]))%touchStep) + 4096
	var steps []int
	inSteps(b[from:from+2*touchStep], nil, func(b []byte) bool {
		steps = append(steps, len(wholePages(b)))
		return true
	})
	if want := []int{0, touchStep, 0}; !slices.Equal(steps, want) {
		t.Errorf("steps over %v bytes of whole huge pages, want %v", steps, want)
	}
}

// TestResident asks which steps of an array have pages in memory: only those have to be moved.
func TestResident(t *testing.T) {
	b, err := Map(3 * touchStep)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = Unmap(b) }()
	adviseSmall(b)
	b[touchStep+touchStep/2] = 1
	for i, want := range []bool{false, true, false} {
		if got := resident(b[i*touchStep : (i+1)*touchStep]); got != want {
			t.Errorf("step %d has pages in memory: %v, want %v", i, got, want)
		}
	}
}
