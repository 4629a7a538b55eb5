package memory

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
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
