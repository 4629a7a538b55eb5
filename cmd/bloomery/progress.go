package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
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

// progress shows how far a job is, on one line of standard error, until stop
// is called: only at a terminal, and not if the data goes there, too. measure
// tells how many bytes of how many are done; 0 of all means not known.
func (s *shell) progress(label string, measure func() (done, total int64)) (stop func()) {
	if _, ci := s.lookup("CI"); ci || s.quiet || s.noProgress || !s.terminal(s.errOut) || s.terminal(s.out) {
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
			done, total := measure()
			line := progressLine(label, done, total, time.Since(start))
			if width := s.width(s.errOut); len(line) >= width {
				line = line[:max(width-1, 0)]
			}
			_, _ = io.WriteString(s.errOut, eraseLine+line)
			shown = true
			timer.Reset(progressEvery)
		}
	})
	return sync.OnceFunc(func() {
		close(end)
		wg.Wait()
	})
}

// progressLine is the line after so much time.
func progressLine(label string, done, total int64, elapsed time.Duration) string {
	perSecond := float64(done) / elapsed.Seconds()
	speed := bytesText(uint64(perSecond)) + "/s"
	if total <= 0 {
		return fmt.Sprintf("%s: %s, %s", label, bytesText(uint64(done)), speed)
	}
	share := min(float64(done)/float64(total), 1)
	full := int(share * barWidth)
	bar := strings.Repeat("#", full) + strings.Repeat(".", barWidth-full)
	left := time.Duration(float64(total-done) / max(perSecond, 1) * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%s [%s] %3.0f%% of %s, %s, %s left", label, bar, 100*share, bytesText(uint64(total)), speed, left)
}
