package keys_test

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

func TestDumpFormat(t *testing.T) {
	if got := rdb.Checksum([]byte("123456789")); got != 0xe9c6d914c4b8d9ca {
		t.Errorf("checksum = %x, want e9c6d914c4b8d9ca", got)
	}
	// "aaaaaaaaaaaaaaaaaaaaaaaa" as Redis packs it: one literal, one copy.
	if got, ok := rdb.UnpackLZF([]byte{0, 'a', 0xe0, 14, 0}, 24); !ok || string(got) != strings.Repeat("a", 24) {
		t.Errorf("unpackLZF = %q, %t", got, ok)
	}
	b := commandtest.New(t, 1<<30)
	for _, tt := range []struct{ payload, want string }{
		{"", "-ERR DUMP payload version or checksum are wrong"},
		{"0123456789", "-ERR DUMP payload version or checksum are wrong"},
		{string(rdb.AppendFooter([]byte{7, 1, 2, 3})), "-ERR Bad data format"},
		{string(rdb.AppendFooter([]byte{4, 1, 'a'})), "-ERR Bad data format"},
		{string(rdb.AppendFooter([]byte{0, 1, 'a'})), "+OK"},
	} {
		if got := b.Do("RESTORE", "k", "0", tt.payload); got != tt.want {
			t.Errorf("RESTORE of %q = %s, want %s", tt.payload, got, tt.want)
		}
	}
	if got := b.Line("GET k"); got != `"a"` {
		t.Errorf("GET of a restored string = %s", got)
	}
	if got := b.Do("RESTORE", "k", "0", string(rdb.AppendFooter([]byte{0, 0}))); got != "-BUSYKEY Target key name already exists." {
		t.Errorf("RESTORE over a key = %s", got)
	}
}
