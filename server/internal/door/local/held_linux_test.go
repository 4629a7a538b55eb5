package local_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// flags returns the flags of the mapping that holds an address.
func flags(t *testing.T, at *byte) string {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = f.Close() }()
	var address, from, to uint64
	if _, err := fmt.Sscanf(fmt.Sprintf("%p", at), "0x%x", &address); err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(f); s.Scan(); {
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x ", &from, &to); n == 2 {
			continue
		}
		if found, ok := strings.CutPrefix(s.Text(), "VmFlags: "); ok && from <= address && address < to {
			return found
		}
	}
	return ""
}

// TestLoadedFiltersAreOnHugePages asks for huge pages before a start fills the
// array of a large filter from a snapshot, and a moment after it has made one that the log makes.
func TestLoadedFiltersAreOnHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil {
		t.Skip("this system has none")
	}
	for _, saved := range []bool{false, true} {
		files := &folder.Memory{}
		state, d := open(t, files, local.Never)
		do(t, d, newBloom("large", 8_000_000)) // 9.6 MB
		if saved {
			if err := d.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
		state, d = same(t, files, state, d)
		if state.Mapped() < 9<<20 {
			t.Errorf("snapshot %v: %d bytes are mapped after a start", saved, state.Mapped())
		}
		_, chunk := contents.PartOf(state.Names.ByID(1)).Contents().ScanDump(1)
		huge := func() bool { return strings.Contains(flags(t, &chunk[len(chunk)/2])+" ", "hg ") }
		for end := time.Now().Add(time.Minute); !saved && !huge() && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
		if !huge() {
			t.Errorf("snapshot %v: the mapping has flags %q, want hg among them", saved, flags(t, &chunk[len(chunk)/2]))
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
