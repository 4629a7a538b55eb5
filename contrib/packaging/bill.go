package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"io"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bill is a bill of materials in the form of CycloneDX 1.6: what a binary was made
// of.
type bill struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// writeBill writes the bill of a binary, from what Go has recorded in it.
func writeBill(name, binary, version, commit string, when time.Time) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	sum, err := checksum(binary)
	if err != nil {
		return err
	}
	return create(name, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(newBill(info, sum, version, commit, when))
	})
}

// newBill makes the bill of a binary with this checksum.
func newBill(info *debug.BuildInfo, sum, version, commit string, when time.Time) bill {
	main := goComponent(info.Main.Path, "v"+version)
	main.Type, main.Hashes = "application", []hash{{"SHA-256", sum}}
	main.Properties = []property{{"vcs.revision", commit}}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS", "GOARCH", "CGO_ENABLED":
			main.Properties = append(main.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	b := bill{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata:   metadata{when.Format(time.RFC3339), main},
		Components: []component{goComponent("stdlib", strings.TrimPrefix(info.GoVersion, "go"))},
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, goComponent(m.Path, m.Version))
	}
	slices.SortFunc(b.Components, func(x, y component) int { return cmp.Compare(x.Ref, y.Ref) })
	all := dependency{Ref: main.Ref}
	for _, c := range b.Components {
		all.DependsOn = append(all.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{all}
	return b
}

func goComponent(path, version string) component {
	purl := "pkg:golang/" + path + "@" + url.QueryEscape(version)
	return component{Ref: purl, Type: "library", Name: path, Version: version, PURL: purl}
}
