package sizing_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPlotCurrent draws the plot again and asks for the same file.
func TestPlotCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the program that draws")
	}
	again := filepath.Join(t.TempDir(), "again.svg")
	if out, err := exec.CommandContext(t.Context(), "go", "run", "plot.go", "-out", again).CombinedOutput(); err != nil {
		t.Fatalf("go run plot.go: %v: %s", err, out)
	}
	want, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../docs/img/bits-per-key.svg")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/img/bits-per-key.svg is not what go generate ./sizing draws")
	}
}
