package uitest

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browserNames are programs that can be the browser, in the order in which they are
// looked for.
var browserNames = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell"}

// running is the browser that all tests share; each test has a tab and storage of its
// own.
var running context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withBrowser(m.Run))
}

// withBrowser starts the browser for run, if there is one.
func withBrowser(run func() int) int {
	path := ""
	for _, name := range browserNames {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		return run()
	}
	dir, err := os.MkdirTemp("", "uitest-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.NoSandbox,
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("disable-software-rasterizer", true),
	)
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, cancel := chromedp.NewContext(allocated)
	defer cancel()
	// The first call starts the browser, which ends with its context: it has no
	// timeout.
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		fmt.Fprintln(os.Stderr, "the browser does not start:", err)
		return 1
	}
	running = ctx
	return run()
}

// tab is a tab of the browser, and what was seen in it.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string // address of the server

	mu       sync.Mutex
	console  []string
	foreign  []string // requests to other hosts
	expected []string // parts of console messages that are no mistake
}

// patience is how long a tab may take for one step.
const patience = time.Minute

// open opens a page of a server in a tab of its own. At the end of the test nothing
// must have been written to the console, and nothing asked of another host.
func open(t *testing.T, base, path string) *tab {
	t.Helper()
	if running == nil {
		t.Skipf("there is no browser (%s): make ui installs one", strings.Join(browserNames, ", "))
	}
	ctx, cancel := chromedp.NewContext(running, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx, base: base}
	p.do(chromedp.Navigate("about:blank"))
	go p.listen()
	requests := chromedp.Events(ctx, network.RequestWillBeSent)
	go func() {
		for event, err := range requests {
			if err != nil {
				return
			}
			p.requested(event.Request.URL)
		}
	}()
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{})
		return err
	}))
	t.Cleanup(p.check)
	p.size(1280, 900)
	p.visit(path)
	return p
}

// listen keeps what is written to the console.
func (p *tab) listen() {
	for message, err := range chromedp.Console(p.ctx) {
		if err != nil {
			return
		}
		p.mu.Lock()
		p.console = append(p.console, message.String()+" "+message.URL)
		p.mu.Unlock()
	}
}

// requested keeps requests to other hosts.
func (p *tab) requested(address string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "about" && !strings.HasPrefix(address, p.base+"/") {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.foreign = append(p.foreign, address)
	}
}

// expect lets a test go on although a message of the console has this text in it.
func (p *tab) expect(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = append(p.expected, text)
}

// check reports what must not have happened in the tab.
func (p *tab) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, message := range p.console {
		if !containsAny(message, p.expected) {
			p.t.Errorf("console: %s", message)
		}
	}
	for _, address := range p.foreign {
		p.t.Errorf("a request to another host: %s", address)
	}
}

func containsAny(s string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// do runs steps, and ends the test if one of them fails.
func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	for i, step := range steps {
		if _, err := run(p, step); err != nil {
			p.t.Fatalf("step %d: %v", i+1, err)
		}
	}
}

// run runs an action within the patience of a test. The first one has no bound, as
// its context is that of the tab.
func run[T any](p *tab, action chromedp.Action[T]) (T, error) {
	if chromedp.FromContext(p.ctx).Target == nil {
		return chromedp.Run(p.ctx, action)
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, action)
}

// visit goes to a path and waits until the page is ready.
func (p *tab) visit(path string) {
	p.t.Helper()
	p.do(chromedp.Navigate(p.base + path))
	p.wait(`document.body?.dataset.ready`)
}

// size sets the size of the window.
func (p *tab) size(width, height int64) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, height))
}

// theme sets what the system prefers: light or dark.
func (p *tab) theme(name string) {
	p.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	}))
}

// scripts switches scripts on or off.
func (p *tab) scripts(on bool) {
	p.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	}))
}

// see waits until an element that matches can be seen and used, and brings it into view. Nodes
// are looked up by scripts: with its own lookups the driver has the browser report every
// change of every node.
func (p *tab) see(selector string) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		if (!e?.getClientRects().length || e.disabled) return false;
		e.scrollIntoView({ block: "center", behavior: "instant" });
		return true;
	})()`, selector))
}

// click clicks on the first element that matches.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.see(selector)
	at := js[[]float64](p, fmt.Sprintf(`(() => {
		const r = document.querySelector(%q).getClientRects()[0];
		return [r.x + r.width / 2, r.y + r.height / 2];
	})()`, selector))
	p.do(chromedp.MouseClickXY(at[0], at[1]))
}

// fill puts a text into a field as a person does: what is in it is selected, and
// replaced.
func (p *tab) fill(selector, text string) {
	p.t.Helper()
	p.see(selector)
	js[bool](p, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.focus(); e.select(); return true; })()`, selector))
	if text == "" {
		p.do(chromedp.KeyEvent(kb.Delete))
		return
	}
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}))
}

// text returns the text of the first element that matches.
func (p *tab) text(selector string) string {
	p.t.Helper()
	p.see(selector)
	return js[string](p, fmt.Sprintf(`document.querySelector(%q).innerText.trim()`, selector))
}

// wait waits until an expression is true, and ends the test if it never is.
func (p *tab) wait(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`Boolean(`+expression+`)`))
		if err == nil && ok {
			return
		}
		select {
		case <-ctx.Done():
			shown, _ := run(p, chromedp.Evaluate[string](`document.body.innerText.slice(0, 1500)`))
			p.t.Fatalf("never true: %s\nthe page shows: %s", expression, shown)
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// js returns the value of an expression.
func js[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := run(p, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// texts returns the texts of all elements that match.
func (p *tab) texts(selector string) []string {
	p.t.Helper()
	return js[[]string](p, fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => e.innerText.trim())`, selector))
}
