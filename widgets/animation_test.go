package widgets

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"slices"
	"strings"
	"testing"
)

func TestAnimationShowsEveryPicture(t *testing.T) {
	var pictures []image.Image
	colors := []color.RGBA{{R: 255, A: 255}, {G: 255, A: 255}, {B: 255, A: 255}}
	for _, c := range colors {
		p := image.NewRGBA(image.Rect(3, 4, 11, 8)) // 8 × 4, not at the origin
		for y := 4; y < 8; y++ {
			for x := 3; x < 11; x++ {
				p.Set(x, y, c)
			}
		}
		p.Set(10, 7, color.White) // the corner that stays when every other pixel is taken is at (9, 6)
		p.Set(9, 6, color.Black)
		pictures = append(pictures, p)
	}
	data, err := animate(pictures, 4, 10)
	if err != nil {
		t.Fatal(err)
	}
	got, err := gif.DecodeAll(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Image) != 3 || got.Config.Width != 4 || got.Config.Height != 2 || got.Delay[0] != 10 ||
		got.LoopCount != 0 {
		t.Fatalf("%d pictures of %d × %d, delays %v, loop count %d", len(got.Image), got.Config.Width,
			got.Config.Height, got.Delay, got.LoopCount)
	}
	for i, want := range colors {
		if r, g, b, _ := got.Image[i].At(0, 0).RGBA(); uint8(r>>8) != want.R || uint8(g>>8) != want.G ||
			uint8(b>>8) != want.B {
			t.Errorf("picture %d has the color %d %d %d, want %v", i, r>>8, g>>8, b>>8, want)
		}
		if r, g, b, _ := got.Image[i].At(3, 1).RGBA(); r+g+b != 0 {
			t.Errorf("picture %d has the color %d %d %d in its corner, want black", i, r>>8, g>>8, b>>8)
		}
	}
}

// A GIF's delays are whole hundredths of a second. They add up to those of the rate, whether that divides 100 or not.
func TestAnimationsKeepTheirRate(t *testing.T) {
	pictures := slices.Repeat([]image.Image{image.NewRGBA(image.Rect(0, 0, 2, 2))}, 121)
	for _, perSecond := range []int{1, 12, 20, 30, 40, 50} {
		data, err := animate(pictures, 2, perSecond)
		if err != nil {
			t.Fatal(err)
		}
		got, err := gif.DecodeAll(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, d := range got.Delay[:120] { // the last picture stays for longer
			sum += d
		}
		if want := 100 * 120 / perSecond; sum != want {
			t.Errorf("%d a second: 120 pictures take %d hundredths of a second, want %d", perSecond, sum, want)
		}
	}
}

func TestAnimationRefusesWhatItCannotShow(t *testing.T) {
	small, large := image.NewRGBA(image.Rect(0, 0, 2, 2)), image.NewRGBA(image.Rect(0, 0, 3, 2))
	for name, c := range map[string]struct {
		pictures         []image.Image
		width, perSecond int
	}{
		"needs pictures": {nil, 10, 10}, "perSecond": {[]image.Image{small}, 10, 0}, "width": {[]image.Image{small}, 0,
			10},
		"picture 1": {[]image.Image{small, large}, 10, 10},
		"is empty":  {[]image.Image{image.NewRGBA(image.Rectangle{})}, 10, 10},
	} {
		if _, err := animate(c.pictures, c.width, c.perSecond); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one about %q", err, name)
		}
	}
}

// Without a notebook nothing is shown; what cannot be shown is said first.
func TestPicturesAreRefusedAsSuch(t *testing.T) {
	if err := ShowPictures("none", 10); err == nil || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("error %v for no pictures", err)
	}
	err := ShowAnimations(10, 5, Animation{Title: "empty"})
	if err == nil || !strings.Contains(err.Error(), "needs pictures") {
		t.Errorf("error %v for an animation of nothing", err)
	}
	one := image.NewRGBA(image.Rect(0, 0, 2, 2))
	if err := ShowPictures("one", 10, one); !errors.Is(err, ErrNoNotebook) {
		t.Errorf("error %v, want that there is no notebook", err)
	}
}
