//go:build linux

package main

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
)

// scripted is a connection to a server that answers from a list.
func scripted(t *testing.T, answers map[string]string) *conn {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { _ = here.Close(); _ = there.Close() })
	go func() {
		r := bufio.NewReader(there)
		for {
			var command resp.Reply // a command has the form of an array of strings
			if command.Read(r) != nil {
				return
			}
			var words []string
			for _, a := range command.Array {
				words = append(words, string(a.Text))
			}
			answer, ok := answers[strings.Join(words, " ")]
			if !ok {
				answer = answers[words[0]]
			}
			if _, err := there.Write([]byte(answer)); err != nil {
				return
			}
		}
	}()
	return &conn{&node{name: "n1"}, here, bufio.NewReader(here)}
}

// good is what a node answers that has all of the writer of TestCheck, and no more.
func good() map[string]string {
	return map[string]string{
		"BF.EXISTS": ":1\r\n", "FILTER.HAS": "*1\r\n:1\r\n", "CF.EXISTS": ":1\r\n", "EXISTS": ":1\r\n",
		"CF.INFO":    "*6\r\n+Number of items inserted\r\n:7\r\n+Number of items deleted\r\n:3\r\n+Number of filters\r\n:1\r\n",
		"CMS.INFO":   "*2\r\n+count\r\n:5\r\n",
		"GET":        "$1\r\n4\r\n",
		"GET left0":  "$1\r\n2\r\n",
		"GET right0": "$1\r\n2\r\n",
	}
}

// TestCheck has the checker find what is lost, what was done twice, and what was done
// by half; and nothing else.
func TestCheck(t *testing.T) {
	newWriter := func() *writer {
		return &writer{
			added: []int{1, 2, 3}, wide: []int{1}, there: []int{5}, lasting: []int{9},
			inserted: bounds{10, 1}, deleted: bounds{3, 1}, counted: bounds{5, 0}, numbered: bounds{3, 1}, paired: bounds{2, 0},
		}
	}
	for _, test := range []struct {
		name        string
		change      map[string]string
		lost, twice int
		wrong       bool
	}{
		{name: "all is well"},
		{name: "a lost item", change: map[string]string{"BF.EXISTS bf0 item2": ":0\r\n"}, lost: 1, wrong: true},
		{name: "a lost item of a filter that is everywhere", change: map[string]string{"FILTER.HAS": "*1\r\n:0\r\n"}, lost: 1, wrong: true},
		{name: "a lost item of a cuckoo filter", change: map[string]string{"CF.EXISTS": ":0\r\n"}, lost: 1, wrong: true},
		{name: "a string that has expired", change: map[string]string{"EXISTS": ":0\r\n"}, lost: 1, wrong: true},
		{name: "an insertion made twice", change: map[string]string{
			"CF.INFO": "*6\r\n+Number of items inserted\r\n:9\r\n+Number of items deleted\r\n:3\r\n+Number of filters\r\n:1\r\n",
		}, twice: 2, wrong: true}, // of the items and of the insertions
		{name: "a count made twice", change: map[string]string{"CMS.INFO": "*2\r\n+count\r\n:6\r\n"}, twice: 1, wrong: true},
		{name: "a lost count", change: map[string]string{"GET number0": "$1\r\n2\r\n"}, lost: 1, wrong: true},
		{name: "an unknown write that was done", change: map[string]string{"GET number0": "$1\r\n3\r\n"}},
		{name: "half a transaction", change: map[string]string{"GET right0": "$1\r\n1\r\n"}, wrong: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			answers := good()
			for k, v := range test.change {
				answers[k] = v
			}
			var f findings
			if err := newWriter().check(scripted(t, answers), &f, true); err != nil {
				t.Fatal(err)
			}
			if f.lost != test.lost || f.twice != test.twice || len(f.list) > 0 != test.wrong {
				t.Errorf("%d lost, %d twice, %q", f.lost, f.twice, f.list)
			}
		})
	}
}

// TestBatch has a writer judge replies.
func TestBatch(t *testing.T) {
	for _, test := range []struct {
		name     string
		commands []string
		answers  []string
		how      outcome
		wrong    bool
	}{
		{"an answer", []string{"BF.ADD"}, []string{":1"}, acknowledged, false},
		{"no majority", []string{"BF.ADD"}, []string{"-CLUSTERDOWN x"}, refused, false},
		{"nobody knows", []string{"BF.ADD"}, []string{"-UNKNOWN x"}, unknown, false},
		{"an error that nobody may get", []string{"BF.ADD"}, []string{"-ERR x"}, strange, true},
		{"an error that only looks like another", []string{"BF.ADD"}, []string{"-UNKNOWNCOMMAND x"}, strange, true},
		{"a transaction", []string{"MULTI", "INCR", "EXEC"}, []string{"+OK", "+QUEUED", "*:1"}, acknowledged, false},
		{"a refused transaction", []string{"MULTI", "INCR", "EXEC"}, []string{"+OK", "-CLUSTERDOWN x", "-EXECABORT x"}, refused, false},
		{"a transaction that is discarded for no reason", []string{"MULTI", "INCR", "EXEC"}, []string{"+OK", "+QUEUED", "-EXECABORT x"}, strange, true},
	} {
		w := &writer{}
		if how := w.outcome(step{commands: test.commands}, test.answers); how != test.how || len(w.list) > 0 != test.wrong {
			t.Errorf("%s: %v, %q", test.name, how, w.list)
		}
	}
}

// TestWatch measures stops.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w watch
		w.begin()
		time.Sleep(time.Minute)
		w.skip()
		w.good()
		if w.longest != 0 {
			t.Errorf("a stop of %v, though it is to be left out", w.longest)
		}
		began := time.Now()
		if w.since(began) {
			t.Error("an answer that was before")
		}
		time.Sleep(time.Second)
		w.good()
		if !w.since(began) || w.longest != time.Second {
			t.Error("a stop is not counted")
		}
		time.Sleep(time.Minute)
		if w.end() != time.Minute {
			t.Error("a stop that goes on is not counted")
		}
		time.Sleep(time.Hour)
		w.good()
		if w.end() != time.Minute {
			t.Error("time after the end is counted")
		}
	})
}
