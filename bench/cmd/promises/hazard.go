package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/bloomery/bloomery/bench/internal/library"
)

// hazard is bad input for one library. Each runs in a process of its own,
// since some libraries never come back and some take all memory.
type hazard struct {
	lib     library.Library
	input   input
	outcome outcome
	record  record
}

// outcome is what came of bad input.
type outcome struct {
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"` // what is to be said beyond the kind
	Good bool   `json:"good"`           // whether a user can live with it
}

// The kinds of outcomes.
const (
	refused  = "error"
	panicked = "panic"
	hung     = "hang"
	killed   = "killed"
	accepted = "accepted"
)

// brief is String without the words of an error, a panic or an end.
func (o outcome) brief() string {
	if o.Kind != accepted {
		o.Text = ""
	}
	return o.String()
}

// String returns what tables show.
func (o outcome) String() string {
	s := o.Kind
	if o.Text != "" && o.Kind != refused {
		s += ": " + o.Text
	}
	if !o.Good {
		s = "**" + s + "**"
	}
	return s
}

// name is what -only looks at.
func (h hazard) name() string { return h.lib.Name + "/" + h.input.name }

// hazards returns all bad input for all libraries, nothing tried yet.
func hazards() []hazard {
	var all []hazard
	for _, lib := range library.All() {
		for _, in := range inputs() {
			if in.fits(lib) {
				all = append(all, hazard{lib: lib, input: in})
			}
		}
	}
	return all
}

// provoke gives every library the bad input that o selects and that it was not
// given yet.
func provoke(ctx context.Context, o options, known records) error {
	var all []hazard
	for _, h := range hazards() {
		if _, ok := known.Get(h.name()); o.only.MatchString(h.name()) && (o.again || !ok) {
			all = append(all, h)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	progress("%d cases of bad input", len(all))
	return each(o.workers, all, func(_ int, h *hazard) error {
		h.outcome = h.provoke(ctx, self, o.timeout)
		return known.add(record{Name: h.name(), Outcome: &h.outcome})
	})
}

// childVariable holds the name of the hazard that a process is for.
const childVariable = "BLOOMERY_PROMISES_HAZARD"

// provoke runs one hazard in a process of its own.
func (h hazard) provoke(ctx context.Context, self string, timeout time.Duration) outcome {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childVariable+"="+h.name(), "GOTRACEBACK=none")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return outcome{Kind: hung, Text: fmt.Sprintf("stopped after %v", timeout)}
	case err != nil:
		return outcome{Kind: killed, Text: cause(stderr.String())}
	}
	var o outcome
	if err := json.Unmarshal(stdout.Bytes(), &o); err != nil {
		return outcome{Kind: killed, Text: err.Error()}
	}
	return o
}

// cause returns the line in which the runtime says why it ended the process.
func cause(stderr string) string {
	for _, word := range []string{"out of memory", "cannot allocate memory"} {
		if strings.Contains(stderr, word) {
			return "out of memory"
		}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	return line
}
