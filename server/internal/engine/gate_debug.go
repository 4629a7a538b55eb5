//go:build bloomerydebug

package engine

// Records of the gate, in debug builds.

import "github.com/bloomery/bloomery/server/internal/gate"

// GateReport returns what was recorded of the gate since the last call.
func (e *Engine) GateReport() gate.Report { return e.gate.Report() }
