package bloomery_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
)

// negligible is the rate below which the predicted one is only bounded.
const negligible = 1e-10

func TestStatsString(t *testing.T) {
	for want, s := range map[string]bloomery.Stats{
		"bloom: about 2 keys of 1,000,000, 1.18 MiB, 0.00014% full, false positive rate under 0.00000001% (asked 1%)": {
			Kind: "bloom", Capacity: 1_000_000, Items: 2, Bytes: 1_241_600, Saturation: 1.4e-6, Predicted: 2.2e-16, PredictedSigma: 6.2e-17, Asked: 0.01,
		},
		"standard: about 2 keys of 10, 64 B, 10% full, false positive rate 2e-14 (asked 1e-13)": {
			Kind: "standard", Capacity: 10, Items: 2, Bytes: 64, Saturation: 0.1, Predicted: 2e-14, Asked: 1e-13,
		},
		"bloom: about 1,000 keys of 1,000,000, 1.18 MiB, 0.07% full, false positive rate 0.0000012% (asked 1%)": {
			Kind: "bloom", Capacity: 1_000_000, Items: 1000, Bytes: 1_241_600, Saturation: 0.0007, Predicted: 1.2e-8, Asked: 0.01,
		},
		"cuckoo: 1 key of 12, 512 B, 8.33% full, false positive rate 0.39%": {
			Kind: "cuckoo", Capacity: 12, Items: 1, Exact: true, Bytes: 512, Saturation: 1. / 12, Predicted: 0.0039,
		},
		"standard: an unknown number of keys, 64.0 KiB, 100% full, false positive rate 100% ± 1.5%": {
			Kind: "standard", Items: math.MaxUint64, Bytes: 65536, Saturation: 1, Predicted: 1, PredictedSigma: 0.015,
		},
		"counting: about 5 keys, 1.00 GiB, 10% full, 0.25% of counters full, false positive rate under 1e-12": {
			Kind: "counting", Items: 5, Bytes: 1<<30 - 1, Saturation: 0.1, Overflow: 0.0025, Predicted: 1.2e-16,
		},
		"standard: about 0 keys, 8 B, 0% full, false positive rate under 1e-12 (asked 0.00000001%)": {
			Kind: "standard", Bytes: 8, Predicted: 5e-324, PredictedSigma: 5e-324, Asked: negligible,
		},
		": about 0 keys, 0 B, 0% full, false positive rate 0%": {},
	} {
		if got := s.String(); got != want {
			t.Errorf("%+v:\ngot  %s\nwant %s", s, got, want)
		}
	}
}

func TestStatsJSON(t *testing.T) {
	s := bloomery.Stats{Kind: "bloom", Capacity: 1, Items: 2, Exact: true, Bits: 3, Bytes: 4, Saturation: 0.5, Asked: 0.25, Predicted: 0.125}
	want := `{"kind":"bloom","capacity":1,"items":2,"exact":true,"bits":3,"bytes":4,"saturation":0.5,"asked":0.25,"predicted":0.125}`
	data, err := json.Marshal(s)
	if err != nil || string(data) != want {
		t.Errorf("got %s, %v, want %s", data, err, want)
	}
	s.Overflow, s.PredictedSigma = 0.75, 0.0625
	data, err = json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back bloomery.Stats
	if err := json.Unmarshal(data, &back); err != nil || back != s {
		t.Errorf("%s comes back as %+v, %v", data, back, err)
	}
}
