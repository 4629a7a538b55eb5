// The progress line on standard error.

package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultWidth  = 80
	defaultHeight = 24
	barWidth      = 24
	progressDelay = 500 * time.Millisecond // short jobs need no line
	progressEvery = 100 * time.Millisecond
	eraseLine     = "\r\x1b[K"
)

// terminalWidth returns how many characters fit in a line of a terminal.
func terminalWidth(stream any) int {
	width, _ := terminalSize(stream)
	return width
}

// measured is a job whose progress can be measured, in bytes; a total of 0 means
// that it is not known.
type measured interface {
	Done() int64
	Total() int64
}

// steps is a job that goes on when all of its input is read: its line then says what it does, and
// for how long it has run, where a percentage of the input would say that it is done.
type steps struct {
	measured
	doing atomic.Pointer[string]
}

// step begins another part of the job. It does nothing if no progress is shown.
func (j *steps) step(format string, args ...any) {
	if j != nil {
		text := fmt.Sprintf(format, args...)
		j.doing.Store(&text)
	}
}

// line is progressLine for any job.
func line(label string, job measured, elapsed time.Duration, width int) string {
	if j, ok := job.(*steps); ok {
		if doing := j.doing.Load(); doing != nil {
			return longest(width, fmt.Sprintf("%s: %s, %s so far", label, *doing, elapsed.Round(time.Second)), fmt.Sprintf("%s: %s", label, *doing), *doing)
		}
	}
	return progressLine(label, job.Done(), job.Total(), elapsed, width)
}

// progress shows how far a job is, on one line of standard error, until stop
// is called: only at a terminal, and not if data is written to standard output
// and that is the terminal, too.
func (s *shell) progress(label string, job measured, toStdout bool) (stop func()) {
	if !s.progresses(toStdout) {
		return func() {}
	}
	var wg sync.WaitGroup
	end := make(chan struct{})
	start := time.Now()
	wg.Go(func() {
		timer := time.NewTimer(progressDelay)
		defer timer.Stop()
		shown := false
		for {
			select {
			case <-end:
				if shown {
					_, _ = io.WriteString(s.errOut, eraseLine)
				}
				return
			case <-timer.C:
			}
			_, _ = io.WriteString(s.errOut, eraseLine+line(label, job, time.Since(start), s.width(s.errOut)-1))
			shown = true
			timer.Reset(progressEvery)
		}
	})
	return sync.OnceFunc(func() {
		close(end)
		wg.Wait()
	})
}

// progresses reports whether there is a terminal for a line that changes, and somebody
// who wants to see it.
func (s *shell) progresses(toStdout bool) bool {
	_, ci := s.lookup("CI")
	return !ci && !s.quiet && !s.noProgress && s.terminal(s.errOut) && (!toStdout || !s.terminal(s.out))
}

// progressLine is the line after so much time, as long as fits into width. The
// percentage comes first of what is kept.
func progressLine(label string, done, total int64, elapsed time.Duration, width int) string {
	perSecond := float64(done) / elapsed.Seconds()
	speed := bytesText(uint64(perSecond)) + "/s"
	if total <= 0 {
		return longest(width,
			fmt.Sprintf("%s: %s, %s", label, bytesText(uint64(done)), speed),
			fmt.Sprintf("%s: %s", label, bytesText(uint64(done))),
			bytesText(uint64(done)))
	}
	share := min(float64(done)/float64(total), 1)
	full := int(share * barWidth)
	bar := strings.Repeat("#", full) + strings.Repeat(".", barWidth-full)
	left := time.Duration(float64(total-done) / max(perSecond, 1) * float64(time.Second)).Round(time.Second)
	percent := fmt.Sprintf("%3.0f%%", 100*share)
	return longest(width,
		fmt.Sprintf("%s [%s] %s of %s, %s, %s left", label, bar, percent, bytesText(uint64(total)), speed, left),
		fmt.Sprintf("%s [%s] %s, %s left", label, bar, percent, left),
		fmt.Sprintf("%s %s, %s left", label, percent, left),
		fmt.Sprintf("%s %s", label, percent),
		strings.TrimSpace(percent))
}

// longest returns the first text that fits into width, and the beginning of the
// last one if none does.
func longest(width int, texts ...string) string {
	for _, text := range texts {
		if len(text) <= width {
			return text
		}
	}
	last := texts[len(texts)-1]
	return last[:min(max(width, 0), len(last))]
}
