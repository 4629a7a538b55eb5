package server_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server"
)

// TestProfilesNeedTheToken asks who gets profiles: nobody by default, and with http-debug
// who has the token; a user does not.
func TestProfilesNeedTheToken(t *testing.T) {
	const heap = "/debug/pprof/heap"
	off, _ := surf(t, server.Config{HTTPToken: "letmein"})
	if got := off.with("Authorization", "Bearer letmein").fetch(heap); got.code != http.StatusNotFound {
		t.Errorf("a profile without http-debug = %d, %s", got.code, got.body)
	}
	on, _ := surf(t, server.Config{HTTPToken: "letmein", HTTPDebug: true, Password: "secret"})
	trusted := on.with("Authorization", "Bearer letmein")
	user := on.with("Authorization", "Basic ZGVmYXVsdDpzZWNyZXQ=") // default:secret
	if got := user.fetch("/api/v1/filters"); got.code != http.StatusOK {
		t.Errorf("the user may not even read: %d, %s", got.code, got.body)
	}
	for name, b := range map[string]*browser{"nobody": on, "a user": user, "another token": on.with("Authorization", "Bearer other")} {
		if got := b.fetch(heap); got.code != http.StatusUnauthorized {
			t.Errorf("a profile for %s = %d, %s", name, got.code, got.body)
		}
	}
	for _, name := range []string{"heap", "allocs", "goroutine", "block", "mutex", "threadcreate"} {
		got := trusted.fetch("/debug/pprof/" + name)
		if got.code != http.StatusOK || !bytes.HasPrefix(got.body, []byte{0x1f, 0x8b}) {
			t.Errorf("profile %s = %d, %.80q, want gzip", name, got.code, got.body)
		}
	}
	if got := trusted.fetch("/debug/pprof/goroutine?debug=2"); got.code != http.StatusOK || !strings.Contains(string(got.body), "TestProfilesNeedTheToken") {
		t.Errorf("goroutines as text = %d, %.200s", got.code, got.body)
	}
	for path, code := range map[string]int{
		"/debug/pprof/none": http.StatusNotFound, "/debug/pprof/heap?debug=3": http.StatusBadRequest, "/debug/pprof/heap?debug=x": http.StatusBadRequest,
		"/debug/pprof/profile?seconds=0": http.StatusBadRequest, "/debug/pprof/profile?seconds=31": http.StatusBadRequest, "/debug/pprof/trace?seconds=-1": http.StatusBadRequest,
		"/debug/pprof/cmdline": http.StatusNotFound, // it would show passwords that were given as flags
	} {
		if got := trusted.fetch(path); got.code != code {
			t.Errorf("%s = %d, %s, want %d", path, got.code, got.body, code)
		}
	}
}

// TestRecordingsOfTheProcess takes a profile and a trace of a second, of which there is one at a time.
func TestRecordingsOfTheProcess(t *testing.T) {
	b, _ := surf(t, server.Config{HTTPToken: "letmein", HTTPDebug: true})
	b = b.with("Authorization", "Bearer letmein")
	begins := map[string]string{"profile": "\x1f\x8b", "trace": "go 1."}
	for name, begin := range begins {
		codes := make(chan int, 2)
		for range cap(codes) {
			go func() {
				got := b.fetch("/debug/pprof/" + name + "?seconds=1")
				if got.code == http.StatusOK && !strings.HasPrefix(string(got.body), begin) {
					t.Errorf("%s begins with %.20q", name, got.body)
				}
				codes <- got.code
			}()
		}
		first, second := <-codes, <-codes
		if min(first, second) != http.StatusOK || max(first, second) != http.StatusConflict && max(first, second) != http.StatusOK {
			t.Errorf("two of %s at a time answer %d and %d", name, first, second)
		}
	}
}

// TestDebugWithoutToken asks that profiles are not to be had without a secret.
func TestDebugWithoutToken(t *testing.T) {
	err := (&server.Config{HTTPDebug: true}).Check()
	if !errors.Is(err, bloomery.ErrParameter) || !strings.Contains(err.Error(), "http-token") {
		t.Errorf("Check() = %v", err)
	}
}

// fetched is an answer, read.
type fetched struct {
	code int
	body []byte
}

// fetch returns whatever the answer is.
func (b *browser) fetch(path string) fetched {
	resp := b.do(http.MethodGet, path, "")
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Error(err)
	}
	return fetched{resp.StatusCode, body}
}
