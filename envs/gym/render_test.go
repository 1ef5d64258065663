//go:build installed

package gym

import "testing"

// highway-env refuses to draw where SDL has no window, and hands out black pictures.
func TestHighwayIsDrawnWithoutAWindow(t *testing.T) {
	p := open(t, Config{ID: "highway-fast-v0", Imports: []string{"highway_env"},
		Options: map[string]any{"render_mode": "rgb_array"}})
	reset(t, p)
	picture, err := p.Render(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[3]byte]int{}
	for i := 0; i < len(picture.Pix); i += 4 {
		seen[[3]byte(picture.Pix[i:i+3])]++
	}
	if len(seen) < 5 || seen[[3]byte{}] > len(picture.Pix)/8 { // road, lines, our car, other cars, their edges
		t.Errorf("the picture has %d colours, and %d of its %d points are black", len(seen), seen[[3]byte{}],
			len(picture.Pix)/4)
	}
}
