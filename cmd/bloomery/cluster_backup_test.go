//go:build unix

// Tests of cluster backup and cluster restore.

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server"
)

// singleFolder makes the data folder of a single server that has stopped.
func singleFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "single")
	onServer(t, dir, func(nc net.Conn, r *bufio.Reader) {
		replies, err := talk(nc, r, "BF.RESERVE b 0.001 200000", "BF.ADD b item", "SET s value EX 10000", "CF.ADD c item", "TOPK.RESERVE k 3", "SAVE", "BF.ADD b later")
		if err != nil || replies[len(replies)-1] != ":1" {
			t.Fatalf("%q, %v", replies, err)
		}
	})
	return dir
}

// onServer runs a single server on a folder while f talks to it.
func onServer(t *testing.T, dir string, f func(net.Conn, *bufio.Reader)) {
	t.Helper()
	s, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	nc := dial(t, s.Addr().String())
	f(nc, bufio.NewReader(nc))
	_ = nc.Close()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// copyServer answers CLUSTER BACKUP with the files of a folder, the manifest last, as a
// node does. answer may change a reply.
type copyServer struct {
	t      *testing.T
	files  []string
	dir    string
	answer func(command []string, reply []byte) []byte
	closed atomic.Int32
}

// serve returns the address of the server.
func (s *copyServer) serve() string {
	s.t.Helper()
	names, err := os.ReadDir(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range names {
		if copyName.MatchString(e.Name()) && e.Name() != manifestName {
			s.files = append(s.files, e.Name())
		}
	}
	s.files = append(s.files, manifestName)
	return answering(s.t, func(command []string) []byte {
		reply := s.reply(command)
		if s.answer != nil {
			reply = s.answer(command, reply)
		}
		return reply
	})
}

func (s *copyServer) reply(command []string) []byte {
	switch strings.Join(command[:min(3, len(command))], " ") {
	case "CLUSTER BACKUP OPEN":
		b := fmt.Appendf(nil, "*2\r\n:7\r\n*%d\r\n", len(s.files))
		for _, name := range s.files {
			info, err := os.Stat(filepath.Join(s.dir, name))
			if err != nil {
				return nil
			}
			b = fmt.Appendf(b, "*2\r\n$%d\r\n%s\r\n:%d\r\n", len(name), name, info.Size())
		}
		return b
	case "CLUSTER BACKUP READ":
		file, _ := strconv.Atoi(command[4])
		off, _ := strconv.Atoi(command[5])
		n, _ := strconv.Atoi(command[6])
		data, err := os.ReadFile(filepath.Join(s.dir, s.files[file]))
		if err != nil || command[3] != "7" || off+n > len(data) {
			return []byte("-ERR no such piece\r\n")
		}
		return fmt.Appendf(nil, "$%d\r\n%s\r\n", n, data[off:off+n])
	case "CLUSTER BACKUP CLOSE":
		s.closed.Add(1)
	}
	return []byte("+OK\r\n")
}

// TestClusterBackupCommand reads a copy, checks it, and begins a cluster with it.
func TestClusterBackupCommand(t *testing.T) {
	s := &copyServer{t: t, dir: singleFolder(t)}
	addr, dir := s.serve(), t.TempDir()
	to := filepath.Join(dir, "backup")
	if code, _, errOut := call(t, "cluster", "backup", to, "--addr", addr); code != exitOK || !strings.Contains(errOut, "read back and checked") {
		t.Fatalf("%d, %s", code, errOut)
	}
	if s.closed.Load() != 1 {
		t.Error("the copy was not closed")
	}
	for _, name := range append(s.files, ".") {
		info, err := os.Stat(filepath.Join(to, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v: others can read it", name, info.Mode(), err)
		}
	}
	if code, _, errOut := call(t, "cluster", "backup", to, "--addr", addr); code != exitUsage || !strings.Contains(errOut, "not empty") {
		t.Errorf("over a backup: %d, %s", code, errOut)
	}
	if code, out, _ := call(t, "cluster", "backup", to+"2", "--addr", addr, "--json"); code != exitOK || !strings.Contains(out, `"files":`+strconv.Itoa(len(s.files))) {
		t.Errorf("--json: %d, %s", code, out)
	}
	onServer(t, to, func(nc net.Conn, r *bufio.Reader) {
		replies, err := talk(nc, r, "BF.EXISTS b item", "BF.EXISTS b later", "CF.EXISTS c item", "TTL s", "DBSIZE")
		if err != nil || replies[0] != ":1" || replies[1] != ":1" || replies[2] != ":1" || !strings.HasPrefix(replies[3], ":9") && replies[3] != ":10000" || replies[4] != ":4" {
			t.Errorf("a single server on the backup: %q, %v", replies, err)
		}
	})
	node := filepath.Join(dir, "n1")
	if code, _, errOut := call(t, "cluster", "restore", to, "--dir", node); code != exitOK || !strings.Contains(errOut, "4 names") {
		t.Errorf("restore: %d, %s", code, errOut)
	}
	linked := filepath.Join(dir, "linked")
	if err := os.Symlink(to, linked); err != nil {
		t.Fatal(err)
	}
	entries := func() int {
		all, err := os.ReadDir(to)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := entries()
	for what, args := range map[string][]string{
		"not empty":                {to, "--dir", node},
		"of a node of a cluster":   {node, "--dir", node + "2"},
		"no such file":             {node + "3", "--dir", node + "2"},
		"not a data folder":        {t.TempDir(), "--dir", node + "2"},
		"with --dir":               {to},
		"1 to 64":                  {to, "--dir", node + "2", "--lanes", "65"},
		"3 to 100":                 {to, "--dir", node + "2", "--nodes", "2"},
		"2 to 5, and no more":      {to, "--dir", node + "2", "--nodes", "4", "--copies", "6"},
		"--copies needs --nodes":   {to, "--dir", node + "2", "--copies", "2"},
		"name one that does not e": {to, "--dir", node, "--nodes", "3"},
		"outside of " + to:         {to, "--dir", filepath.Join(to, "n1")},
		"inside of the folder":     {to, "--dir", filepath.Join(linked, "a", "b"), "--nodes", "3"},
		"give a data folder or a ": {},
	} {
		if code, _, errOut := call(t, append([]string{"cluster", "restore"}, args...)...); code != exitUsage || !strings.Contains(errOut, what) {
			t.Errorf("%s: %d, %s", what, code, errOut)
		}
	}
	if _, err := os.Stat(node + "2"); err == nil || entries() != before {
		t.Error("a restore that was refused has left something")
	}
	if code, _, errOut := call(t, "serve", "--addr", "127.0.0.1:0", "--dir", node); code == exitOK || !strings.Contains(errOut, "cluster") {
		t.Errorf("a single server on the folder of a cluster: %d, %s", code, errOut)
	}
	spread := filepath.Join(dir, "spread")
	if code, out, errOut := call(t, "cluster", "restore", to, "--dir", spread, "--nodes", "4", "--json"); code != exitOK || !strings.Contains(out, `"nodes":4,"copies":2`) {
		t.Errorf("restore into nodes: %d, %s%s", code, out, errOut)
	}
	for i := range 4 {
		if code, _, errOut := call(t, "doctor", filepath.Join(spread, strconv.Itoa(i+1))); code != exitOK {
			t.Errorf("the folder of node %d: %d, %s", i+1, code, errOut)
		}
	}
	if err := os.Rename(spread, spread+"2.unfinished"); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := call(t, "cluster", "restore", to, "--dir", spread+"2", "--nodes", "3"); code == exitOK || !strings.Contains(errOut, "remove it and run the command again") {
		t.Errorf("beside what a restore has left: %d, %s", code, errOut)
	}
	tar := filepath.Join(dir, "backup.tar")
	if code, _, errOut := call(t, "backup", to, "-o", tar); code != exitOK {
		t.Fatalf("backup: %d, %s", code, errOut)
	}
	if code, out, errOut := call(t, "cluster", "restore", tar, "--dir", node+"4", "--json"); code != exitOK || !strings.Contains(out, `"names":4`) {
		t.Errorf("restore of a tar file: %d, %s%s", code, out, errOut)
	}
}

// TestClusterBackupHints asks that --stale is named where it helps, and only there.
func TestClusterBackupHints(t *testing.T) {
	for _, c := range []struct {
		text  string
		stale bool
		helps bool
	}{
		{"CLUSTERDOWN no majority", false, true},
		{"CLUSTERDOWN no majority", true, false},
		{"CLUSTERDOWN shard 7 has no live holder", false, false},
		{"ERR cluster: copy: shard 7 has no live holder: start one of the nodes that hold it", true, false},
	} {
		err := copyRefused("a:1", c.text, c.stale)
		h, _ := errors.AsType[hinted](err)
		if strings.Contains(h.hint, "--stale") != c.helps {
			t.Errorf("%s, stale %t: %q", c.text, c.stale, h.hint)
		}
	}
}

// TestClusterBackupFails asks that nothing is left of a backup that fails, and what is
// said of it.
func TestClusterBackupFails(t *testing.T) {
	from := singleFolder(t)
	cut := errors.New("cut")
	for what, answer := range map[string]func([]string, []byte) []byte{
		"server replied: CLUSTERDOWN": func([]string, []byte) []byte { return []byte("-CLUSTERDOWN no majority\r\n") },
		"not in a cluster":            func([]string, []byte) []byte { return []byte("-ERR This instance has cluster support disabled\r\n") },
		"invalid reply":               func([]string, []byte) []byte { return []byte("*2\r\n:1\r\n*1\r\n*2\r\n$5\r\n../ab\r\n:1\r\n") },
		"no such piece":               onRead(func([]byte) []byte { return []byte("-ERR no such piece\r\n") }),
		"CLUSTER BACKUP: invalid":     onRead(func([]byte) []byte { return []byte("$1\r\nx\r\n") }),
		"EOF":                         onRead(func([]byte) []byte { return nil }),
		"corrupt":                     onRead(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }),
	} {
		s := &copyServer{t: t, dir: from, answer: answer}
		to := filepath.Join(t.TempDir(), "backup")
		addr := s.serve()
		code, _, errOut := call(t, "cluster", "backup", to, "--addr", addr)
		if code == exitOK || !strings.Contains(errOut, what) {
			t.Errorf("%s: %d, %s", what, code, errOut)
		}
		if _, err := os.Stat(to); err == nil {
			t.Errorf("%s: a folder is left", what)
		}
		empty := t.TempDir()
		if code, _, _ := call(t, "cluster", "backup", empty, "--addr", addr); code == exitOK {
			t.Errorf("%s: no error", what)
		}
		if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v is left, %v", what, entries, err)
		}
	}
	s := &copyServer{t: t, dir: from}
	ctx, stop := context.WithCancelCause(t.Context())
	s.answer = onRead(func(b []byte) []byte { stop(cut); time.Sleep(50 * time.Millisecond); return b })
	to, addr := filepath.Join(t.TempDir(), "backup"), s.serve()
	var errOut bytes.Buffer
	sh := &shell{errOut: &errOut, out: &errOut, lookup: func(string) (string, bool) { return "", false }, noProgress: true}
	err := runClusterBackup(ctx, sh, to, &connectFlags{addr: addr}, false)
	if !errors.Is(err, context.Canceled) || s.closed.Load() != 1 {
		t.Errorf("interrupted: %v, closed %d times", err, s.closed.Load())
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("interrupted before anything came: a folder is left")
	}
}

// TestClusterBackupGoesOn interrupts a backup at every piece, damages or changes what has come, and
// runs it again: the second run reads only what is not there, and the result is the same.
func TestClusterBackupGoesOn(t *testing.T) {
	from := filepath.Join(t.TempDir(), "single")
	onServer(t, from, func(nc net.Conn, r *bufio.Reader) {
		commands := []string{"BF.RESERVE big 0.001 900000", "BF.RESERVE other 0.001 900000", "BF.ADD big item", "BF.ADD other item", "SAVE", "BF.ADD big later"}
		if replies, err := talk(nc, r, commands...); err != nil || replies[len(replies)-1] != ":1" {
			t.Fatalf("%q, %v", replies, err)
		}
	})
	whole := int64(0)
	var pieces, read atomic.Int64
	s := &copyServer{t: t, dir: from, answer: func(command []string, reply []byte) []byte {
		if len(command) > 2 && command[2] == "READ" {
			n, _ := strconv.ParseInt(command[6], 10, 64)
			if read.Add(n); n == copyPiece && pieces.Add(1) == 9 {
				return nil // the connection ends
			}
		}
		return reply
	}}
	addr := s.serve()
	for _, name := range s.files {
		info, err := os.Stat(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		whole += info.Size()
	}
	for name, tt := range map[string]struct {
		change func(t *testing.T, part string)
		least  int64 // bytes that need not come again
	}{
		"as it was": {func(*testing.T, string) {}, 1 << 20},
		"cut":       {func(t *testing.T, part string) { shorten(t, part, 1000) }, 512 << 10},
		"longer":    {func(t *testing.T, part string) { shorten(t, part, -1000) }, 512 << 10},
		"of another copy": {func(t *testing.T, part string) {
			data, err := os.ReadFile(part)
			if err != nil {
				t.Fatal(err)
			}
			data[12] ^= 1 // the checksum of its first frame
			if err := os.WriteFile(part, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}, 0},
		"none": {func(t *testing.T, part string) {
			if err := os.Remove(part); err != nil {
				t.Fatal(err)
			}
		}, 0},
	} {
		to := filepath.Join(t.TempDir(), "backup")
		pieces.Store(0)
		code, _, errOut := call(t, "cluster", "backup", to, "--addr", addr)
		if code == exitOK || !strings.Contains(errOut, "run the command again, and it goes on") {
			t.Fatalf("%s: interrupted: %d, %s", name, code, errOut)
		}
		if code, _, _ := call(t, "serve", "--dir", to); code == exitOK {
			t.Errorf("%s: a server starts on what is not whole", name)
		}
		parts, err := filepath.Glob(filepath.Join(to, "*.part"))
		if err != nil || len(parts) == 0 {
			t.Fatalf("%s: %v, %v", name, parts, err)
		}
		tt.change(t, parts[0])
		read.Store(0)
		if code, _, errOut := call(t, "cluster", "backup", to, "--addr", addr); code != exitOK {
			t.Fatalf("%s: again: %d, %s", name, code, errOut)
		}
		if again := read.Load(); again > whole-tt.least {
			t.Errorf("%s: %d of %d bytes were read again", name, again, whole)
		}
		for _, file := range s.files {
			want, err := os.ReadFile(filepath.Join(from, file))
			got, failed := os.ReadFile(filepath.Join(to, file))
			if err != nil || failed != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %s differs: %v, %v", name, file, err, failed)
			}
		}
		if _, err := os.Stat(filepath.Join(to, backupMark)); err == nil {
			t.Errorf("%s: the mark is left", name)
		}
		if code, _, errOut := call(t, "cluster", "backup", to, "--addr", addr); code != exitUsage || !strings.Contains(errOut, "not empty") {
			t.Errorf("%s: over one that is whole: %d, %s", name, code, errOut)
		}
	}
}

// TestClusterBackupMarksFirst looks at the folder of a backup that has no file yet, as it is left
// when the command is killed there.
func TestClusterBackupMarksFirst(t *testing.T) {
	to, left := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "left")
	s := &copyServer{t: t, dir: t.TempDir(), answer: func(command []string, reply []byte) []byte {
		if len(command) > 2 && command[2] == "OPEN" {
			if err := os.CopyFS(left, os.DirFS(to)); err != nil {
				t.Error(err)
			}
			return nil // the connection ends
		}
		return reply
	}}
	addr := s.serve()
	if code, _, _ := call(t, "cluster", "backup", to, "--addr", addr); code == exitOK {
		t.Fatal("a backup of nothing")
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("a folder without a file of the copy is left")
	}
	for _, command := range [][]string{{"serve", "--dir", left}, {"doctor", left}} {
		if code, _, errOut := call(t, command...); code == exitOK || !strings.Contains(errOut, "an unfinished cluster backup\nhint: run bloomery cluster backup ") {
			t.Errorf("%s: %d, %s", command[0], code, errOut)
		}
	}
	if made, err := backupFolder(left); made || err != nil {
		t.Errorf("again: %v, %v", made, err)
	}
}

// shorten cuts so many bytes off a file, or appends them.
func shorten(t *testing.T, name string, by int64) {
	t.Helper()
	info, err := os.Stat(name)
	if err == nil {
		err = os.Truncate(name, info.Size()-by)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// onRead changes the replies to CLUSTER BACKUP READ.
func onRead(change func(reply []byte) []byte) func([]string, []byte) []byte {
	return func(command []string, reply []byte) []byte {
		if len(command) > 2 && command[2] == "READ" {
			return change(reply)
		}
		return reply
	}
}

// FuzzCopyReply reads what a server that is none may send: names stay in the folder, and
// sizes can be added up.
func FuzzCopyReply(f *testing.F) {
	f.Add([]byte("*2\r\n:1\r\n*1\r\n*2\r\n$8\r\nMANIFEST\r\n:100\r\n"))
	f.Add([]byte("*2\r\n:1\r\n*2\r\n*2\r\n$21\r\n0000000000000001.part\r\n:9223372036854775807\r\n*2\r\n$8\r\nMANIFEST\r\n:1\r\n"))
	f.Add([]byte("*2\r\n:1\r\n*1\r\n*2\r\n$11\r\n../MANIFEST\r\n:100\r\n"))
	f.Add([]byte("-ERR\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var reply resp.Reply
		if reply.Read(bufio.NewReader(bytes.NewReader(b))) != nil {
			return
		}
		number, files, err := parseCopy(&reply)
		if err != nil {
			if !errors.Is(err, resp.ErrReply) {
				t.Error(err)
			}
			return
		}
		total := int64(0)
		for _, file := range files {
			if total += file.size; file.size < 0 || total < 0 || filepath.Base(file.name) != file.name {
				t.Errorf("%q of %d bytes", file.name, file.size)
			}
		}
		if number < 1 || files[len(files)-1].name != manifestName {
			t.Errorf("copy %d, files %v", number, files)
		}
	})
}

// backup copies the cluster while numbered items are added: all that were acknowledged
// before the command are in it.
func (n *nodes) backup(t *testing.T) string {
	t.Helper()
	var acknowledged atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	written := make(chan error, 1)
	nc := dial(t, n.addrs[0])
	go func() {
		r := bufio.NewReader(nc)
		for i := 1; ctx.Err() == nil; {
			replies, err := awake(nc, r, fmt.Sprintf("BF.ADD numbered item%d", i))
			switch {
			case err == nil && strings.HasPrefix(replies[0], ":"):
				acknowledged.Store(int64(i))
				i++
			case err != nil || !strings.HasPrefix(replies[0], "-CLUSTERDOWN") && !strings.HasPrefix(replies[0], "-UNKNOWN"):
				written <- fmt.Errorf("item %d: %q, %w", i, replies, err)
				return
			}
		}
		written <- nil
	}()
	for acknowledged.Load() < 20 {
		select {
		case err := <-written:
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	before := int(acknowledged.Load())
	to := filepath.Join(n.dir, "backup")
	code, _, errOut := call(t, "cluster", "backup", to, "--addr", n.addrs[1])
	stop()
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if code != exitOK {
		t.Fatalf("cluster backup: %d, %s", code, errOut)
	}
	items := make([]int, before)
	for i := range items {
		items[i] = i + 1
	}
	onServer(t, to, func(nc net.Conn, r *bufio.Reader) {
		if missing := lost(t, nc, r, "numbered", items); missing > 0 {
			t.Errorf("the backup lacks %d of %d items that were acknowledged before", missing, before)
		}
	})
	return to
}

// TestClusterRestore begins a cluster of three processes with a backup. All nodes have
// what the backup has.
func TestClusterRestore(t *testing.T) {
	if !*restoreNodes {
		t.Skip("two clusters take 30 seconds to start: -cluster-restore runs it")
	}
	n := newNodes(t)
	n.start(t, 0, 1, 2)
	from := n.backup(t)
	for i := range n.cmds {
		n.kill(i)
	}
	again := newNodes(t)
	if code, _, errOut := call(t, "cluster", "restore", from, "--dir", filepath.Join(again.dir, "n1"), "--lanes", "3"); code != exitOK {
		t.Fatalf("restore: %d, %s", code, errOut)
	}
	again.start(t, 0, 1, 2)
	var want string
	onServer(t, from, func(nc net.Conn, r *bufio.Reader) {
		replies, err := talk(nc, r, "DUMP numbered")
		if err != nil {
			t.Fatal(err)
		}
		want = replies[0]
	})
	for i, addr := range again.addrs {
		nc := dial(t, addr)
		if replies, err := talk(nc, bufio.NewReader(nc), "DUMP numbered", "DBSIZE"); err != nil || replies[0] != want || replies[1] != ":1" {
			t.Errorf("node %d differs from the backup: %v", i+1, err)
		}
	}
}
