package report_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/bench/internal/report"
)

func TestDocument(t *testing.T) {
	d := report.New("Figures", "make figures")
	d.Add("- one\n- two\n\n")
	d.Add("")
	d.Section("Times")
	d.Text("Broken \n\tinto lines.")
	table := &report.Table{Head: []string{"who", "ns"}}
	d.Table(table)
	table.Row("ours", "1.5")
	d.Table(table)
	d.Subsection("How")
	d.Code("sh", "make figures\n")
	const want = "# Figures\n\n`make figures` writes this file.\n\n- one\n- two\n\n" +
		"## Times\n\nBroken into lines.\n\n| who | ns |\n| --- | --: |\n| ours | 1.5 |\n\n### How\n\n```sh\nmake figures\n```\n"
	if got := d.String(); got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}

	var out strings.Builder
	if err := d.Write("", &out, "brief"); err != nil || out.String() != want {
		t.Errorf("Write to stdout: %q, %v, want the document", out.String(), err)
	}
	path := filepath.Join(t.TempDir(), "figures.md")
	out.Reset()
	if err := d.Write(path, &out, "brief"); err != nil || out.String() != "brief" {
		t.Errorf("Write to a file: %q on stdout, %v, want brief", out.String(), err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("the file has %q, %v, want the document", got, err)
	}
}

func TestMedianError(t *testing.T) {
	if got := report.MedianError([]float64{1, 2}); got != 0 {
		t.Errorf("of two values: %v, want 0", got)
	}
	// Deviations 2, 1, 0, 1, 100: their median is 1.
	want := 1.4826 * 1.2533 / math.Sqrt(5)
	if got := report.MedianError([]float64{1, 2, 3, 4, 103}); math.Abs(got-want) > 1e-9 {
		t.Errorf("of five values: %v, want %v", got, want)
	}
}

func TestMedianAndSpan(t *testing.T) {
	odd, even := []float64{9, 1, 2}, []float64{4, 1, 2, 9}
	if got := report.Median(odd); got != 2 {
		t.Errorf("Median(%v) = %v, want 2", odd, got)
	}
	if got := report.Median(even); got != 3 {
		t.Errorf("Median(%v) = %v, want 3", even, got)
	}
	if got, want := report.Quartiles([]float64{5, 1, 3, 2, 4}, "%.1f"), "2.0–4.0"; got != want {
		t.Errorf("Quartiles of 1 to 5 = %q, want %q", got, want)
	}
	if got, want := report.Quartiles(even, "%.2f"), "1.75–5.25"; got != want {
		t.Errorf("Quartiles(%v) = %q, want %q", even, got, want)
	}
	if got, want := report.Span(odd, "%.1f"), "1.0–9.0"; got != want {
		t.Errorf("Span(%v) = %q, want %q", odd, got, want)
	}
}
