package uitest

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// TestReadOnly offers nothing that changes something, and the API refuses it.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	s.send("FILTER.CREATE", "kept", "bloom")
	p := open(t, s.base, "/filters?name=kept")
	if forms := p.texts("form[data-api]"); len(forms) != 1 {
		t.Errorf("forms of a read-only page: %q, want the test of items alone", forms)
	}
	status := js[int](p, `fetch("api/v1/filters/kept", {method: "DELETE"}).then((r) => r.status)`)
	if status != 403 {
		t.Errorf("DELETE without --http-admin = %d, want 403", status)
	}
	p.expect("403")
}

// TestAdmin creates, fills and deletes a filter: refused without the token, then with
// it. Bad input has its message beside the field.
func TestAdmin(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{HTTPAdmin: true, HTTPToken: "open-sesame"})
	p := open(t, s.base, "/filters")
	create := func() { p.click("#create button[type=submit]") }

	p.fill("#c-capacity", "")
	p.fill("#c-error", " ")
	create()
	for field, want := range map[string]string{
		"#c-name-error": "A name, please.", "#c-capacity-error": "A number, please.", "#c-error-error": "A number, please.",
	} {
		if got := p.text(field); got != want {
			t.Errorf("%s = %q, want %q", field, got, want)
		}
	}
	if !js[bool](p, `document.activeElement.id === "c-name"`) {
		t.Error("the focus is not on the first field that is wrong")
	}
	p.fill("#c-name", "made here")
	p.fill("#c-capacity", "10,000")
	p.fill("#c-error", "1 in 1000")

	p.expect("401")
	create()
	p.wait(`document.querySelector("#create [data-form-error]").innerText.includes("token")`)

	p.click("#token")
	p.fill("#token-value", "not a token")
	p.click("#token-form button[type=submit]")
	if got := p.text("#token-error"); !strings.Contains(got, "spaces") {
		t.Errorf("a token with spaces: %q", got)
	}
	p.fill("#token-value", "wrong")
	p.click("#token-form button[type=submit]")
	p.wait(`document.body.innerText.includes("The token is wrong")`)
	p.click("#token")
	p.fill("#token-value", "open-sesame")
	p.click("#token-form button[type=submit]")
	p.wait(`document.querySelector("#create")`)

	p.fill("#c-name", "made here")
	p.fill("#c-capacity", "many")
	p.fill("#c-error", "1 in 1000")
	p.expect("400")
	create()
	p.wait(`document.querySelector("#c-capacity-error").innerText.startsWith("CAPACITY must be a whole number from 1 to 1099511627776 (1000, 1e6, 10M)")`)
	p.fill("#c-capacity", "10k")
	create()
	p.wait(`document.querySelector("h1").innerText === "made here" && document.body.dataset.ready`)
	if got := s.send("FILTER.INFO", "made here"); !strings.Contains(strings.Join(got, " "), "asked 0.001") {
		t.Errorf("FILTER.INFO = %q", got)
	}

	p.fill("#a-items", "one\ntwo\none")
	p.click("section[aria-labelledby=add-title] button")
	p.wait(`document.querySelectorAll("section[aria-labelledby=add-title] .answer tr").length === 3`)
	if answers := p.texts("section[aria-labelledby=add-title] .answer tr"); !strings.Contains(answers[0], "added") {
		t.Errorf("answers = %q", answers)
	}
	if got := s.send("FILTER.HAS", "made here", "two", "three"); got[0] != "1" || got[1] != "0" {
		t.Errorf("FILTER.HAS = %q", got)
	}
	p.wait(`document.querySelector("#items").innerText.includes("2 of")`)

	p.fill("#d-name", "made")
	p.click("section[aria-labelledby=delete-title] button")
	if got := p.text("#d-name-error"); got != "This is not its name." {
		t.Errorf("a wrong name: %q", got)
	}
	p.fill("#d-name", "made here")
	p.click("section[aria-labelledby=delete-title] button")
	p.wait(`document.querySelector(".empty")`)
	if got := s.send("EXISTS", "made here"); got[0] != "0" {
		t.Error("the filter is still there")
	}
}

// TestCure does what the verdict advises.
func TestCure(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{HTTPAdmin: true})
	s.filled(500, "large", "bloom", "CAPACITY", "100000", "BUDGET", "80000")
	p := open(t, s.base, "/filters?name=large")
	if got := p.text("#cure-command"); got != "FILTER.FOLD large" {
		t.Fatalf("command = %q", got)
	}
	before := p.text("main")
	p.click("section[aria-labelledby=verdict-title] form button")
	p.wait(`!document.querySelector("#cure-command")`)
	if after := p.text("main"); after == before || strings.Contains(after, "over its budget") {
		t.Errorf("after the fold the page shows %q", after)
	}
}

// TestPassword shows nothing of a server with a password but that it has one.
func TestPassword(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{Password: "secret", HTTPToken: "open-sesame"})
	s.send("AUTH", "secret")
	s.send("FILTER.CREATE", "private", "bloom")
	p := open(t, s.base, "/calculator")
	p.expect("401")
	p.visit("/filters")
	if text := js[string](p, `document.body.innerText`); strings.Contains(text, "private") || !strings.Contains(text, "Sign in\n") {
		t.Errorf("without the token the page shows %q", text)
	}
	p.click("[data-token]")
	p.fill("#token-value", "open-sesame")
	p.click("#token-form button[type=submit]")
	p.wait(`document.querySelector('tr[data-key="private"]')`)
	p.wait(`document.getElementById("state").dataset.state === "live"`)
}
