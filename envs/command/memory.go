package command

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// Memory is the value of a flag: how many bytes a command may take, 0 for what the system says is available.
type Memory int64

// AddTo adds the flag --memory to a command.
func (m *Memory) AddTo(c *cobra.Command) {
	c.Flags().Var(m, "memory", "most memory that the work may be estimated to take, such as 16GB (default: what the "+
		"system has available)")
}

// units are the units of memory, the smallest last.
var units = []struct {
	name  string
	bytes float64
}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}}

// Set reads a number with a unit, B if there is none.
func (m *Memory) Set(text string) error {
	number, factor := strings.ToUpper(strings.TrimSpace(text)), 1.0
	for _, u := range units {
		if cut, ok := strings.CutSuffix(number, u.name); ok {
			number, factor = strings.TrimSpace(cut), u.bytes
			break
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || !(x > 0) || x*factor >= math.MaxInt64 || x*factor < 1 {
		return fmt.Errorf("want a size such as 500MB or 16GB")
	}
	*m = Memory(x * factor)
	return nil
}

// String writes three digits and a unit; nothing for 0.
func (m *Memory) String() string {
	if *m == 0 {
		return ""
	}
	return size(float64(*m))
}

// Type is what the help calls the value.
func (m *Memory) Type() string { return "size" }

// Check refuses work that is estimated to take more bytes than there may be taken. What names the work.
func (m *Memory) Check(what string, need float64) error {
	limit, whose := float64(*m), "that --memory allows"
	if *m == 0 {
		if limit, whose = availableMemory(), "that the system has available (--memory sets another limit)"; limit == 0 {
			return nil
		}
	}
	if need > limit {
		return fmt.Errorf("%s is estimated to take %s of memory, more than the %s %s", what, size(need), size(limit),
			whose)
	}
	return nil
}

func size(bytes float64) string {
	for _, u := range units {
		if bytes >= u.bytes {
			return fmt.Sprintf("%.3g %s", bytes/u.bytes, u.name)
		}
	}
	return "0 B"
}

// availableMemory returns how many bytes the system says may be taken, and no more than its control group allows; 0
// where it does not say.
func availableMemory() float64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	available := 0.0
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			available = 1024 * number(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		}
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if limit := number(string(text)); limit > 0 { // not "max"
			available = min(available, limit)
		}
	}
	return available
}

// number reads a number; 0 for anything else.
func number(text string) float64 {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return 0
	}
	return x
}
