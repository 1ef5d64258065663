package command

import (
	"runtime"
	"strings"
	"testing"
)

func TestMemoryIsReadWithItsUnit(t *testing.T) {
	for text, want := range map[string]Memory{"16GB": 16e9, "1.5 gb": 1.5e9, "500MB": 5e8, "12": 12, "2TB": 2e12,
		"3B":  3,
		"7KB": 7000} {
		var m Memory
		if err := m.Set(text); err != nil || m != want {
			t.Errorf("%q is %d (error %v), want %d", text, m, err, want)
		}
	}
	for _, text := range []string{"", "GB", "-1GB", "0", "much", "1e300", "nan", "infTB"} {
		var m Memory
		if err := m.Set(text); err == nil {
			t.Errorf("%q is %d, want an error", text, m)
		}
	}
}

func TestMemoryIsRefusedWithTheNumber(t *testing.T) {
	limit := Memory(2e9)
	if err := limit.Check("the work", 1.99e9); err != nil {
		t.Error(err)
	}
	err := limit.Check("the work", 22.6e9)
	if err == nil || !strings.Contains(err.Error(), "the work is estimated to take 22.6 GB") ||
		!strings.Contains(err.Error(), "2 GB that --memory allows") {
		t.Errorf("error %v", err)
	}
	if runtime.GOOS == "linux" { // which says what is available: less than this, more than that
		var none Memory
		if err := none.Check("the work", 1e16); err == nil || !strings.Contains(err.Error(), "--memory") {
			t.Errorf("error %v for 10 PB", err)
		}
		if err := none.Check("the work", 1e6); err != nil {
			t.Error(err)
		}
	}
}
