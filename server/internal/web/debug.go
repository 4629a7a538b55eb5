package web

// Profiles and traces of the running process.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"time"
)

// debugRoutes look inside the process: with http-debug, and for the token alone. They are
// written with the packages of the runtime, since net/http/pprof would serve them in the
// default mux of every program that contains the server, too.
var debugRoutes = []route{
	{"GET", "/debug/pprof/profile", (*call).cpuProfile, inside, "Records for some seconds where processor time goes."},
	{"GET", "/debug/pprof/trace", (*call).executionTrace, inside, "Records for some seconds what runs, waits and is collected, when."},
	{"GET", "/debug/pprof/{profile}", (*call).profile, inside, "Returns a profile of now: heap, allocs, goroutine, block, mutex or threadcreate."},
}

const (
	// defaultRecording and mostRecording are how many seconds a profile or a trace takes. The
	// longest fits into the time for an answer.
	defaultRecording = 10
	mostRecording    = 30
)

// recording makes a profile or a trace that takes time: start begins to write it.
func (c *call) recording(name string, start func(io.Writer) error, stop func()) error {
	f := fieldsOf(c.r.URL.Query())
	seconds := f.whole("seconds", defaultRecording, 1, mostRecording)
	if err := f.err(); err != nil {
		return err
	}
	var data bytes.Buffer
	if err := start(&data); err != nil {
		return problem{http.StatusConflict, "recording", "another one is being recorded: try again when it is done"}
	}
	over := time.NewTimer(time.Duration(seconds) * time.Second)
	defer over.Stop()
	gone := false
	select {
	case <-over.C:
	case <-c.h.ended:
	case <-c.r.Context().Done():
		gone = true
	}
	stop()
	if gone {
		return nil
	}
	c.attach(name, data.Bytes())
	return nil
}

func (c *call) cpuProfile() error {
	return c.recording("profile", pprof.StartCPUProfile, pprof.StopCPUProfile)
}

func (c *call) executionTrace() error { return c.recording("trace", trace.Start, trace.Stop) }

// profile answers with a profile that is there at once; debug=1 or 2 is text.
func (c *call) profile() error {
	name := c.r.PathValue("profile")
	p := pprof.Lookup(name)
	if p == nil {
		return problem{http.StatusNotFound, "not_found", "there is no such profile: heap, allocs, goroutine, block, mutex, threadcreate, profile or trace"}
	}
	debug := 0
	if text := c.r.URL.Query().Get("debug"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 2 {
			return invalid("debug must be 0, 1 or 2")
		}
		debug = n
	}
	var data bytes.Buffer
	if err := p.WriteTo(&data, debug); err != nil {
		return errors.Join(errors.New("the profile cannot be made"), err)
	}
	if debug > 0 {
		writeBytes(c.w, http.StatusOK, "text/plain; charset=utf-8", data.Bytes())
		return nil
	}
	c.attach(name, data.Bytes())
	return nil
}

// attach answers with a file.
func (c *call) attach(name string, data []byte) {
	c.w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	writeBytes(c.w, http.StatusOK, "application/octet-stream", data)
}
