package session

import (
	"strings"
	"testing"
	"time"
)

// TestNamesOfClients asks which names a client may give itself and its library.
func TestNamesOfClients(t *testing.T) {
	longest := strings.Repeat("n", 65_536)
	for name, good := range map[string]bool{"": true, "a": true, "!~": true, longest: true, longest + "n": false, "a b": false, "a\n": false, "\x7f": false, "é": false} {
		var s Client
		if got := s.SetName([]byte(name)); got != good || good && s.Name() != name || !good && s.Name() != "" {
			t.Errorf("SetName(%.10q) = %v, the name is %.10q", name, got, s.Name())
		}
		if got := s.SetLibrary([]byte(name), []byte("1")); got != good || good != (s.library == name && s.libraryVersion == "1") {
			t.Errorf("SetLibrary(%.10q, 1) = %v", name, got)
		}
		if got := s.SetLibrary(nil, []byte(name)); got != good || good && s.libraryVersion != name {
			t.Errorf("SetLibrary(nil, %.10q) = %v", name, got)
		}
		if s.SetLibrary(nil, nil); good && (s.library != name || s.libraryVersion != name) {
			t.Errorf("a library without name and version becomes %.10q of %.10q", s.library, s.libraryVersion)
		}
	}
}

// TestDescriptionOfClients asks for the line of CLIENT LIST.
func TestDescriptionOfClients(t *testing.T) {
	began := time.Unix(1000, 0)
	var s Client
	s.Init(7, "1.2.3.4:5", "6.7.8.9:10", began, nil)
	now := began.Add(90 * time.Second)
	want := "id=7 addr=1.2.3.4:5 laddr=6.7.8.9:10 fd=0 name= age=90 idle=90 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 watch=0 " +
		"qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=NULL user=default redir=-1 resp=2 lib-name= lib-ver="
	if got := s.Describe(now); got != want {
		t.Errorf("a new client:\n%s, want\n%s", got, want)
	}
	s.SetName([]byte("me"))
	s.SetLibrary([]byte("lib"), []byte("1.0"))
	s.SetProto(3)
	s.Act(began.Add(80 * time.Second))
	last := "client|list"
	s.Last.Store(&last)
	s.InMulti.Store(3)
	s.Watches.Store(2)
	s.Hold(42)
	s.monitor.Store(&Monitor{})
	got := s.Describe(now)
	for _, want := range []string{" name=me ", " age=90 idle=10 flags=O ", " multi=2 watch=2 ", " tot-mem=42 ", " cmd=client|list ", " resp=3 lib-name=lib lib-ver=1.0"} {
		if !strings.Contains(got+" ", want) {
			t.Errorf("%s has no %q", got, want)
		}
	}
}
