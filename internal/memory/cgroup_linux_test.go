package memory

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// mountLines are mounts as a machine has them beside those of control groups.
const mountLines = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:20 / /proc rw,nosuid - proc proc rw
`

// TestCgroupLimit reads limits of both versions of control groups, as kernels
// and containers show them.
func TestCgroupLimit(t *testing.T) {
	const (
		v2     = mountLines + "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
		v1     = mountLines + "35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 master:2 - cgroup cgroup rw,memory\n"
		hybrid = v1 + "36 31 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n34 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"no control groups": {map[string]string{}, math.MaxUint64},
		"no mounts":         {map[string]string{cgroupPath: "0::/\n"}, math.MaxUint64},
		"none mounted":      {map[string]string{cgroupPath: "0::/\n", mountsPath: mountLines}, math.MaxUint64},
		"root without a file": {
			map[string]string{cgroupPath: "0::/\n", mountsPath: v2}, math.MaxUint64,
		},
		"version 2, of the group itself": {map[string]string{
			cgroupPath: "0::/a/b\n", mountsPath: v2,
			"/sys/fs/cgroup/a/b/memory.max": "1048576\n", "/sys/fs/cgroup/a/memory.max": "max\n",
		}, 1 << 20},
		"version 2, of a group above": {map[string]string{
			cgroupPath: "0::/a/b/c\n", mountsPath: v2,
			"/sys/fs/cgroup/a/b/c/memory.max": "max\n", "/sys/fs/cgroup/a/b/memory.max": "4096000\n", "/sys/fs/cgroup/a/memory.max": "2048000\n",
		}, 2048000},
		"version 2, container with its own namespace": {map[string]string{
			cgroupPath: "0::/\n", mountsPath: v2, "/sys/fs/cgroup/memory.max": "536870912\n",
		}, 512 << 20},
		"version 2, group outside of the namespace": {map[string]string{
			cgroupPath: "0::/../../other\n", mountsPath: v2, "/sys/fs/cgroup/memory.max": "536870912\n",
			"/sys/fs/cgroup/../../other/memory.max": "1\n",
		}, 512 << 20},
		"container that sees part of the hierarchy": {map[string]string{
			cgroupPath: "0::/docker/0123/job\n", mountsPath: mountLines + "30 22 0:26 /docker/0123 /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			"/sys/fs/cgroup/job/memory.max": "max\n", "/sys/fs/cgroup/memory.max": "65536000\n", "/memory.max": "1\n",
		}, 65536000},
		"a root that only begins like the group": {map[string]string{
			cgroupPath: "0::/docker/0123\n", mountsPath: mountLines + "30 22 0:26 /docker/01 /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			"/sys/fs/cgroup/memory.max": "65536000\n", "/sys/fs/cgroup/23/memory.max": "1\n",
		}, 65536000},
		"version 1": {map[string]string{
			cgroupPath: "4:cpu:/x\n3:hugetlb,memory:/a/b\n", mountsPath: v1,
			"/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712\n",
			"/sys/fs/cgroup/memory/a/memory.limit_in_bytes":   "33554432\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
			"/sys/fs/cgroup/memory/x/memory.limit_in_bytes":   "1\n",
		}, 32 << 20},
		"version 1, no limit": {map[string]string{
			cgroupPath: "3:memory:/\n", mountsPath: v1, "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 9223372036854771712},
		"both versions": {map[string]string{
			cgroupPath: "3:memory:/a\n2:cpu:/b\n0::/c\n", mountsPath: hybrid,
			"/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "3000000\n", "/sys/fs/cgroup/unified/c/memory.max": "2000000\n",
			"/sys/fs/cgroup/cpu/b/memory.limit_in_bytes": "1\n",
		}, 2000000},
		"both versions with groups of one name": {map[string]string{
			cgroupPath: "3:memory:/a\n0::/c\n", mountsPath: hybrid, "/sys/fs/cgroup/unified/a/memory.max": "1\n",
			"/sys/fs/cgroup/unified/c/memory.max": "2000000\n",
		}, 2000000},
		"a mount without options": {map[string]string{
			cgroupPath: "0::/a\n", mountsPath: "30 22 0:26 / /groups - cgroup2 cgroup2 rw\n", "/groups/a/memory.max": "123456\n",
		}, 123456},
		"a mount without a dash": {map[string]string{
			cgroupPath: "3:memory:/a\n", mountsPath: "30 22 0:26 / /groups rw cgroup cgroup rw,memory\n",
			"/memory.limit_in_bytes": "1\n", "/groups/memory.limit_in_bytes": "1\n",
		}, math.MaxUint64},
		"a number that version 2 does not have": {map[string]string{
			cgroupPath: "5::/a\n", mountsPath: v2, "/sys/fs/cgroup/a/memory.max": "1\n",
		}, math.MaxUint64},
		"a space in the mount point": {map[string]string{
			cgroupPath: "0::/a\n", mountsPath: mountLines + `30 22 0:26 / /my\040groups rw - cgroup2 cgroup2 rw` + "\n", "/my groups/a/memory.max": "123456\n",
		}, 123456},
		"broken files": {map[string]string{
			cgroupPath: "0\n::\n0::/a", mountsPath: "- cgroup2\n1 2 - cgroup2 x y\n" + v2, "/sys/fs/cgroup/a/memory.max": "-5\n", "/sys/fs/cgroup/memory.max": "",
		}, math.MaxUint64},
	} {
		got := cgroupLimit(func(path string) (string, bool) {
			text, ok := c.files[path]
			return text, ok
		})
		if got != c.want {
			t.Errorf("%s: limit %d, want %d", name, got, c.want)
		}
	}
}

func TestReadFile(t *testing.T) {
	if text, ok := readFile("/proc/self/mountinfo"); !ok || len(text) == 0 || text[len(text)-1] != '\n' {
		t.Errorf("readFile of mountinfo = %q, %v, want whole lines", text, ok)
	}
	for _, path := range []string{"/", "/no/such/file", "/dev/zero"} {
		if _, ok := readFile(path); ok {
			t.Errorf("readFile(%q) is ok, want not", path)
		}
	}
	for _, size := range []int{0, 1, 5 << 20} { // /dev/zero is more than is read
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, ok := readFile(path); !ok || len(text) != size {
			t.Errorf("readFile of %d bytes: %d, %v", size, len(text), ok)
		}
	}
}
