// Tests of packages: service file, image and compose file.

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// readRoot reads a file of the repository.
func readRoot(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPackagedSettings checks the settings that packages come with, and each of
// those that are commented out.
func TestPackagedSettings(t *testing.T) {
	text := readRoot(t, "contrib/packaging/bloomery.toml")
	if code, _, errOut := call(t, "config", "check", writeConfig(t, text)); code != 0 {
		t.Errorf("the packaged settings are wrong: %s", errOut)
	}
	n := 0
	for line := range strings.Lines(text) {
		if commented, ok := strings.CutPrefix(line, "#"); ok && regexp.MustCompile(`^[a-z-]+ = `).MatchString(commented) {
			n++
			if code, _, errOut := call(t, "config", "check", writeConfig(t, commented)); code != 0 {
				t.Errorf("%s: %s", commented, errOut)
			}
		}
	}
	if n < 3 {
		t.Errorf("%d settings are commented out", n)
	}
}

// TestEnvironmentNames asks that every BLOOMERY_ variable of files that people start
// from is a setting.
func TestEnvironmentNames(t *testing.T) {
	known := []string{"BLOOMERY_CONFIG", "BLOOMERY_LOG_LEVEL", "BLOOMERY_LOG_FORMAT"}
	for _, s := range server.Settings() {
		known = append(known, s.Env())
	}
	variable := regexp.MustCompile(`BLOOMERY_[A-Z_]+`)
	for _, name := range []string{"Dockerfile", "compose.yaml", "contrib/packaging/environment", "contrib/systemd/bloomery.service", "contrib/helm/bloomery/templates/statefulset.yaml", "docs/install.md"} {
		for _, found := range variable.FindAllString(readRoot(t, name), -1) {
			if !slices.Contains(known, found) {
				t.Errorf("%s has %s, which is no setting", name, found)
			}
		}
	}
}

// TestImage asks that the parts of the image fit: user, ports, and the health check
// of what it serves.
func TestImage(t *testing.T) {
	text := readRoot(t, "Dockerfile")
	for _, want := range []string{
		"\nFROM scratch\n", "\nUSER 65532:65532\n", "--chown=65532:65532", "BLOOMERY_ADDR=0.0.0.0:6379", "BLOOMERY_HTTP=0.0.0.0:8379", "BLOOMERY_DIR=/data",
		"\nVOLUME /data\n", "\nEXPOSE 6379 8379\n", `CMD ["/bloomery", "ping"]`, "\nENTRYPOINT [\"/bloomery\"]\nCMD [\"serve\"]\n",
		"CGO_ENABLED=0", "./cmd/bloomery",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("Dockerfile does not have %q", want)
		}
	}
	if ping, _, err := newRoot(nil).Find([]string{"ping", "--addr", "x"}); err != nil || ping.Name() != "ping" || ping.Flags().Lookup("addr") == nil {
		t.Errorf("the health check calls a command that is not there: %v", err)
	}
	for _, copied := range regexp.MustCompile(`(?m)^COPY ([\w. ]+) \S+$`).FindAllStringSubmatch(text, -1) {
		for name := range strings.FieldsSeq(copied[1]) {
			if _, err := os.Stat(filepath.Join("../..", name)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCompose asks that what compose.yaml mounts is there, that ports are open on this
// machine only, and that Prometheus asks the right port.
func TestCompose(t *testing.T) {
	text := readRoot(t, "compose.yaml")
	mounts := regexp.MustCompile(`(?m)^      - \./([^:\s]+):`).FindAllStringSubmatch(text, -1)
	if len(mounts) < 3 {
		t.Errorf("%d files are mounted", len(mounts))
	}
	for _, m := range mounts {
		if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"prometheus.yml", "alerts.yml"} {
		if _, err := os.Stat(filepath.Join("../../contrib/prometheus", name)); err != nil {
			t.Error(err)
		}
	}
	ports := regexp.MustCompile(`(?m)^      - (\S+):\d+:\d+$`).FindAllStringSubmatch(text, -1)
	if len(ports) != 4 {
		t.Errorf("%d ports are open", len(ports))
	}
	for _, p := range ports {
		if p[1] != "127.0.0.1" {
			t.Errorf("%s is open to other machines", p[0])
		}
	}
	if !strings.Contains(readRoot(t, "contrib/prometheus/prometheus.yml"), `targets: ["bloomery:8379"]`) {
		t.Error("Prometheus asks another port")
	}
}

// TestWorkflows asks that every step of .github/workflows which calls make names a target that
// there is, so that each works without them.
func TestWorkflows(t *testing.T) {
	makefile := readRoot(t, "Makefile")
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%q, %v", files, err)
	}
	n := 0
	for _, name := range files {
		text := readRoot(t, filepath.Join(".github/workflows", filepath.Base(name)))
		for _, line := range regexp.MustCompile(`run: make ([^\n]*)`).FindAllStringSubmatch(text, -1) {
			for word := range strings.FieldsSeq(line[1]) {
				if strings.Contains(word, "=") || strings.Contains(word, "\"") {
					continue // a variable
				}
				if word == ">>" {
					break
				}
				n++
				if !strings.Contains(makefile, "\n"+word+":") {
					t.Errorf("%s calls make %s, which is no target", name, word)
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("%d targets were found", n)
	}
}

// TestChart asks that the Helm chart is of this release, and asks for the ports and the user of the
// image.
func TestChart(t *testing.T) {
	chart := readRoot(t, "contrib/helm/bloomery/Chart.yaml")
	for _, want := range []string{"\nversion: " + release + "\n", "\nappVersion: " + release + "\n"} {
		if !strings.Contains(chart, want) {
			t.Errorf("Chart.yaml does not have %q", want)
		}
	}
	set := readRoot(t, "contrib/helm/bloomery/templates/statefulset.yaml")
	image := readRoot(t, "Dockerfile")
	for _, m := range regexp.MustCompile(`(?m)^EXPOSE (\d+) (\d+)$`).FindStringSubmatch(image)[1:] {
		if !strings.Contains(set, "containerPort: "+m+"}") {
			t.Errorf("the chart does not have port %s of the image", m)
		}
	}
	if user := regexp.MustCompile(`(?m)^USER (\d+):`).FindStringSubmatch(image)[1]; !strings.Contains(set, "runAsUser: "+user+"\n") {
		t.Errorf("the chart does not run as user %s", user)
	}
}
