package uitest

import (
	_ "embed"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

//go:embed testdata/axe.min.js
var axe string

// violations asks axe-core what keeps people from using the page, by these rules, or by
// all if there are none.
func (p *tab) violations(rules ...string) []string {
	p.t.Helper()
	js[bool](p, `window.axe ? true : (()=>{`+axe+`; return true; })()`)
	only := ""
	if len(rules) > 0 {
		only = fmt.Sprintf(`, runOnly: {type: "rule", values: %q.split(" ")}`, strings.Join(rules, " "))
	}
	return js[[]string](p, `axe.run(document, {resultTypes: ["violations"]`+only+`}).then((r) => r.violations.flatMap((v) =>
		v.nodes.slice(0, 3).map((n) => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary)))`)
}

// wide returns what is wider than the window, "" if nothing is.
func (p *tab) wide() string {
	p.t.Helper()
	return js[string](p, `(() => {
		const w = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= w) return "";
		return [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > w + 1)
			.slice(0, 5).map((e) => e.tagName + "." + e.className).join(", ") || "the page";
	})()`)
}

// stocked is a server with filters of many kinds and states.
func stocked(t *testing.T, c server.Config) *site {
	t.Helper()
	s := serve(t, c)
	s.filled(42_000, "users:seen", "bloom", "CAPACITY", "100000", "ERROR", "0.01")
	s.filled(3500, "mail:spam", "bloom", "CAPACITY", "2000", "ERROR", "0.001")
	s.filled(5200, "carts", "cuckoo", "CAPACITY", "10000")
	s.filled(3000, "visits:today", "window", "CAPACITY", "20000", "SPAN", "24h", "GENERATIONS", "6")
	s.filled(4700, "coupons", "counting", "CAPACITY", "5000")
	s.send("BF.RESERVE", "crawler:urls", "0.001", "2000")
	s.addMany("BF.MADD", "crawler:urls", 9000)
	s.send("CF.RESERVE", "sessions", "20000")
	s.addMany("CF.MEXISTS", "sessions", 10)
	s.send("CMS.INITBYPROB", "clicks", "0.001", "0.01")
	s.send("CMS.INCRBY", "clicks", "home", "25", "about", "4")
	s.send("TOPK.RESERVE", "trends", "10")
	s.send("TDIGEST.CREATE", "latency")
	s.send("FILTER.HAS", "users:seen", "filling:item:1", "nobody")
	return s
}

// tabs are the addresses of a page that are looked at.
var tabs = []string{"/", "/filters", "/filters?name=users:seen", "/filters?name=crawler:urls", "/filters?name=clicks", "/calculator", "/how"}

// TestLooks looks at every tab in both themes, on a telephone and on a very large
// screen: nothing is wider than the window, and axe-core finds nothing.
func TestLooks(t *testing.T) {
	t.Parallel()
	s := stocked(t, server.Config{HTTPAdmin: true})
	s.send("FILTER.CREATE", strings.Repeat("a-very-long-name:", 12), "standard", "CAPACITY", "1000")
	s.send("FILTER.CREATE", "<b>bytes\xff\x00</b>", "bloom", "CAPACITY", "1000")
	for _, look := range []struct {
		theme string
		width int64
		rules []string // of axe-core: those that depend on theme and width, where all were asked before
	}{
		{"light", 1280, nil}, {"dark", 360, []string{"color-contrast", "scrollable-region-focusable", "target-size", "th-has-data-cells"}},
		{"dark", 3840, []string{"color-contrast"}},
	} {
		t.Run(fmt.Sprintf("%s-%d", look.theme, look.width), func(t *testing.T) {
			p := open(t, s.base, "/")
			p.theme(look.theme)
			p.size(look.width, 900)
			for _, path := range tabs {
				p.visit(path)
				if wide := p.wide(); wide != "" {
					t.Errorf("%s: wider than the window: %s", path, wide)
				}
				if look.width == 3840 && path != "/" {
					continue
				}
				for _, v := range p.violations(look.rules...) {
					t.Errorf("%s: %s", path, v)
				}
			}
		})
	}
}

// TestViolationsAreFound makes a mistake that axe-core must find.
func TestViolationsAreFound(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t, server.Config{}).base, "/")
	js[bool](p, `document.querySelector("header").append(document.createElement("input")) || true`)
	if found := strings.Join(p.violations(), " "); !strings.Contains(found, "label") {
		t.Errorf("an input without a label: %q", found)
	}
}

// TestThemeSwitch switches the theme, and finds it so on the next tab.
func TestThemeSwitch(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	p := open(t, s.base, "/")
	p.theme("light")
	background := func() string { return js[string](p, `getComputedStyle(document.body).backgroundColor`) }
	light := background()
	p.click("#theme")
	dark := background()
	if light == dark {
		t.Errorf("the background is %s in both themes", light)
	}
	p.visit("/filters")
	if got := background(); got != dark {
		t.Errorf("on the next tab the background is %s, want %s", got, dark)
	}
	p.theme("dark")
	p.click("#theme")
	if got := background(); got != light {
		t.Errorf("switched again the background is %s, want %s", got, light)
	}
}

// TestEmpty is a server without filters, and a page without a server.
func TestEmpty(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	p := open(t, s.base, "/")
	for _, path := range []string{"/", "/filters"} {
		p.visit(path)
		if text := p.text(".empty"); !strings.Contains(text, "no filters yet") {
			t.Errorf("%s without filters: %q", path, text)
		}
	}
	alone := httptest.NewServer(server.Page())
	t.Cleanup(alone.Close)
	p = open(t, alone.URL, "/")
	for _, path := range []string{"/", "/filters"} {
		p.visit(path)
		if text := p.text(".tabs"); strings.Contains(text, "Overview") || !strings.Contains(text, "How it works") {
			t.Errorf("%s without a server: the tabs %q", path, text)
		}
		for _, v := range p.violations() {
			t.Errorf("%s without a server: %s", path, v)
		}
	}
	p.visit("/calculator")
	p.visit("/how")
}

// TestNames shows names that are not plain words, and leads to their filters.
func TestNames(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	names := []string{"<script>alert(1)</script>", "a/b?c=d&e#f%20", "..", "~tilde", "\xff\xfe", "two words", "snow☃man"}
	for _, name := range names {
		s.send("FILTER.CREATE", name, "bloom", "CAPACITY", "100")
	}
	p := open(t, s.base, "/filters")
	for i := range names {
		p.visit("/filters")
		shown := p.names()[i]
		p.click(fmt.Sprintf(`#table tbody tr:nth-child(%d) a`, i+1))
		p.wait(fmt.Sprintf(`document.querySelector("h1").innerText === %q && document.body.dataset.ready && document.querySelector("#items")`, shown))
	}
}
