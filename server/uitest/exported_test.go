package uitest

import (
	"bytes"
	"compress/gzip"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var exported = flag.String("exported", "", "folder of the page as static files, as bloomery page export writes it")

// mostExported is how many bytes the exported page may have over the wire, compressed.
const mostExported = 1_900_000

// fileServer serves the exported page as any web server would. The code for the browser waits
// until it is let through.
type fileServer struct {
	http.Handler
	code chan struct{} // closed when the code may come

	mu    sync.Mutex
	asked map[string]bool
}

func (s *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.Path] = true
	s.mu.Unlock()
	if r.URL.Path == "/bloomery.bin" {
		<-s.code
	}
	s.Handler.ServeHTTP(w, r)
}

// size returns the bytes of all files that were asked for, compressed as web servers do it.
func (s *fileServer) size(t *testing.T) (n int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for path := range s.asked {
		if path == "/" {
			path = "/index.html"
		}
		data, err := os.ReadFile(filepath.Join(*exported, path))
		if err != nil {
			t.Errorf("the page asks for what is not there: %v", err)
			continue
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(data) // to memory
		_ = z.Close()
		n += min(b.Len(), len(data))
	}
	return n
}

// TestExported uses the page as static files: the first lesson is there before the code has come,
// then everything is answered in the browser.
func TestExported(t *testing.T) {
	if *exported == "" {
		t.Skip("give the folder with -exported: make page-test does")
	}
	files := &fileServer{Handler: http.FileServer(http.Dir(*exported)), code: make(chan struct{}), asked: map[string]bool{}}
	s := httptest.NewServer(files)
	t.Cleanup(s.Close)
	let := sync.OnceFunc(func() { close(files.code) })
	t.Cleanup(let)

	p := open(t, s.URL, "/")
	p.wait(`document.querySelector(".stage").dataset.scene === "cat-dog"`)
	if got := js[int](p, `document.querySelectorAll(".cell").length`); got != 10 {
		t.Errorf("the first lesson has %d cells before the code has come", got)
	}
	t.Logf("first lesson drawn %.0f ms after the start of the navigation", js[float64](p, `performance.getEntriesByName("bloomery-ready")[0].startTime`))
	p.click(`a[href$="lesson=colours"]`)
	p.wait(`document.querySelector(".stage").dataset.scene === "colours"`)
	let()
	p.wait(`performance.getEntriesByName("bloomery-code").length`)
	t.Logf("code started %.0f ms after the start of the navigation", js[float64](p, `performance.getEntriesByName("bloomery-code")[0].startTime`))

	p.visit("/?kind=cuckoo&do=add:apple&do=fill:50&do=ask:apple&step=3")
	p.shown("cuckoo", 3)
	if got := p.text(".said"); !strings.Contains(got, "present") {
		t.Errorf("a cuckoo filter in the browser says %q", got)
	}
	t.Logf("first answer of the code %.0f ms after the start of the navigation", js[float64](p, `performance.now()`))
	p.visit("/?lesson=corrected&step=6")
	p.shown("corrected", 6)
	if got := p.text(".said"); !strings.Contains(got, "was reported as a false positive, so the answer is no.") {
		t.Errorf("a corrected filter in the browser says %q", got)
	}
	p.expect("400") // of a server; here there is none
	p.visit("/?kind=standard&bits=12345")
	p.wait(`[...document.querySelectorAll(".stage .error")].some((e) => e.innerText.includes("256, 512, 1024, 2048 or 4096"))`)
	p.visit("/?view=hashes")
	p.wait(`document.querySelectorAll(".side").length === 2`)
	p.visit("/?view=saturation")
	p.wait(`document.querySelector("#grow-at")?.max === "32"`)
	for _, theme := range []string{"light", "dark"} {
		p.theme(theme)
		p.visit("/calculator.html?n=1e6&p=1%25")
		p.wait(`document.getElementById("calc-m")?.value`)
		if got := p.value("#calc-m"); got != "9,585,059" {
			t.Errorf("a million keys at 1%% take %s bits", got)
		}
		for _, v := range p.violations() {
			t.Errorf("%s: %s", theme, v)
		}
	}
	if n := files.size(t); n > mostExported {
		t.Errorf("the page has %d bytes over the wire, want at most %d", n, mostExported)
	} else {
		t.Logf("%d bytes over the wire, compressed", n)
	}
	if got := js[string](p, `document.querySelector("meta[http-equiv]").content`); !strings.Contains(got, "default-src 'self'") {
		t.Errorf("the policy is %q", got)
	}
	for _, tab := range p.texts(".tabs a") {
		if tab == "Filters" || tab == "Overview" {
			t.Errorf("there is a tab %s without a server", tab)
		}
	}
}
