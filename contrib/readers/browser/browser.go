// Package browser asks a browser without a window for what a page answers.
package browser

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Names are the programs that can be the browser, in the order in which they are looked for.
var Names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell"}

// Find returns the path of a browser, and an empty one if there is none.
func Find() string {
	for _, name := range Names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// most is how long an answer may be.
const most = 16 << 20

// Ask serves the files of a folder to a browser, has it open one of them, and returns what that
// page posts to /answer. It waits for that until the browser ends or ctx does.
func Ask(ctx context.Context, program, dir, page string) ([]byte, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	answer := make(chan []byte, 1)
	files := http.FileServer(http.Dir(dir))
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/answer" {
			files.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, most))
		if err != nil {
			return // the browser has gone, which is noticed below
		}
		select {
		case answer <- body:
		default: // it has answered
		}
	})}
	go func() { _ = server.Serve(listener) }() // ends with Close
	defer func() { _ = server.Close() }()
	return visit(ctx, program, "http://"+listener.Addr().String()+"/"+page, answer)
}

// visit runs the browser until there is an answer.
func visit(ctx context.Context, program, url string, answer <-chan []byte) ([]byte, error) {
	profile, err := os.MkdirTemp("", "browser-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(profile) }() // what the browser still writes may stay
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-component-update", "--disable-background-networking",
		"--no-first-run", "--user-data-dir="+profile, url)
	cmd.WaitDelay = 10 * time.Second // for what it has started
	var trouble strings.Builder
	cmd.Stderr = &trouble
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case body := <-answer:
		stop()
		<-ended
		return body, nil
	case err := <-ended:
		return nil, fmt.Errorf("%s ended without an answer: %w\n%s", program, err, trouble.String())
	}
}
