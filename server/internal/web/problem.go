package web

// Problems: errors as the API answers them.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// problem is why a request has no answer. It is written as
// {"error": {"code": …, "message": …}}.
type problem struct {
	status  int
	code    string // a word for programs
	message string // a sentence for people
}

// Error implements error.
func (p problem) Error() string { return p.message }

// invalid is the problem of a request that makes no sense.
func invalid(format string, args ...any) problem {
	return problem{http.StatusBadRequest, "invalid", fmt.Sprintf(format, args...)}
}

// The codes in front of the errors of commands, and texts without one, with what
// they are in HTTP. What is not here is an invalid request.
var replyProblems = []struct {
	prefix string
	status int
	code   string
}{
	{"NOAUTH", http.StatusUnauthorized, "unauthorized"},
	{"WRONGPASS", http.StatusUnauthorized, "unauthorized"},
	{"NOPERM", http.StatusForbidden, "forbidden"},
	{"WRONGTYPE", http.StatusConflict, "wrong_type"},
	{"OOM", http.StatusInsufficientStorage, "out_of_memory"},
	{"ERR Insufficient memory", http.StatusInsufficientStorage, "out_of_memory"},
	{"LOADING", http.StatusServiceUnavailable, "starting"},
	{"CLUSTERDOWN", http.StatusServiceUnavailable, "cluster_down"},
	{"MISCONF", http.StatusServiceUnavailable, "not_durable"},
	{"LIMIT", http.StatusTooManyRequests, "too_many_adds"},
	{"ERR not found", http.StatusNotFound, "not_found"},
	{"ERR no such key", http.StatusNotFound, "not_found"},
	{"ERR item exists", http.StatusConflict, "exists"},
	{"Not found", http.StatusNotFound, "not_found"},
	{"Cuckoo filter was not found", http.StatusNotFound, "not_found"},
	{"ERR filter is full", http.StatusConflict, "full"},
	{"ERR non scaling filter is full", http.StatusConflict, "full"},
	{"Filter is full", http.StatusConflict, "full"},
	{"Maximum expansions reached", http.StatusConflict, "full"},
}

// problemOf returns what the error of a command is in HTTP.
func problemOf(text string) problem {
	message := strings.TrimPrefix(text, "ERR ")
	for _, p := range replyProblems {
		if strings.HasPrefix(text, p.prefix) {
			return problem{p.status, p.code, message}
		}
	}
	return problem{http.StatusBadRequest, "invalid", message}
}

// asProblem returns the problem of an error.
func asProblem(err error) problem {
	if p, ok := errors.AsType[problem](err); ok {
		return p
	}
	return problem{http.StatusInternalServerError, "internal", err.Error()}
}

// writeProblem answers a problem.
func writeProblem(w http.ResponseWriter, p problem) {
	type body struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if p.status == http.StatusServiceUnavailable || p.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	data, err := json.Marshal(map[string]body{"error": {p.code, p.message}})
	if err != nil { // two strings always have an encoding
		panic(err)
	}
	writeBytes(w, p.status, "application/json", append(data, '\n'))
}

// challenge asks who a client is, if that is the problem. A browser shows a dialog for
// a user and a password, or the token as a password, where a person opens a page;
// scripts get an answer instead of a dialog.
func (p problem) challenge(head http.Header, r *http.Request) {
	if p.status != http.StatusUnauthorized {
		return
	}
	head.Add("WWW-Authenticate", `Bearer realm="bloomery"`)
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode == "" || mode == "navigate" {
		head.Add("WWW-Authenticate", `Basic realm="bloomery", charset="UTF-8"`)
	}
}

// writeBytes answers data that must not be kept by anybody.
func writeBytes(w http.ResponseWriter, status int, kind string, data []byte) {
	head := w.Header()
	head.Set("Content-Type", kind)
	head.Set("Content-Length", strconv.Itoa(len(data)))
	if head.Get("Cache-Control") == "" {
		head.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	_, _ = w.Write(data) // whoever does not take it has gone
}
