package memory

import "runtime"

// copyStep is how much Copy copies between two pauses: some tenths of a millisecond.
const copyStep = 1 << 20

// Copy copies src to the beginning of dst, which is as long or longer. The collector cannot stop a goroutine in the middle of a
// copy, and while it waits for one, all others may wait with it: for half a second if pages of 256 MiB have to be cleared
// first. So others have their turn after every step.
func Copy(dst, src []byte) { copySteps(dst, src, runtime.Gosched) }

func copySteps(dst, src []byte, pause func()) {
	for len(src) > copyStep {
		copy(dst, src[:copyStep])
		dst, src = dst[copyStep:], src[copyStep:]
		pause()
	}
	copy(dst, src)
}
