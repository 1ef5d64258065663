package tabular

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
)

// scatter is how the n values of a Gaussian and its rewards deviate from their means, together.
type scatter interface {
	valueVar(i int) float64
	rewardVar(i int) float64
	valueCov() *mat.SymDense
	rewardCov() *mat.Dense
	// drawValues returns count draws of the values' deviations, [count, n], and draw those with the rewards that belong
	// to them; for the same rng the values are the same.
	drawValues(rng *rand.Rand, count int) *mat.Dense
	draw(rng *rand.Rand, count int) (values, rewards *mat.Dense)
	drawRewards(rng *rand.Rand, count int) (*mat.Dense, error)
	// logProbs returns the log densities of the values' deviations, a row each, which it may overwrite.
	logProbs(gaps *mat.Dense) ([]float64, error)
	// store adds arrays, and returns the kind.
	store(arrays map[string]npz.Array) string
}

// full is a scatter by whole covariance matrices.
type full struct {
	covX  *mat.Dense // [n, n]
	rootX *mat.Dense // [n, n], lower triangular: rootX rootXᵀ = covX
	covR  *mat.Dense
	joint *mat.Dense // [n, 2n], rewards given values: R = μ_R + joint (ε, η), x = μ_X + rootX ε; nil if exact
}

func (d *full) valueVar(i int) float64  { return d.covX.At(i, i) }
func (d *full) rewardVar(i int) float64 { return d.covR.At(i, i) }
func (d *full) valueCov() *mat.SymDense { return symmetric(d.covX) }
func (d *full) rewardCov() *mat.Dense   { return mat.DenseCopyOf(d.covR) }

func (d *full) drawValues(rng *rand.Rand, count int) *mat.Dense {
	n, _ := d.rootX.Dims()
	return mapped(d.rootX, normals(rng, count, n))
}

func (d *full) draw(rng *rand.Rand, count int) (values, rewards *mat.Dense) {
	n, _ := d.rootX.Dims()
	noise := normals(rng, count, n)
	var all mat.Dense
	all.Augment(noise, normals(rng, count, n))
	return mapped(d.rootX, noise), mapped(d.joint, &all)
}

func (d *full) drawRewards(rng *rand.Rand, count int) (*mat.Dense, error) {
	root, err := covarianceRoot(d.covR)
	if err != nil {
		return nil, err
	}
	n, _ := d.covR.Dims()
	return mapped(root, normals(rng, count, n)), nil
}

// logProbs is, with L the triangular root of the covariance, log N(L⁻¹ gap; 0, I) − log det L.
func (d *full) logProbs(gaps *mat.Dense) ([]float64, error) {
	rows, n := gaps.Dims()
	constant := -0.5 * float64(n) * math.Log(2*math.Pi)
	for i := range n {
		constant -= math.Log(d.rootX.At(i, i))
	}
	if math.IsInf(constant, 1) {
		return nil, fmt.Errorf("tabular: the covariance of the values is singular: %w", irl.ErrNoDensity)
	}
	whitened := mat.DenseCopyOf(gaps.T()) // L⁻¹ gap, a column each
	lower := mat.NewTriDense(n, mat.Lower, d.rootX.RawMatrix().Data)
	blas64.Trsm(blas.Left, blas.NoTrans, 1, lower.RawTriangular(), whitened.RawMatrix())
	logs := make([]float64, rows)
	for i := range logs {
		z := whitened.ColView(i)
		logs[i] = constant - 0.5*mat.Dot(z, z)
	}
	return logs, nil
}

func (d *full) store(arrays map[string]npz.Array) string {
	n, _ := d.covX.Dims()
	rewards, _ := d.covR.Dims()
	arrays["x_cov"], arrays["x_root"] = npz.Floats(d.covX.RawMatrix().Data, n, n),
		npz.Floats(d.rootX.RawMatrix().Data, n, n)
	arrays["reward_cov"] = npz.Floats(d.covR.RawMatrix().Data, rewards, rewards)
	if d.joint != nil {
		arrays["reward_joint"] = npz.Floats(d.joint.RawMatrix().Data, rewards, 2*n)
	}
	return Kind
}

func restoreFull(r *npz.Reader, p *irl.Problem) (scatter, error) {
	n, rewards := p.ValueDim(), p.RewardDim()
	covX, rootX, covR := r.Finite("x_cov", n, n), r.Finite("x_root", n, n), r.Finite("reward_cov", rewards, rewards)
	var joint []float64
	if r.Scalar("exact") == 0 {
		joint = r.Finite("reward_joint", rewards, 2*n)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	d := &full{covX: mat.NewDense(n, n, covX), rootX: mat.NewDense(n, n, rootX),
		covR: mat.NewDense(rewards, rewards, covR)}
	if joint != nil {
		d.joint = mat.NewDense(rewards, 2*n, joint)
	}
	return d, nil
}

// lowRank is the scatter of state-only rewards that are independent a priori, l their standard deviations, by sparse
// solves: with T = γ where the episode goes on, B = I − T C, and η standard normal,
//
//	x = B_π⁻¹ l z,   cov z = (diag(d)⁻² + U Uᵀ)⁻¹,   R = B_w x + √residual η.
type lowRank struct {
	problem            *irl.Problem
	reference, weights []float64      // π and w: [S·A]
	std                []float64      // d
	factor             *mat.Dense     // U [S, rank]
	residual           []float64      // variance of the rewards given the values
	varX, varR         []float64      // of values and rewards
	logDet             float64        // of the values' covariance
	policy             *mdp.Evaluator // B_π⁻¹
	lifted             *mat.Dense     // diag(d)² U
	gram               mat.Cholesky   // of I + Uᵀ diag(d)² U
}

// prepare makes what follows from the rest.
func (d *lowRank) prepare() (err error) {
	if d.policy, err = d.problem.MDP.NewEvaluator(d.reference, d.problem.Discount); err != nil {
		return err
	}
	n, rank := d.factor.Dims()
	d.lifted = mat.NewDense(n, rank, nil)
	d.lifted.Apply(func(i, _ int, v float64) float64 { return d.std[i] * d.std[i] * v }, d.factor)
	var gram mat.Dense
	gram.Mul(d.factor.T(), d.lifted)
	for i := range rank {
		gram.Set(i, i, gram.At(i, i)+1)
	}
	if !d.gram.Factorize(symmetric(&gram)) {
		return fmt.Errorf("tabular: the covariance of low rank is not positive definite")
	}
	return nil
}

func (d *lowRank) valueVar(i int) float64  { return d.varX[i] }
func (d *lowRank) rewardVar(i int) float64 { return d.varR[i] }

// values replaces each row z of the matrix by B_π⁻¹ l z.
func (d *lowRank) values(z *mat.Dense) *mat.Dense {
	rows, _ := z.Dims()
	for i := range rows {
		row := z.RawRowView(i)
		floats.Mul(row, d.problem.Prior.Std)
		x, err := d.policy.Value(row)
		if err != nil { // the row is finite
			panic(err)
		}
		copy(row, x)
	}
	return z
}

// rewards returns for each row x the rewards, but for residuals, that have the values x: B_w x.
func (d *lowRank) rewards(x *mat.Dense) *mat.Dense { return d.bellman(d.weights, mat.DenseCopyOf(x)) }

// bellman replaces each row x of the matrix by B x, of the B of a policy [S·A].
func (d *lowRank) bellman(policy []float64, x *mat.Dense) *mat.Dense {
	rows, n := x.Dims()
	actions := d.problem.MDP.Actions()
	next := make([]float64, n*actions)
	for i := range rows {
		row := x.RawRowView(i)
		d.problem.MDP.Backup(next, row)
		for s := range row {
			row[s] -= d.problem.Discount * floats.Dot(policy[s*actions:(s+1)*actions], next[s*actions:(s+1)*actions])
		}
	}
	return x
}

// conditioned replaces each row z by z − diag(d)² U (I + Uᵀ diag(d)² U)⁻¹ (Uᵀ z + η). Where z ~ N(0, diag(d)²) and
// η ~ N(0, I), that has the covariance (diag(d)⁻² + U Uᵀ)⁻¹ (Hoffman and Ribak, 1991); a nil η is zero.
func (d *lowRank) conditioned(z, eta *mat.Dense) *mat.Dense {
	var inner mat.Dense // [rank, rows]
	inner.Mul(d.factor.T(), z.T())
	if eta != nil {
		inner.Add(&inner, eta.T())
	}
	var solved, back mat.Dense
	if err := d.gram.SolveTo(&solved, &inner); err != nil && !isCondition(err) {
		panic(err) // its shape is that of the factor
	}
	back.Mul(d.lifted, &solved)
	z.Sub(z, back.T())
	return z
}

func (d *lowRank) drawValues(rng *rand.Rand, count int) *mat.Dense {
	n, rank := d.factor.Dims()
	z := normals(rng, count, n)
	for i := range count {
		floats.Mul(z.RawRowView(i), d.std)
	}
	return d.values(d.conditioned(z, normals(rng, count, rank)))
}

func (d *lowRank) draw(rng *rand.Rand, count int) (values, rewards *mat.Dense) {
	values = d.drawValues(rng, count)
	rewards = d.rewards(values)
	rewards.Apply(func(_, s int, v float64) float64 {
		return v + math.Sqrt(d.residual[s])*rng.NormFloat64()
	}, rewards)
	return values, rewards
}

func (d *lowRank) drawRewards(rng *rand.Rand, count int) (*mat.Dense, error) {
	_, rewards := d.draw(rng, count)
	return rewards, nil
}

func (d *lowRank) valueCov() *mat.SymDense {
	n := len(d.std)
	cov := mat.NewDense(n, n, nil)
	for i, v := range d.std {
		cov.Set(i, i, v*v)
	}
	half := mat.DenseCopyOf(d.values(d.conditioned(cov, nil)).T())
	return symmetric(d.values(half))
}

func (d *lowRank) rewardCov() *mat.Dense {
	half := mat.DenseCopyOf(d.rewards(mat.DenseCopyOf(d.valueCov())).T())
	cov := d.rewards(half)
	for s, v := range d.residual {
		cov.Set(s, s, cov.At(s, s)+v)
	}
	return cov
}

// logProbs is log N(z; 0, cov z) with the determinant of the values' covariance for that of z.
func (d *lowRank) logProbs(gaps *mat.Dense) ([]float64, error) {
	rows, n := gaps.Dims()
	constant := -0.5 * (float64(n)*math.Log(2*math.Pi) + d.logDet)
	d.bellman(d.reference, gaps)
	var inner mat.VecDense
	logs := make([]float64, rows)
	for i := range logs {
		z := gaps.RawRowView(i)
		floats.Div(z, d.problem.Prior.Std)
		inner.MulVec(d.factor.T(), mat.NewVecDense(n, z))
		floats.Div(z, d.std)
		logs[i] = constant - 0.5*(floats.Dot(z, z)+mat.Dot(&inner, &inner))
	}
	return logs, nil
}

func (d *lowRank) store(arrays map[string]npz.Array) string {
	n, rank := d.factor.Dims()
	actions := len(d.weights) / n
	arrays["reference"], arrays["weights"] = npz.Floats(d.reference, n, actions), npz.Floats(d.weights, n, actions)
	arrays["z_std"], arrays["z_factor"] = npz.Floats(d.std, n), npz.Floats(d.factor.RawMatrix().Data, n, rank)
	arrays["reward_residual"], arrays["reward_var"] = npz.Floats(d.residual, n), npz.Floats(d.varR, n)
	arrays["log_det"] = npz.Scalar(d.logDet)
	return LowRankKind
}

func restoreLowRank(r *npz.Reader, p *irl.Problem) (scatter, error) {
	n, actions := p.MDP.States(), p.MDP.Actions()
	d := &lowRank{problem: p, reference: r.Finite("reference", n, actions), weights: r.Finite("weights", n, actions),
		std: r.Finite("z_std", n), residual: r.Finite("reward_residual", n), varX: r.Finite("value_var", n),
		varR: r.Finite("reward_var", n)}
	factor := r.Finite("z_factor", n, -1)
	d.logDet = r.Scalar("log_det")
	if r.Err() == nil && (!p.StateOnly() || !p.Prior.Independent() || len(factor) == 0) {
		r.Fail("its covariance of low rank is not one of this problem")
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	d.factor = mat.NewDense(n, len(factor)/n, factor)
	return d, d.prepare()
}
