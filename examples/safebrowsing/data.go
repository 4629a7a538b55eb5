package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// load returns addresses of pages that are unsafe and that are not: phishing sites and hosts of
// malware, and domains of mail services, or made-up ones.
func load(ctx context.Context, o demo.Options) (bad, clean []string, err error) {
	if !o.Full {
		for i := range 5_000 {
			bad = append(bad, fmt.Sprintf("http://shop-%d.example/login/%d", i/3, i))
		}
		for i := range 20_000 {
			clean = append(clean, fmt.Sprintf("https://www.site-%d.example.org/a/page.html?q=%d", i/10, i))
		}
		return bad, clean, nil
	}
	var phishing struct{ Blacklist []string }
	var domains []string
	file, err := demo.NPM(ctx, "eth-phishing-detect@1.2.0", "src/config.json")
	if err == nil {
		err = demo.JSON(file, &phishing)
	}
	if err != nil {
		return nil, nil, err
	}
	file, err = demo.NPM(ctx, "disposable-email-domains@1.0.62", "index.json")
	if err == nil {
		err = demo.JSON(file, &domains)
	}
	if err != nil {
		return nil, nil, err
	}
	top, err := demo.Deb(ctx, "webext-ublock-origin-firefox", "usr/share/mozilla/extensions")
	if err != nil {
		return nil, nil, err
	}
	lists, err := filepath.Glob(filepath.Join(top, "*", "*", "assets/thirdparties/urlhaus-filter/urlhaus-filter-online.txt"))
	if err != nil || len(lists) != 1 {
		return nil, nil, fmt.Errorf("%d lists of URLhaus below %s", len(lists), top)
	}
	hosts, err := demo.Lines(lists[0], "!", "|")
	if err != nil {
		return nil, nil, err
	}
	known := map[string]bool{}
	for _, host := range append(hosts, phishing.Blacklist...) {
		known[host] = true
		bad = append(bad, "http://"+host+"/")
	}
	for i, domain := range domains {
		if !known[domain] {
			clean = append(clean, fmt.Sprintf("https://www.%s/inbox/%d.html?user=%d", domain, i%100, i))
		}
	}
	return bad, clean, nil
}
