// Filters behind an address: parts of a file by range requests.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// isAddress reports whether an argument is the address of a file on a web server.
func isAddress(name string) bool {
	return strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://")
}

// webFile is a file on a web server, read by range requests. All parts are of the same file: its
// ETag, or the time and size that the server gave first, must stay.
type webFile struct {
	ctx     context.Context // io.ReaderAt has no room for it
	client  *http.Client
	address *url.URL
	timeout time.Duration

	mu    sync.Mutex // guards what follows
	known bool       // an answer has come
	first edition    // of the file, by the first answer
}

// edition is what tells a file from the one that takes its place.
type edition struct{ etag, modified, size string }

// openWeb returns the file at an address. Nothing is read yet.
func openWeb(ctx context.Context, address string, timeout time.Duration) (*webFile, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: not an address", address)
	case u.Host == "":
		return nil, fmt.Errorf("%s: an address without a server", address)
	}
	client := &http.Client{CheckRedirect: func(to *http.Request, via []*http.Request) error {
		switch {
		case len(via) >= 10:
			return errors.New("too many redirects")
		case via[0].URL.Scheme == "https" && to.URL.Scheme != "https":
			return errors.New("redirected from https to " + to.URL.Scheme)
		}
		return nil
	}}
	return &webFile{ctx: ctx, client: client, address: u, timeout: timeout}, nil
}

// name is the address without a password.
func (f *webFile) name() string { return f.address.Redacted() }

// ReadAt implements io.ReaderAt.
func (f *webFile) ReadAt(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(f.ctx, f.timeout)
	defer cancel()
	n, err := f.read(ctx, p, off)
	if err != nil && overdue(ctx) && f.ctx.Err() == nil {
		err = hinted{fmt.Errorf("no answer within %v", f.timeout), "give it more time with --timeout"}
	}
	return n, err
}

func (f *webFile) read(ctx context.Context, p []byte, off int64) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.address.String(), http.NoBody)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+int64(len(p))-1))
	request.Header.Set("Accept-Encoding", "identity") // offsets are those of the file
	f.mu.Lock()
	if strings.HasPrefix(f.first.etag, `"`) { // a weak one says nothing of bytes
		request.Header.Set("If-Match", f.first.etag)
	}
	f.mu.Unlock()
	response, err := f.client.Do(request)
	if err != nil {
		return 0, withoutAddress(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	size, err := f.accept(response, off)
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(response.Body, p[:min(int64(len(p)), size)])
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return n, fmt.Errorf("the answer ends after %d bytes of %d", n, size)
	case err == nil && n < len(p):
		return n, io.EOF // the file ends here
	}
	return n, err
}

// withoutAddress returns the cause of a failed request: whoever reports it names the address.
func withoutAddress(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

var (
	errNoRanges = hinted{errors.New("the server sends whole files only, it knows no range requests"), "download the file and check that"}
	errReplaced = hinted{errors.New("the file was replaced while it was read"), "ask again"}
)

// accept returns the length of the part of the file that a response has. It is an error if that
// is not the part that begins at off.
func (f *webFile) accept(r *http.Response, off int64) (int64, error) {
	switch r.StatusCode {
	case http.StatusPartialContent:
	case http.StatusOK:
		if r.ContentLength == 0 {
			return 0, io.EOF // there is no part of an empty file
		}
		return 0, errNoRanges
	case http.StatusPreconditionFailed:
		return 0, errReplaced
	case http.StatusRequestedRangeNotSatisfiable:
		return 0, io.EOF
	default:
		return 0, errors.New("the server answers " + r.Status)
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return 0, fmt.Errorf("the server sends parts of a file that it has compressed by %s", encoding)
	}
	var from, to int64
	var size string
	if n, err := fmt.Sscanf(r.Header.Get("Content-Range"), "bytes %d-%d/%s", &from, &to, &size); n != 3 || err != nil || from != off || to < from {
		return 0, fmt.Errorf("the server sends another part than %d: %q", off, r.Header.Get("Content-Range"))
	}
	got := edition{r.Header.Get("ETag"), r.Header.Get("Last-Modified"), size}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.known {
		f.known, f.first = true, got
	}
	if got != f.first {
		return 0, errReplaced
	}
	return to - from + 1, nil
}
