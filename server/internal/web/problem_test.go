package web

import (
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestRetryAfter asks that a response that may be another one soon says so, and no
// other.
func TestRetryAfter(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusServiceUnavailable: "1", http.StatusTooManyRequests: "1", http.StatusNotFound: "", http.StatusInsufficientStorage: "", http.StatusInternalServerError: "",
	} {
		w := httptest.NewRecorder()
		writeProblem(w, problem{status, "code", "message"})
		if got := w.Header().Get("Retry-After"); got != want || w.Code != status {
			t.Errorf("%d has %q, want %q", w.Code, got, want)
		}
	}
}

// TestEncode asks that what JSON does not have is an error, and what means something
// in HTML stays as it is.
func TestEncode(t *testing.T) {
	if data, err := encode(math.NaN()); err == nil {
		t.Errorf("NaN = %s", data)
	}
	if data, err := encode("<a&b>"); err != nil || string(data) != "\"<a&b>\"\n" {
		t.Errorf("%s, %v", data, err)
	}
}

// TestProblems asks for the status and the code of errors of commands.
func TestProblems(t *testing.T) {
	for text, want := range map[string]problem{
		"NOAUTH Authentication required.": {401, "unauthorized", "NOAUTH Authentication required."},
		"OOM command not allowed":         {507, "out_of_memory", "OOM command not allowed"},
		"LOADING it catches up":           {503, "starting", "LOADING it catches up"},
		"CLUSTERDOWN shard 7":             {503, "cluster_down", "CLUSTERDOWN shard 7"},
		"ERR item exists":                 {409, "exists", "item exists"},
		"ERR bad capacity":                {400, "invalid", "bad capacity"},
	} {
		if got := problemOf(text); got != want {
			t.Errorf("%s = %+v, want %+v", text, got, want)
		}
	}
	if got := asProblem(http.ErrBodyNotAllowed); got.status != 500 || got.code != "internal" {
		t.Errorf("an error of ours = %+v", got)
	}
	if got := asProblem(notFound); got != notFound {
		t.Errorf("a problem = %+v", got)
	}
}
