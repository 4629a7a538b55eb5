// Tests of what cluster join asks a node.

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server/datadir"
)

// nodeThat returns a connection to a node that answers commands, each by what a
// function returns.
func nodeThat(t *testing.T, answer func(command string) string) *nodeConn {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	go func() {
		r := bufio.NewReader(theirs)
		var command resp.Reply
		for command.Read(r) == nil {
			if _, err := theirs.Write([]byte(answer(string(command.Array[0].Text)))); err != nil {
				return
			}
		}
	}()
	return &nodeConn{nc: ours, r: bufio.NewReader(ours), addr: "node"}
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// TestJoinCompares has nodes of other releases and with other clocks.
func TestJoinCompares(t *testing.T) {
	own := thisBuild().Version
	for _, c := range []struct {
		name, release     string
		ahead             time.Duration
		warning, problems string
	}{
		{name: "alike", release: own},
		{name: "another release", release: "v9.9.9", warning: "node runs release v9.9.9, this program is " + own + ": "},
		{name: "ahead", release: own, ahead: 5 * time.Second, warning: "the clock of this machine differs from that of node by "},
		{name: "behind", release: own, ahead: -5 * time.Second, warning: "the clock of this machine differs from that of node by "},
		{name: "far ahead", release: own, ahead: time.Minute, problems: "a node would take no writes"},
		{name: "far behind", release: own, ahead: -time.Minute, problems: "a node would take no writes"},
	} {
		n := nodeThat(t, func(command string) string {
			if command == "INFO" {
				return bulk("# Server\r\nredis_version:7.4.0\r\nbloomery_version:" + c.release + "\r\n")
			}
			at := time.Now().Add(c.ahead)
			return "*2\r\n" + bulk(strconv.FormatInt(at.Unix(), 10)) + bulk(strconv.Itoa(at.Nanosecond()/1000))
		})
		var j joinJSON
		if err := n.compare(&j); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, said := range [][2]string{{strings.Join(j.Warnings, "\n"), c.warning}, {strings.Join(j.Problems, "\n"), c.problems}} {
			if got, want := said[0], said[1]; !strings.Contains(got, want) || (got == "") != (want == "") || strings.Contains(got, "\n") {
				t.Errorf("%s: %q, want %q", c.name, got, want)
			}
		}
	}
}

// TestJoinSays asks that what is printed is one statement: not a warning and then that all is well.
func TestJoinSays(t *testing.T) {
	for want, j := range map[string]joinJSON{
		"this machine can join. This command":                                 {},
		"this machine can join, in spite of the warnings above. This command": {Warnings: []string{"the log node a:1: connection refused"}},
		"problem: no\n": {Problems: []string{"no"}},
	} {
		var out bytes.Buffer
		if err := j.write(&shell{out: &out}); err != nil || !strings.Contains(out.String(), want) || strings.Contains(out.String(), "can join") != (j.Problems == nil) {
			t.Errorf("%v, %q is not in %q", err, want, &out)
		}
	}
}

// TestJoinAlone has an address at which something listens, and one at which nothing does.
func TestJoinAlone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for addr, want := range map[string]string{l.Addr().String(): "listens at " + l.Addr().String() + " already", "127.0.0.1:1": ""} {
		var j joinJSON
		j.alone(t.Context(), addr)
		if got := strings.Join(j.Problems, "; "); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, want %q", addr, got, want)
		}
	}
}

// TestJoinRefuses has nodes that answer something else.
func TestJoinRefuses(t *testing.T) {
	const no = "-ERR no\r\n"
	for name, answers := range map[string]map[string]string{
		"no INFO":       {"INFO": no},
		"no TIME":       {"INFO": bulk(""), "TIME": no},
		"half a time":   {"INFO": bulk(""), "TIME": "*1\r\n" + bulk("1")},
		"no seconds":    {"INFO": bulk(""), "TIME": "*2\r\n" + bulk("x") + bulk("1")},
		"no fractions":  {"INFO": bulk(""), "TIME": "*2\r\n" + bulk("1") + bulk("x")},
		"another reply": {"INFO": bulk(""), "TIME": ":1\r\n"},
	} {
		var j joinJSON
		if err := nodeThat(t, func(command string) string { return answers[command] }).compare(&j); err == nil || !strings.Contains(err.Error(), "node") {
			t.Errorf("%s: %v, want an error of the node", name, err)
		}
	}
	if got, err := nodeThat(t, func(string) string { return no }).settings(); err == nil {
		t.Errorf("settings of a node that has none: %v", got)
	}
	got, err := nodeThat(t, func(string) string { return "*4\r\n" + bulk("a") + bulk("1") + bulk("b") + bulk("2") }).settings()
	if err != nil || len(got) != 2 || got["a"] != "1" || got["b"] != "2" {
		t.Errorf("settings are %v, %v", got, err)
	}
}

// TestRestoreErrors names what is not there, and else what is missing in it.
func TestRestoreErrors(t *testing.T) {
	dir := t.TempDir()
	inside := &fs.PathError{Op: "open", Path: "manifest", Err: fs.ErrNotExist}
	if got := restoreError(&datadir.Restore{From: dir}, inside).Error(); got != inside.Error() {
		t.Errorf("a folder without a file: %s", got)
	}
	none := filepath.Join(dir, "none")
	if got := restoreError(&datadir.Restore{From: none}, inside).Error(); !strings.Contains(got, none) || strings.Contains(got, "manifest") {
		t.Errorf("a folder that is not there: %s", got)
	}
}
