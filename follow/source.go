package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/regular"
)

// source is where a folder is read from.
type source interface {
	// open opens a file of the folder. With the tag of an earlier answer it returns errSame
	// if the file has not changed since.
	open(ctx context.Context, name, tag string) (io.ReadCloser, answer, error)
	// String is the address without a password.
	String() string
}

// answer is what a source says of a file.
type answer struct {
	tag string        // of this content, "" for none
	age time.Duration // for how long a cache on the way has had it
}

// errSame means that a file has not changed.
var errSame = errors.New("not changed")

// newSource returns the source at an address.
func newSource(address string, client *http.Client) (source, error) {
	if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
		if address == "" || strings.Contains(address, "://") {
			return nil, fmt.Errorf("%w: %q is neither an address that begins with https:// or http:// nor a folder", bloomery.ErrParameter, address)
		}
		return folder(address), nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%w: %q is no address of a folder", bloomery.ErrParameter, address)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, indexName), "/") + "/"
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%w: %q: the address of a folder has no query", bloomery.ErrParameter, address)
	}
	u.RawPath = ""
	if client == nil {
		client = &http.Client{CheckRedirect: onlySafe}
	}
	return &web{client, u}, nil
}

// folder is a folder of this machine.
type folder string

func (f folder) String() string { return string(f) }

func (f folder) open(_ context.Context, name, _ string) (io.ReadCloser, answer, error) {
	r, err := regular.Open(filepath.Join(string(f), name))
	if err == nil {
		return r, answer{}, nil
	}
	if info, failed := os.Stat(string(f)); failed == nil && !info.IsDir() {
		err = fmt.Errorf("%w: %s is a file: publish it into a folder (follow.Publish, bloomery publish), and follow that", bloomery.ErrParameter, f)
	}
	return nil, answer{}, err
}

// web is a folder of a web server.
type web struct {
	client *http.Client
	base   *url.URL
}

func (w *web) String() string { return w.base.Redacted() }

// A server sends a few bytes at least in the time that it may be silent: one that sends a byte
// now and then is not waited for.
const (
	stalled  = 30 * time.Second
	fewBytes = 16 << 10
)

func (w *web) open(ctx context.Context, name, tag string) (io.ReadCloser, answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	silence := time.AfterFunc(stalled, func() { cancel(fmt.Errorf("%s has sent next to nothing for %v", w, stalled)) })
	end := func(err error) error {
		silence.Stop()
		if cause := context.Cause(ctx); cause != nil && err != nil {
			err = cause
		}
		cancel(nil)
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.base.JoinPath(name).String(), http.NoBody)
	if err != nil {
		return nil, answer{}, end(err)
	}
	req.Header.Set("Accept-Encoding", "identity") // what is here is compressed already
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, answer{}, end(err)
	}
	silence.Reset(stalled)
	a := answer{tag: resp.Header.Get("ETag")}
	if s, err := strconv.ParseUint(resp.Header.Get("Age"), 10, 31); err == nil {
		a.age = time.Duration(s) * time.Second
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return &body{ReadCloser: resp.Body, silence: silence, end: end}, a, nil
	case http.StatusNotModified:
		if err = errSame; tag == "" {
			err = fmt.Errorf("%s: the server answers %s, which was not asked for", w.base.JoinPath(name).Redacted(), resp.Status)
		}
	default:
		err = fmt.Errorf("%s: the server answers %s", w.base.JoinPath(name).Redacted(), resp.Status)
	}
	_ = resp.Body.Close()
	end(nil) //nolint:errcheck // it has none
	return nil, a, err
}

// onlySafe follows redirects, but not from https to something else.
func onlySafe(to *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= 10:
		return errors.New("too many redirects")
	case via[0].URL.Scheme == "https" && to.URL.Scheme != "https":
		return errors.New("redirected from https to " + to.URL.Scheme)
	}
	return nil
}

// body is what a server sends, as long as it sends something.
type body struct {
	io.ReadCloser
	silence *time.Timer
	since   int // bytes that have come since the timer was set
	end     func(error) error
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.since += n; b.since >= fewBytes {
		b.since = 0
		b.silence.Reset(stalled)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.end(err)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.end(nil) //nolint:errcheck // it has none
	return err
}

// readAll reads a file of so many bytes at most.
func readAll(ctx context.Context, s source, name, tag string, most uint64) ([]byte, answer, error) {
	r, a, err := s.open(ctx, name, tag)
	if err != nil {
		return nil, a, err
	}
	defer r.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && uint64(len(data)) > most {
		err = fmt.Errorf("%w: %s has more than %d bytes", bloomery.ErrTooLarge, name, most)
	}
	return data, a, err
}
