package server

import (
	"testing"
)

// TestBehindValue asks for what is kept behind values, also of lines that no reader of
// TOML would take.
func TestBehindValue(t *testing.T) {
	for rest, want := range map[string]string{
		` 1`: "", " 1\n": "\n", " 1\r\n": "\r\n", " 1 # why\n": " # why\n", "": "",
		` "a#b"` + "\n": "\n", ` 'a#b' # c`: " # c", ` "a\"#b" # c` + "\n": " # c\n", ` 'a\' # c`: " # c",
		` "no end`: "", ` "no end # c`: "", `"`: "", `"\`: "", ` 'no end`: "",
	} {
		if got := behindValue(rest); got != want {
			t.Errorf("behindValue(%q) = %q, want %q", rest, got, want)
		}
	}
}

// TestRewriteOfAFileThatStays asks for the error of a configuration file in a folder
// that takes no other: the system's own, where there is one.
func TestRewriteOfAFileThatStays(t *testing.T) {
	s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}, File: "/proc/version"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	s.settings.MaxClients.Store(5)
	if err := s.rewriteConfig(); err == nil {
		t.Error("rewriteConfig of a file that cannot be replaced succeeded")
	}
	if len(s.rewrite.written) > 0 {
		t.Errorf("settings that count as written: %v", s.rewrite.written)
	}
}
