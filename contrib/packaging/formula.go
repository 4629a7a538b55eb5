package main

import (
	"io"
	"path/filepath"
	"slices"
	"text/template"
)

// formula is that of Homebrew: where the archives are, and their checksums.
var formula = template.Must(template.New("formula").Parse(`class Bloomery < Formula
  desc "Membership filters as a server and on the command line"
  homepage "https://github.com/bloomery/bloomery"
  version "{{.Version}}"
  license "Apache-2.0"
{{range .Systems}}
  on_{{.Name}} do
{{- range .Archives}}
    on_{{.Name}} do
      url "{{.URL}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "bloomery"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/bloomery.bash" => "bloomery"
    zsh_completion.install "completions/_bloomery"
    fish_completion.install "completions/bloomery.fish"
  end

  service do
    run [opt_bin/"bloomery", "serve", "--dir", var/"bloomery"]
    keep_alive true
  end

  test do
    (testpath/"names").write("alice\nbob\n")
    system bin/"bloomery", "build", "-n", "10", "-p", "1%", "-o", "names.bf", "names"
    system bin/"bloomery", "check", "names.bf", "alice"
  end
end
`))

type formulaSystem struct {
	Name     string
	Archives []formulaArchive
}

type formulaArchive struct{ Name, URL, Sum string }

// formulaNames are what Homebrew calls systems and processors.
var formulaNames = map[string]string{"darwin": "macos", "linux": "linux", "amd64": "intel", "arm64": "arm"}

// writeFormula writes the formula of the archives that were made.
func (r *release) writeFormula() error {
	var systems []formulaSystem
	for _, system := range []string{"darwin", "linux"} {
		s := formulaSystem{Name: formulaNames[system]}
		for _, arch := range []string{"amd64", "arm64"} {
			t := target{system, arch}
			if !slices.Contains(r.targets, t) {
				continue
			}
			name := "bloomery_" + r.version + "_" + t.String() + ".tar.gz"
			sum, err := checksum(filepath.Join(r.out, name))
			if err != nil {
				return err
			}
			url := "https://github.com/bloomery/bloomery/releases/download/v" + r.version + "/" + name
			s.Archives = append(s.Archives, formulaArchive{formulaNames[arch], url, sum})
		}
		if s.Archives != nil {
			systems = append(systems, s)
		}
	}
	return create(filepath.Join(r.out, "bloomery.rb"), func(w io.Writer) error {
		return formula.Execute(w, struct {
			Version string
			Systems []formulaSystem
		}{r.version, systems})
	})
}
