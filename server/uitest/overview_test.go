package uitest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// number returns the digits of a text as a number: 64,000 items is 64000.
func number(t *testing.T, text string) int {
	t.Helper()
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.Fields(text + " x")[0])
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("%q is no number", text)
	}
	return n
}

func TestOverviewShowsTheServer(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{Dir: t.TempDir()})
	s.send("FILTER.CREATE", "calm", "bloom", "CAPACITY", "100000")
	s.filled(3000, "crowded", "bloom", "CAPACITY", "1000", "ERROR", "0.001")
	p := open(t, s.base, "/")
	if title := js[string](p, `document.title`); title != "Overview · bloomery" {
		t.Errorf("title = %q", title)
	}
	care := p.texts("section[aria-labelledby=care-title] tbody tr")
	if len(care) != 1 || !strings.Contains(care[0], "crowded") || !strings.Contains(care[0], "Rebuild") {
		t.Errorf("filters that need care = %q, want crowded: Rebuild", care)
	}
	commands := p.texts("section[aria-labelledby=latency-title] tbody th")
	if !slices.Contains(commands, "FILTER.ADD") {
		t.Errorf("commands with latencies = %q, want FILTER.ADD among them", commands)
	}
	if disk := p.text("section[aria-labelledby=disk-title]"); !strings.Contains(disk, "fsync everysec") || !strings.Contains(disk, "ok") {
		t.Errorf("log and snapshot = %q", disk)
	}
	if clients := p.text("section[aria-labelledby=clients-title]"); !strings.Contains(clients, "of 10,000") {
		t.Errorf("clients = %q", clients)
	}
	p.wait(`document.querySelector("#throughput svg")`)
	p.wait(`document.getElementById("state").dataset.state === "live"`)
}

// TestOverviewIsLive sends commands and sees their number rise, without a reload.
func TestOverviewIsLive(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	p := open(t, s.base, "/")
	js[bool](p, `window.untouched = true`)
	before := number(t, p.text("#commands-total"))
	s.send("FILTER.CREATE", "seen", "bloom")
	s.addMany("FILTER.ADD", "seen", 5000)
	p.wait(`[...document.querySelectorAll("section[aria-labelledby=latency-title] tbody th")].some((e) => e.innerText === "FILTER.ADD")`)
	p.wait(fmt.Sprintf(`Number(document.getElementById("commands-total").innerText.replace(/\D/g, "")) >= %d`, before+11))
	if !js[bool](p, `window.untouched === true`) {
		t.Error("the page was loaded again")
	}
	p.click(`a[href="filters"]`)
	p.wait(`document.querySelector("th a") && document.body.dataset.ready`)
}

// TestServerGone says that the connection is lost, and keeps what was shown.
func TestServerGone(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	s.send("FILTER.CREATE", "seen", "bloom")
	p := open(t, s.base, "/filters")
	p.expect("ERR_")
	p.wait(`document.getElementById("state").dataset.state === "live"`)
	s.stop()
	p.wait(`document.getElementById("state").innerText === "Connection lost"`)
	if got := p.names(); len(got) != 1 {
		t.Errorf("names = %q", got)
	}
}
