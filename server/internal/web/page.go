package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/bloomery/bloomery/page"
)

var pageRoutes = []route{
	{"GET", anyFile, (*call).page, static, "The files of the page."},
}

// asset is a file of the page, ready to be sent.
type asset struct {
	kind   string
	tag    string
	plain  []byte
	zipped []byte // nil if that is no gain
}

// assets are the files of the page by their path. They are compressed once, when
// the first is asked for.
var assets = sync.OnceValue(func() map[string]*asset {
	all := map[string]*asset{}
	err := fs.WalkDir(page.Files(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(page.Files(), name)
		if err == nil {
			all[name] = newAsset(name, data)
		}
		return err
	})
	if err != nil {
		panic(err) // the files are part of the program
	}
	return all
})

func newAsset(name string, data []byte) *asset {
	sum := sha256.Sum256(data)
	a := &asset{kind: mime.TypeByExtension(path.Ext(name)), tag: hex.EncodeToString(sum[:8]), plain: data}
	if kind, ok := pageTypes[path.Ext(name)]; ok {
		a.kind = kind
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level exists
	_, _ = w.Write(data)                                  // to memory
	_ = w.Close()
	if b.Len() < len(data) {
		a.zipped = b.Bytes()
	}
	return a
}

// pageTypes are the types of files: those of the system differ from machine to
// machine.
var pageTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml", ".json": "application/json", ".txt": "text/plain; charset=utf-8",
}

// page sends a file of the page.
func (c *call) page() error {
	a := assets()[c.r.PathValue("file")]
	if a == nil {
		c.h.noSuchPath(c.w, c.r)
		return nil
	}
	head := c.w.Header()
	head.Set("Cache-Control", "no-cache") // asked for again by its tag
	head.Set("Vary", "Accept-Encoding")
	data, tag := a.plain, `"`+a.tag+`"`
	if a.zipped != nil && takesGzip(c.r) {
		head.Set("Content-Encoding", "gzip")
		data, tag = a.zipped, `"`+a.tag+`-gzip"`
	}
	head.Set("ETag", tag)
	if anyTag(c.r) || strings.Contains(c.r.Header.Get("If-None-Match"), tag) {
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	writeBytes(c.w, http.StatusOK, a.kind, data)
	return nil
}

// takesGzip reports whether a client takes compressed files.
func takesGzip(r *http.Request) bool {
	for v := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(v), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return strings.TrimSpace(quality) != "q=0"
		}
	}
	return false
}
