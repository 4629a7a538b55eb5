package uitest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bloomery/bloomery/server"
)

// names returns the names of the rows of the table.
func (p *tab) names() []string {
	p.t.Helper()
	return p.texts("#table tbody th")
}

func TestTableOfFilters(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	s.filled(1100, "apples", "bloom", "CAPACITY", "1000")
	s.send("FILTER.CREATE", "Bananas", "cuckoo", "CAPACITY", "50000")
	s.send("BF.RESERVE", "cherries", "0.01", "2000")
	s.send("CMS.INITBYPROB", "dates", "0.001", "0.01")
	s.send("TOPK.RESERVE", "elderberries", "10")
	s.send("TDIGEST.CREATE", "figs")
	s.addMany("BF.MADD", "cherries", 500)
	p := open(t, s.base, "/filters")
	if got := p.names(); len(got) != 6 || got[0] != "Bananas" || got[1] != "apples" {
		t.Fatalf("names = %q", got)
	}
	row := strings.Join(strings.Fields(p.text(`tr[data-key="apples"]`)), " ")
	for _, part := range []string{"bloom", "of 1 k", "Rebuild", "1%"} {
		if !strings.Contains(row, part) {
			t.Errorf("row of apples = %q, want %q in it", row, part)
		}
	}
	for name, part := range map[string]string{"dates": "probability 99", "elderberries": "the top 10", "figs": "compression 100"} {
		if row := p.text(`tr[data-key="` + name + `"]`); !strings.Contains(row, part) {
			t.Errorf("row of %s = %q, want %q in it", name, row, part)
		}
	}

	// Sorted by memory, most first, and turned round.
	sorted := `[...document.querySelectorAll("#table th[aria-sort]")].map((e) => e.innerText + " " + e.ariaSort)[0]`
	p.click(`#table thead a[href*="sort=bytes"]`)
	p.wait(sorted + ` === "Memory descending"`)
	down := p.names()
	p.click(`#table thead a[href*="sort=bytes"]`)
	p.wait(sorted + ` === "Memory ascending"`)
	up := p.names()
	slices.Reverse(up)
	if down[0] != up[0] || down[len(down)-1] != up[len(up)-1] || slices.Equal(down, p.names()) {
		t.Errorf("by memory: %q, and reversed %q", down, up)
	}
	if where := js[string](p, `location.search`); !strings.Contains(where, "sort=bytes") {
		t.Errorf("the address has %q, want the order in it", where)
	}

	// Searched while one types, in any case; back gives the order before.
	p.fill("#q", "BAN")
	p.wait(`document.querySelectorAll("#table tr.link").length === 1`)
	if got := p.names(); got[0] != "Bananas" {
		t.Errorf("search for BAN finds %q", got)
	}
	if !js[bool](p, `document.activeElement.id === "q" && document.activeElement.value === "BAN"`) {
		t.Error("the search has lost its focus, or what was typed")
	}
	p.fill("#q", "no such name")
	p.wait(`document.querySelector(".empty")`)
	p.click(".empty a")
	p.wait(`document.querySelectorAll("#table tr.link").length === 6`)

	// The verdict with its reason and the command.
	if text := p.text(`tr[data-key="apples?"]`); !strings.Contains(text, "more than the 1% asked for") || !strings.Contains(text, "FILTER.REBUILD apples BEGIN") {
		t.Errorf("why = %q", text)
	}
	p.click(`tr[data-key="apples?"] button[data-copy]`)
	// The button says so for two seconds only; what a screen reader hears stays.
	p.wait(`["Copied", "Press Ctrl+C"].includes(document.getElementById("announcer").innerText)`)
}

func TestPageOfFilter(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	s.send("BF.RESERVE", "grown", "0.01", "500")
	s.addMany("BF.MADD", "grown", 2000)
	p := open(t, s.base, "/filters")
	p.click(`tr[data-key="grown"] a`)
	p.wait(`document.querySelector("h1").innerText === "grown" && document.body.dataset.ready`)
	if rates := p.texts("section[aria-labelledby=rates-title] tbody th"); !slices.Equal(rates, []string{"Asked", "Predicted", "Probed", "Traffic"}) {
		t.Errorf("rates = %q", rates)
	}
	if layers := p.texts("section[aria-labelledby=layers-title] tbody tr"); len(layers) < 2 {
		t.Errorf("layers = %q, want several", layers)
	}
	if cells := js[int](p, `document.querySelectorAll(".density rect").length`); cells != 256 {
		t.Errorf("the density picture has %d cells, want 256", cells)
	}
	if names := p.texts("section[aria-labelledby=density-title] h3"); !slices.Equal(names, []string{"Layer 1", "Layer 2", "Layer 3"}) {
		t.Errorf("the layers have the pictures %q", names)
	}
	p.wait(`document.querySelector("#fill svg path")`)

	// Items are looked for from the page, also where it is read-only.
	p.fill("#t-items", "grown:item:7\nnever added")
	p.click("section[aria-labelledby=test-title] button")
	p.wait(`document.querySelectorAll("section[aria-labelledby=test-title] .answer tr").length === 2`)
	answers := p.texts("section[aria-labelledby=test-title] .answer tr")
	if !strings.Contains(answers[0], "maybe there") || !strings.Contains(answers[1], "certainly absent") {
		t.Errorf("answers = %q", answers)
	}
	p.fill("#t-items", "")
	p.click("section[aria-labelledby=test-title] button")
	if text := p.text("#t-items-error"); text != "At least one item." {
		t.Errorf("without items: %q", text)
	}
	p.visit("/filters?name=gone")
	if text := p.text(".notice"); !strings.Contains(text, "There is no filter of this name.") {
		t.Errorf("a filter that is not there: %q", text)
	}
	p.expect("404")
}

// TestLiveAfterAdd adds items over RESP and sees them, without a reload, in the table
// and on the page of the filter.
func TestLiveAfterAdd(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	s.send("FILTER.CREATE", "seen", "cuckoo", "CAPACITY", "10000")
	for _, path := range []string{"/filters", "/filters?name=seen"} {
		p := open(t, s.base, path)
		js[bool](p, `window.untouched = true`)
		before := js[string](p, `document.querySelector("[data-flash]").innerText`)
		s.addMany("FILTER.ADD", "seen", 250)
		p.wait(fmt.Sprintf(`document.querySelector("[data-flash]").innerText !== %q`, before))
		if !js[bool](p, `window.untouched === true`) {
			t.Errorf("%s was loaded again", path)
		}
	}
}

// TestManyFilters has ten thousand filters: the server answers a page of them within
// 300 ms, of at most 200 rows.
func TestManyFilters(t *testing.T) {
	const (
		filters = 10_000
		most    = 300 * time.Millisecond
	)
	s := serve(t, server.Config{})
	commands := make([][]string, filters)
	for i := range commands {
		commands[i] = []string{"FILTER.CREATE", fmt.Sprintf("filter:%05d", i), "bloom", "CAPACITY", "100"}
	}
	s.sendAll(commands)
	for _, query := range []string{"per=200", "per=200&sort=saturation&dir=desc", "per=200&q=99", "per=200&sort=verdict"} {
		// Others may use the machine, too: what counts is the time that this process
		// has worked, client included, in the best of several requests.
		best, wall := time.Hour, time.Hour
		for range 5 {
			began, worked := time.Now(), cpuTime(t)
			get(t, s.base+"/filters?"+query)
			best, wall = min(best, cpuTime(t)-worked), min(wall, time.Since(began))
		}
		t.Logf("%s: %v of work, %v", query, best, wall)
		if best > most {
			t.Errorf("%s took %v, want at most %v", query, best, most)
		}
	}
	p := open(t, s.base, "/filters?per=200")
	if n := len(p.names()); n != 200 {
		t.Errorf("%d rows, want 200", n)
	}
	p.click(`a[rel="next"]`)
	p.wait(`document.querySelector("#table tbody th").innerText === "filter:00200"`)
	p.fill("#q", "9999")
	p.wait(`document.querySelectorAll("#table tr.link").length === 1`)
	if got := p.names(); got[0] != "filter:09999" {
		t.Errorf("search finds %q", got)
	}
}

// cpuTime returns how long the processors have worked for this process.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// get returns the body of an address.
func get(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v, %v", address, response.Status, err)
	}
	return string(body)
}

// TestTableWithoutScripts searches, sorts and pages with links and forms alone.
func TestTableWithoutScripts(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	for i := range 60 {
		s.send("FILTER.CREATE", fmt.Sprintf("f%02d", i), "bloom", "CAPACITY", fmt.Sprint(100*(i+1)))
	}
	p := open(t, s.base, "/filters")
	p.scripts(false)
	p.do(chromedp.Navigate(s.base + "/filters"))
	p.click(`a[rel="next"]`)
	p.see(`a[rel="prev"]`)
	if got := p.text("#table tbody tr:first-child th"); got != "f50" {
		t.Errorf("the second page begins with %q, want f50", got)
	}
	p.click(`#table thead a[href*="sort=bytes"]`)
	p.see(`th[aria-sort="descending"]`)
	if got := p.text("#table tbody tr:first-child th"); got != "f59" {
		t.Errorf("the largest is %q, want f59", got)
	}
	p.fill("#q", "f17")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.see(`tr[data-key="f17"]:only-child`)
	p.click(`tr[data-key="f17"] a`)
	p.see("h1.name")
	if got := p.text("h1.name"); got != "f17" {
		t.Errorf("the page of the filter is of %q", got)
	}
	p.scripts(true)
}

// TestKeyboard goes through the table without a mouse.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	s.send("FILTER.CREATE", "only", "bloom")
	p := open(t, s.base, "/filters")
	focused := func() string { return js[string](p, `document.activeElement.innerText ?? document.activeElement.id`) }
	press := func(key string) { p.do(chromedp.KeyEvent(key)) }
	press(kb.Tab)
	if got := focused(); got != "Skip to the content" {
		t.Errorf("the first Tab is on %q", got)
	}
	seen := map[string]bool{}
	for range 40 {
		press(kb.Tab)
		got := focused()
		seen[got] = true
		if got == "only" {
			press(kb.Enter)
			p.wait(`document.querySelector("h1").innerText === "only" && document.body.dataset.ready`)
			break
		}
	}
	for _, name := range []string{"Overview", "Calculator", "How it works", "Search", "only"} {
		if !seen[name] {
			t.Errorf("Tab never came to %q", name)
		}
	}
}
