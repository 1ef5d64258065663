package gym

import "time"

// spinner waits for an answer by polling for it, for a while, before the reader sleeps until it comes. To wake a thread
// that sleeps on another processor takes tens of microseconds, a good part of what a batch of a fast environment takes;
// to poll takes one. It is of use only while nobody else wants the processor and answers come soon. Therefore after a
// vain attempt a number of answers are slept for, twice as many each time. Wire.py waits for requests in the same way.
// Where the system does not tell whether others want the processor, both always sleep.
type spinner struct {
	skip  float64 // answers to sleep for before the next attempt
	pause float64 // skip after the next vain attempt; 0 is 1
}

const (
	// longestSpin is how long an attempt lasts at most: several times what a batch of a fast environment takes in which
	// some episodes end, as to reset Lunar Lander takes as long as tens of its steps.
	longestSpin = 5 * time.Millisecond
	// disturbed is a turn of the loop so long that another process must have had the processor, not only an interrupt.
	disturbed = 200 * time.Microsecond
	// mostSkip bounds the answers to sleep for, so that polling is resumed when the processor is free again.
	mostSkip = 1 << 10
	// recovery is by which share an attempt that was not in vain shortens the pause after the next one that is.
	recovery = 1. / 16
)

// wait returns when readable says so, or when polling is in vain.
func (s *spinner) wait(readable func() bool) {
	if s.skip >= 1 {
		s.skip--
		return
	}
	if readable() {
		return
	}
	start := time.Now()
	for last := start; ; {
		yield()
		done, now := readable(), time.Now()
		if now.Sub(last) > disturbed || now.Sub(start) > longestSpin {
			s.vain()
			return
		}
		if done {
			s.useful()
			return
		}
		last = now
	}
}

func (s *spinner) vain() {
	s.skip = max(s.pause, 1)
	s.pause = min(2*s.skip, mostSkip)
}

func (s *spinner) useful() { s.pause -= s.pause * recovery }
