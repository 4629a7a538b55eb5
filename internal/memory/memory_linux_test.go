package memory

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestPhysical compares with what the kernel shows in files, and with a limit of
// addresses, which ulimit -v sets.
func TestPhysical(t *testing.T) {
	file, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Skip(err)
	}
	var kb uint64
	if _, err := fmt.Sscanf(string(file), "MemTotal: %d kB", &kb); err != nil {
		t.Fatal(err)
	}
	all := physical()
	if all == 0 || all > kb<<10 {
		t.Fatalf("physical() = %d, want up to %d", all, kb<<10)
	}
	if got, want := Limit(), min(all, largest); got != want {
		t.Errorf("Limit() = %d, want %d", got, want)
	}
	file, err = os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	var pages uint64
	if _, err := fmt.Sscan(string(file), &pages); err != nil {
		t.Fatal(err)
	}
	limit := all - 1<<20
	if pages*uint64(os.Getpagesize())+1<<30 > limit {
		t.Skip("this process has taken nearly as many addresses as there is memory")
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: before.Max}); err != nil {
		t.Skip(err)
	}
	got := physical()
	if err := unix.Setrlimit(unix.RLIMIT_AS, &before); err != nil {
		t.Fatal(err)
	}
	if mapped := pages * uint64(os.Getpagesize()); got > limit-mapped/2 || got+mapped+1<<30 < limit {
		t.Errorf("physical() = %d, want the limit of addresses, %d, less those that are mapped, about %d", got, limit, mapped)
	}
}

// TestWholePages cuts arrays that begin and end at and beside huge pages.
func TestWholePages(t *testing.T) {
	b, err := Map(4 * hugePage)
	if err != nil {
		t.Fatal(err)
	}
	at := int(-uintptr(unsafe.Pointer(&b[0])) % hugePage) // where the first one begins
	end := (len(b) - at) &^ (hugePage - 1)
	for name, c := range map[string]struct{ from, to, first, last int }{
		"whole":           {at, at + end, at, at + end},
		"a byte before":   {at + hugePage - 1, at + end, at + hugePage, at + end},
		"a byte behind":   {at + 1, at + 2*hugePage + 1, at + hugePage, at + 2*hugePage},
		"two bytes less":  {at, at + 2*hugePage - 2, at, at + hugePage},
		"one page":        {at, at + hugePage, at, at + hugePage},
		"less than one":   {at, at + hugePage - 1, 0, 0},
		"between two":     {at + hugePage - 10, at + hugePage + 10, 0, 0},
		"within one":      {at + 10, at + 20, 0, 0},
		"nothing":         {at, at, 0, 0},
		"a byte too late": {at + 1, at + hugePage + 1, 0, 0},
	} {
		got := wholePages(b[c.from:c.to])
		if len(got) != c.last-c.first || len(got) > 0 && &got[0] != &b[c.first] {
			t.Errorf("%s: %d bytes, want those from %d to %d", name, len(got), c.first, c.last)
		}
	}
	if err := Unmap(b); err != nil {
		t.Errorf("Unmap: %v", err)
	}
}

// TestHugePagesAreAskedFor looks for the flag that the kernel sets when it was
// asked, in the middle of arrays.
func TestHugePagesAreAskedFor(t *testing.T) {
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || strings.Contains(string(mode), "[never]") {
		t.Skip("no huge pages here")
	}
	large, err := Map(16 << 20)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		array []byte
		asked bool
	}{
		"Map": {large, true}, "Words": {bytesOf(Words(2 << 20)), true},
	} {
		if flags := flagsAt(t, uintptr(unsafe.Pointer(&c.array[len(c.array)/2]))); strings.Contains(flags, " hg") != c.asked {
			t.Errorf("%s: the flags of the mapping are %q, want hg among them: %v", name, flags, c.asked)
		}
	}
	if err := Unmap(large); err != nil {
		t.Errorf("Unmap: %v", err)
	}
}

// flagsAt returns the flags of the mapping that an address lies in.
func flagsAt(t *testing.T, at uintptr) string {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	inside := false
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x", &from, &to); n == 2 {
			inside = from <= at && at < to
		} else if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			return flags
		}
	}
	t.Skip("this kernel does not show flags")
	return ""
}
