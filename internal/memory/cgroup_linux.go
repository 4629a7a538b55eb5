package memory

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The files that describe the control groups of this process.
const (
	cgroupPath = "/proc/self/cgroup"
	mountsPath = "/proc/self/mountinfo"
	// mostRead bounds what is read of them: a machine with thousands of
	// containers has a mountinfo of some hundred kilobytes.
	mostRead = 8 << 20
)

// cgroupLimit returns the memory that the control groups of this process allow
// it, or math.MaxUint64 where they set no limit. A group is bound by the limits
// of all groups above it, so each of them is read up to the mount point, which
// is as far as a container can see. The kernel shows these limits in files
// only; read returns the content of one.
func cgroupLimit(read func(path string) (string, bool)) uint64 {
	groups, ok := read(cgroupPath)
	if !ok {
		return math.MaxUint64
	}
	mounts, ok := read(mountsPath)
	if !ok {
		return math.MaxUint64
	}
	limit := uint64(math.MaxUint64)
	for mount := range strings.Lines(mounts) {
		m, ok := parseMount(mount)
		if !ok {
			continue
		}
		for group := range strings.Lines(groups) {
			if path, ok := m.group(strings.TrimSuffix(group, "\n")); ok {
				limit = min(limit, m.limit(path, read))
			}
		}
	}
	return limit
}

// mount is a mounted hierarchy of control groups that can limit memory.
type mount struct {
	root  string // the group that is mounted
	point string // the folder where it is mounted
	v2    bool
}

// parseMount reads a line of mountinfo, whose optional fields end with "-":
//
//	36 25 0:31 /root /point rw,relatime shared:9 - cgroup2 cgroup2 rw
func parseMount(line string) (m mount, ok bool) {
	before, after, ok := strings.Cut(line, " - ")
	if !ok {
		return m, false
	}
	where, what := strings.Fields(before), strings.Fields(after)
	if len(where) < 5 || len(what) < 3 {
		return m, false
	}
	m = mount{root: unescaped.Replace(where[3]), point: unescaped.Replace(where[4]), v2: what[0] == "cgroup2"}
	return m, m.v2 || what[0] == "cgroup" && listed(what[2], "memory")
}

// unescaped replaces what mountinfo writes for characters that would break its
// lines.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// group returns the path below the mount point of the process's group, from a
// line of /proc/self/cgroup that describes this hierarchy:
//
//	0::/user.slice/session            version 2
//	4:cpu,memory:/user.slice/session  version 1
func (m mount) group(line string) (path string, ok bool) {
	number, rest, _ := strings.Cut(line, ":")
	controllers, path, ok := strings.Cut(rest, ":")
	if !ok || m.v2 && (number != "0" || controllers != "") || !m.v2 && !listed(controllers, "memory") {
		return "", false
	}
	below, ok := strings.CutPrefix(path, strings.TrimSuffix(m.root, "/"))
	if !ok || below != "" && below[0] != '/' || strings.Contains(below, "/..") {
		return "", true // a group outside of what is mounted: the mount point is what is known
	}
	return strings.Trim(below, "/"), true
}

// limit returns the lowest limit from the group at path up to the mount point.
func (m mount) limit(path string, read func(string) (string, bool)) uint64 {
	name := "/memory.limit_in_bytes"
	if m.v2 {
		name = "/memory.max"
	}
	limit := uint64(math.MaxUint64)
	for {
		folder := m.point
		if path != "" {
			folder += "/" + path
		}
		if text, ok := read(folder + name); ok {
			if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64); err == nil { // else it is "max"
				limit = min(limit, n)
			}
		}
		if path == "" {
			return limit
		}
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
	}
}

// listed reports whether a name is in a list with commas.
func listed(list, name string) bool {
	for s := range strings.SplitSeq(list, ",") {
		if s == name {
			return true
		}
	}
	return false
}

// readFile returns the content of a file. Library packages do not import os.
func readFile(path string) (string, bool) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(fd) //nolint:errcheck // it was only read
	var content []byte
	buf := make([]byte, 4<<10)
	for len(content) < mostRead {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return "", false
		case n <= 0:
			return string(content), true
		default:
			content = append(content, buf[:n]...)
		}
	}
	return "", false
}
