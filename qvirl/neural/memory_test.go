package neural

import "testing"

// TestMemoryNeedCountsTheWeights against those of models that were trained, and grows with what it takes.
func TestMemoryNeedCountsTheWeights(t *testing.T) {
	for _, architecture := range []Architecture{Heads, Pairs} {
		c := testConfig()
		c.Architecture, c.Steps = architecture, 1
		l, err := NewLearner("test", c, classifier{})
		if err != nil {
			t.Fatal(err)
		}
		task := testTask(1)
		m := fit(t, c, classifier{}, task)[0]
		networks := 0
		for _, p := range m.Parameters() {
			for _, n := range (classifier{}).Networks() {
				if len(p.Name) > len(n.Name) && p.Name[:len(n.Name)+1] == n.Name+"." {
					networks += len(p.Value)
				}
			}
		}
		if got, _ := l.sizes(task.Observation, task.Actions, task.Image); got != float64(networks) || networks == 0 {
			t.Errorf("%s: %g weights, the model has %d", architecture, got, networks)
		}
		few := l.MemoryNeed(task)
		task.Actions = 1_000_000
		// of the last layer alone, with Heads; Pairs has as many activations
		if many, least := l.MemoryNeed(task), 4.0*6*1e6; many-few < least {
			t.Errorf("%s: a million actions take %g bytes more, want at least %g", architecture, many-few, least)
		}
	}
}
