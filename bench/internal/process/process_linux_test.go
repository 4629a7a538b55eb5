package process

import (
	"testing"
	"time"
)

// TestProcess reads what a process takes that is known to compute.
func TestProcess(t *testing.T) {
	p, err := Launch(1, "sh", "-c", "while :; do :; done")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		cpu, err := p.CPU()
		if err != nil {
			t.Fatal(err)
		}
		if cpu > 10*time.Millisecond {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("CPU = %v after a minute of computing", cpu)
		}
	}
	if n, err := p.Memory(); err != nil || n < 100<<10 || n > 100<<20 {
		t.Errorf("Memory() = %d, %v", n, err)
	}
}
