package variational

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/go-birl/birl/qvirl/neural"
)

// ImagePrior is the kernel of the prior over rewards where observations are images (Appendix "Prior Distribution"),
//
//	k((s,a), (s',a')) = σ₀² k_A(a, a') Σ_j α_j k_j(s, s')    with   k_A(a, a) = k_j(s, s) = 1.
//
// Nothing of it is learnt. The weights α_j sum to 1:
type ImagePrior struct {
	// Patches is that of the mean of exp(−‖p − p'‖²/2ℓ²) over patches of 8 × 8 in all frames, at matched places with
	// stride 4.
	Patches float64 `json:"patches"`
	// Motion is that of the same on the differences of consecutive frames.
	Motion float64 `json:"motion"`
	// Pyramid is that of the intersection of mean intensities in the cells of a spatial pyramid (Lazebnik et al. 2006),
	// Σ_l w_l mean_c min(m_c, m'_c), normalised. Level l has 2^l × 2^l cells and the weight w_l = 2^(l−Levels), level 0
	// that of level 1.
	Pyramid float64 `json:"pyramid"`
	// Pixels is that of exp(−‖s − s'‖²/2ℓ²).
	Pixels float64 `json:"pixels"`
	// Levels is the number of the pyramid's levels.
	Levels int `json:"levels"`
	// Actions say what each action does in the words of the Arcade Learning Environment: NOOP, FIRE, UP, RIGHT, LEFT,
	// DOWN, or several of them in one, such as UPRIGHTFIRE; a word for each action, between spaces. k_A is a radial
	// basis function of such features, of lengthscale 1, mixed with 1 for equal actions and 0 for others. Without
	// Actions it is the latter alone.
	Actions string `json:"actions,omitempty"`
}

// PongPrior returns the paper's kernel for Pong, and SpaceInvadersPrior that for Space Invaders, for the given actions.
func PongPrior(actions string) ImagePrior {
	return ImagePrior{Patches: 0.45, Motion: 0.45, Pyramid: 0.05, Pixels: 0.05, Levels: 3, Actions: actions}
}

// SpaceInvadersPrior returns it.
func SpaceInvadersPrior(actions string) ImagePrior {
	return ImagePrior{Patches: 0.25, Motion: 0.35, Pyramid: 0.35, Pixels: 0.05, Levels: 4, Actions: actions}
}

const (
	patchStride = 4
	patchCells  = 2 // a patch's side, in strides
	patchSize   = patchCells * patchStride

	// deltaShare is the share of the action kernel that only equal actions have; the paper calls it small.
	deltaShare = 0.1
	// darkness is added to the pyramid's kernel before it is normalised, so that black images are alike.
	darkness = 1e-6
	// maxLevels keeps cells no smaller than pixels of the usual images.
	maxLevels = 7

	// paramImageScales are ℓ of patches, motion and pixels [3], in multiples of the greatest intensity.
	paramImageScales = "prior.image_lengthscale"
)

// orDefault returns the kernel that is meant: where nothing is set, that of Pong.
func (m ImagePrior) orDefault() ImagePrior {
	if m.Levels == 0 && m.Patches+m.Motion+m.Pyramid+m.Pixels == 0 {
		return PongPrior(m.Actions)
	}
	return m
}

// validate reports the first field that is out of range, by its key in JSON.
func (m ImagePrior) validate() error {
	m = m.orDefault()
	weights := []float64{m.Patches, m.Motion, m.Pyramid, m.Pixels}
	errs := []error{check.NotNegative("image.patches image.motion image.pyramid image.pixels", weights...),
		check.That(math.Abs(floats.Sum(weights)-1) <= 1e-6, "the weights of image sum to %g, want 1",
			floats.Sum(weights)),
		check.That(m.Levels >= 1 && m.Levels <= maxLevels, "image.levels = %d, want 1 to %d", m.Levels, maxLevels)}
	for i, a := range strings.Fields(m.Actions) {
		_, err := actionFeatures(a)
		errs = append(errs, check.That(err == nil, "image.actions: word %d is %q: %w", i, a, err))
	}
	return check.All("variational", errs...)
}

// check refuses images, or a number of actions, that the kernel is not for.
func (m ImagePrior) check(image neural.Image, actions int) error {
	m = m.orDefault()
	if n := len(strings.Fields(m.Actions)); n > 0 && n != actions {
		return fmt.Errorf("variational: image.actions says what %d actions do, there are %d", n, actions)
	}
	if least := max(patchSize, 1<<(m.Levels-1)); image.Frames < 2 || min(image.Height, image.Width) < least {
		return fmt.Errorf("variational: images of %d frames of %d × %d, want at least 2 of %d × %d for the prior over "+
			"rewards, or numbers that are no bytes", image.Frames, image.Height, image.Width, least, least)
	}
	return nil
}

// words are what an action can do.
var words = []string{"UP", "RIGHT", "LEFT", "DOWN", "FIRE"}

// actionFeatures returns which of them an action does.
func actionFeatures(action string) ([]float64, error) {
	rest, out := action, make([]float64, len(words))
	for i, word := range words {
		if strings.Contains(rest, word) {
			rest, out[i] = strings.Replace(rest, word, "", 1), 1
		}
	}
	if rest != "" && action != "NOOP" {
		return nil, fmt.Errorf("want NOOP, or words of %s", strings.Join(words, ", "))
	}
	return out, nil
}

// actionKernel returns k_A [actions, actions].
func (m ImagePrior) actionKernel(actions int) [][]float32 {
	names, out := strings.Fields(m.Actions), make([][]float32, actions)
	for a := range out {
		out[a] = make([]float32, actions)
		for b := range out[a] {
			k := 0.0
			if len(names) > 0 {
				x, _ := actionFeatures(names[a]) // validate has refused others
				y, _ := actionFeatures(names[b])
				distance2 := 0.0
				for i := range x {
					distance2 += (x[i] - y[i]) * (x[i] - y[i])
				}
				k = (1 - deltaShare) * math.Exp(-distance2/2)
			}
			if a == b {
				k = 1
			}
			out[a][b] = float32(k)
		}
	}
	return out
}

// correlation returns the prior correlations [runs, n, n] of the rewards of states [runs, n, frames·height·width],
// bytes, and one-hot actions [runs, n, actions], given the lengthscales [runs, 3]. It has no gradient.
func (m ImagePrior) correlation(image neural.Image, states, actions, scales *Node) *Node {
	m = m.orDefault()
	runs, n := states.Shape().Dim(0), states.Shape().Dim(1)
	pictures := Reshape(states, runs, n, image.Frames, image.Height, image.Width)
	precision := DivScalar(Inverse(Square(scales)), -2*math.MaxUint8*math.MaxUint8) // −1/2ℓ², per unit of a byte
	of := func(i, axes int) *Node { return expand(Squeeze(SliceAxis(precision, 1, AxisElem(i)), 1), axes) }
	x := squares(pictures)
	patches, total := patchKernel(x, of(0, 4))
	before, after := AxisRange(0, image.Frames-1), AxisRange(1)
	motion, _ := patchKernel(Sub(SliceAxis(x, 4, after), SliceAxis(x, 4, before)), of(1, 4))
	bright := MulScalar(ConvertDType(pictures, dtypes.Float32), 1./math.MaxUint8)
	sum := MulScalar(patches, m.Patches)
	sum = Add(sum, MulScalar(motion, m.Motion))
	sum = Add(sum, MulScalar(m.pyramid(bright), m.Pyramid))
	sum = Add(sum, MulScalar(Exp(Mul(total, of(2, 2))), m.Pixels))
	byAction := Const(x.Graph(), m.actionKernel(actions.Shape().Dim(2)))
	alike := Einsum("rna,rma->rnm", Einsum("rna,ab->rnb", actions, byAction), actions)
	return Mul(sum, alike)
}

// ImageCorrelations returns what each piece of the image kernel, in the order of [ImagePieces], says of how alike n
// observations [n, frames·height·width] are: k_j(s, s') [n, n].
func (p *Posterior) ImageCorrelations(observations []float32) ([]*mat.SymDense, error) {
	image := p.model.Spec().Image
	if image == (neural.Image{}) || len(observations)%image.Size() != 0 {
		return nil, fmt.Errorf("variational: %d numbers are no observations of the model, whose images are %+v",
			len(observations), image)
	}
	n := len(observations) / image.Size()
	states := tensors.FromFlatDataAndDimensions(observations, 1, n, image.Size())
	levels := p.objective.Image.orDefault().Levels
	out, err := p.model.Evaluate(func(w *neural.Weights, in []*Node) []*Node {
		pixels := ConvertDType(in[0], dtypes.Uint8)
		same := Ones(in[0].Graph(), shapes.Make(dtypes.Float32, 1, n, 1)) // one action, the same in all
		var pieces []*Node
		for _, piece := range []ImagePrior{{Patches: 1}, {Motion: 1}, {Pyramid: 1}, {Pixels: 1}} {
			piece.Levels = levels
			pieces = append(pieces, piece.correlation(image, pixels, same, w.Parameter(paramImageScales)))
		}
		return pieces
	}, states)
	if err != nil {
		return nil, err
	}
	matrices := make([]*mat.SymDense, len(out))
	for j := range out {
		numbers, err := tensors.CopyFlatData[float32](out[j])
		if err != nil {
			return nil, fmt.Errorf("variational: the correlations of images: %w", err)
		}
		matrices[j] = mat.NewSymDense(n, nil)
		for i := range n {
			for k := range i + 1 {
				matrices[j].SetSym(i, k, float64(numbers[i*n+k]))
			}
		}
	}
	return matrices, nil
}

// ImagePieces are the pieces of the image kernel.
var ImagePieces = []string{"patches", "motion", "pyramid", "pixels"}

// squares cuts pictures [runs, n, frames, height, width] of bytes into squares of the stride's size, [runs, rows,
// columns, n, frames, stride²]. Pixels beyond a multiple of the stride are left out.
func squares(pictures *Node) *Node {
	dims := pictures.Shape().Dimensions
	runs, n, frames, rows, columns := dims[0], dims[1], dims[2], dims[3]/patchStride, dims[4]/patchStride
	x := Slice(pictures, AxisRange(), AxisRange(), AxisRange(), AxisRange(0, rows*patchStride),
		AxisRange(0, columns*patchStride))
	x = Reshape(x, runs, n, frames, rows, patchStride, columns, patchStride)
	x = Reshape(TransposeAllAxes(x, 0, 3, 5, 1, 2, 4, 6), runs, rows, columns, n, frames, patchStride*patchStride)
	return ConvertDType(x, dtypes.Float32)
}

// patchKernel returns the mean over patches of exp(precision ‖p − p'‖²), and ‖x − x'‖², both [runs, n, n], for pictures
// in squares x [runs, rows, columns, n, frames, stride²] of whole numbers. Both are symmetric: of an even number of
// states, the second half is compared with the first, but not the first with the second.
func patchKernel(x, precision *Node) (patches, total *Node) {
	dims := x.Shape().Dimensions
	n := dims[3]
	x = Reshape(x, dims[0], dims[1], dims[2], n, dims[4]*dims[5])
	if n%2 == 1 {
		return patchPairs(x, x, precision)
	}
	a, b := SliceAxis(x, 3, AxisRange(0, n/2)), SliceAxis(x, 3, AxisRange(n/2))
	patchesAA, totalAA := patchPairs(a, a, precision)
	patchesAB, totalAB := patchPairs(a, b, precision)
	patchesBB, totalBB := patchPairs(b, b, precision)
	whole := func(aa, ab, bb *Node) *Node {
		above, below := Concatenate([]*Node{aa, ab}, 2), Concatenate([]*Node{Transpose(ab, 1, 2), bb}, 2)
		return Concatenate([]*Node{above, below}, 1)
	}
	return whole(patchesAA, patchesAB, patchesBB), whole(totalAA, totalAB, totalBB)
}

// patchPairs returns what patchKernel does [runs, n, m] for squares a [runs, rows, columns, n, d] and b
// [runs, rows, columns, m, d]. The squared distances of squares are one product of matrices,
//
//	‖a − b‖² = (−2a, ‖a‖², 1)ᵀ (b, 1, ‖b‖²),
//
// without rounding, as whole numbers below 2²⁴ are exact. A patch is of four squares, and its squared distance the sum
// of theirs.
func patchPairs(a, b, precision *Node) (patches, total *Node) {
	rows, columns := a.Shape().Dim(1), a.Shape().Dim(2)
	square := func(x *Node) *Node { return ReduceAndKeep(Square(x), ReduceSum, -1) }
	left := Concatenate([]*Node{MulScalar(a, -2), square(a), OnesLike(square(a))}, -1)
	right := Concatenate([]*Node{b, OnesLike(square(b)), square(b)}, -1)
	distance2 := Einsum("rijnd,rijmd->rijnm", left, right)
	var sum *Node
	for i := range patchCells {
		for j := range patchCells {
			part := Slice(distance2, AxisRange(), AxisRange(i, rows-patchCells+1+i),
				AxisRange(j, columns-patchCells+1+j))
			sum = graphs.Plus(sum, part)
		}
	}
	return ReduceMean(Exp(Mul(sum, precision)), 1, 2), ReduceSum(distance2, 1, 2)
}

// pyramid returns the pyramid's kernel [runs, n, n] for pictures x [runs, n, frames, height, width].
func (m ImagePrior) pyramid(x *Node) *Node {
	runs, n := x.Shape().Dim(0), x.Shape().Dim(1)
	var sum *Node
	for level := range m.Levels {
		rows := Const(x.Graph(), averages(x.Shape().Dim(3), 1<<level))
		columns := Const(x.Graph(), averages(x.Shape().Dim(4), 1<<level))
		mean := Einsum("rnfiw,jw->rnfij", Einsum("rnfhw,ih->rnfiw", x, rows), columns)
		mean = Reshape(mean, runs, n, mean.Shape().Size()/(runs*n))
		alike := ReduceMean(Min(ExpandAxes(mean, 2), ExpandAxes(mean, 1)), -1)
		alike = MulScalar(alike, math.Pow(2, float64(max(level, 1)-m.Levels)))
		sum = graphs.Plus(sum, alike)
	}
	sum = AddScalar(sum, darkness)
	own := Rsqrt(diagonal(sum))
	return Mul(sum, Mul(ExpandAxes(own, 2), ExpandAxes(own, 1)))
}

// averages returns the matrix [parts, size] that takes the means of as many equal parts of size numbers, with borders
// rounded down.
func averages(size, parts int) [][]float32 {
	out := make([][]float32, parts)
	for i := range out {
		out[i] = make([]float32, size)
		from, to := i*size/parts, (i+1)*size/parts
		for k := from; k < to; k++ {
			out[i][k] = 1 / float32(to-from)
		}
	}
	return out
}

// The pairs of demonstrated states that lengthscales are chosen by, and the places at which patches of each are
// compared.
const (
	scalePairs  = 500
	scalePlaces = 10
)

// imageScales returns the lengthscales of patches, motion and pixels: the median distance between patches, or images,
// of two random states of the demonstrations at one random place. Pairs that are equal do not count: of a picture that
// hardly changes they are most.
func imageScales(d *neural.Data) []float32 {
	random := rand.New(rand.NewPCG(streamImageScales, uint64(d.Len())))
	m := d.Image
	size := m.Height * m.Width
	x, y := make([]uint8, m.Size()), make([]uint8, m.Size())
	var distances [3][]float64
	add := func(kind int, square float64) {
		if square > 0 {
			distances[kind] = append(distances[kind], math.Sqrt(square)/math.MaxUint8)
		}
	}
	difference := func(i int) float64 { return float64(x[i]) - float64(y[i]) }
	for range scalePairs {
		d.Pixels(x, random.IntN(d.Len()), 0)
		d.Pixels(y, random.IntN(d.Len()), 0)
		sum := 0.0
		for i := range x {
			sum += difference(i) * difference(i)
		}
		add(2, sum)
		for range scalePlaces {
			top := patchStride * random.IntN(m.Height/patchStride-patchCells+1)
			left := patchStride * random.IntN(m.Width/patchStride-patchCells+1)
			patch, motion := 0.0, 0.0
			for f := range m.Frames {
				for k := range patchSize * patchSize {
					at := f*size + (top+k/patchSize)*m.Width + left + k%patchSize
					now := difference(at)
					patch += now * now
					if f > 0 {
						change := now - difference(at-size)
						motion += change * change
					}
				}
			}
			add(0, patch)
			add(1, motion)
		}
	}
	out := make([]float32, len(distances))
	for i, all := range distances {
		out[i] = 1
		if slices.Sort(all); len(all) > 0 {
			out[i] = float32(all[len(all)/2])
		}
	}
	return out
}

// streamImageScales seeds the pairs.
const streamImageScales = 0x5ca1e5
