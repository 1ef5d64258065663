package planning

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// Config says how an apprentice is planned. The same config and model give the same apprentice on the same backend.
type Config struct {
	// Risk is how many standard deviations of a reward are taken off its mean.
	Risk float64 `json:"risk"`
	// Length is the lengthscale of each number of an observation, in multiples of its standard deviation over the
	// demonstrations and rollouts. The lengthscales that a model learns are those of one step, which carry nothing on
	// to other episodes. 0 is how far, in these units, a demonstrated state is from the nearest one of another
	// demonstration, in the median, or of a rollout if there is one demonstration: as far as rewards have to carry.
	Length float64 `json:"length"`
	// Alike is the correlation of the rewards of two actions in one state.
	Alike float64 `json:"alike"`
	// Rollouts is the number of episodes of the model's apprentice, whose rewards the posterior knows, too.
	Rollouts int `json:"rollouts"`
	// Standardise gives the learner's network observations less their means, in multiples of their standard deviations
	// over the demonstrations and rollouts, which suits any units. Without it they come in the environment's.
	Standardise bool `json:"standardise,omitempty"`
	// Visits lets the process know that each demonstrated transition pays 1, where the prior's mean is 0 and its
	// standard deviation 1, in place of what the model's posterior says of these transitions and of the rollouts'.
	Visits bool `json:"visits,omitempty"`
	// EndWorth is how many demonstrated steps an end like a demonstrated one is worth, for ever. 0 is 1, or more where
	// the demonstrator seeks the end (see the package).
	EndWorth float64 `json:"end_worth,omitempty"`
	// Inducing is the greatest number of pairs of state and action by which the process stands for all of them.
	Inducing int `json:"inducing"`
	// Learner is how the learner trains; its seed is added to the model's.
	Learner expert.Config `json:"learner"`
}

// Default returns a config for an environment, with the discount that the model was trained with.
func Default(environment string, discount float64) Config {
	l := expert.Default(environment)
	l.Discount, l.Beta, l.RewardScale = discount, 0, 10*(1-discount)
	l.Steps, l.SegmentSteps, l.EpsilonSteps = 128_000, 16_000, 20_000
	l.Norm, l.Double, l.Demonstrated, l.LearnAfter, l.Quantiles, l.GradientSteps = true, true, 32, 1000, 16, 10
	l.LearningRate, l.FinalLearningRate, l.CurveEpisodes = 1e-3, 1e-5, 8
	return Config{Alike: 0.5, Rollouts: 10, Standardise: true, Inducing: 300, Learner: l}
}

// Validate reports the first field that is out of range, by its key in JSON.
func (c Config) Validate() error {
	return check.First(check.All("planning", check.NotNegative("risk", c.Risk), check.NotNegative("length", c.Length),
		check.Between("alike", c.Alike), check.AtLeast(0, "rollouts", c.Rollouts),
		check.NotNegative("end_worth", c.EndWorth),
		check.AtLeast(1, "inducing", c.Inducing),
		check.That(c.Learner.Discount < 1, "learner.discount = %g, want less than 1", c.Learner.Discount)),
		c.Learner.Validate())
}

// Options say what planning does beside.
type Options struct {
	// Checkpoint is a file, ending in .npz, in which the run is stored and from which it goes on; empty for none.
	Checkpoint string
	// Resumed, if it is not nil, is told when planning goes on from there.
	Resumed func()
	// Progress, if it is not nil, is told how training goes on.
	Progress func(expert.Progress)
	// Source says what the pool's environments depend on beside what Config.Learner says. An interrupted run goes on
	// only with the same.
	Source string
	// Others are demonstrations that the model has not seen, to say what they are worth (see Worth).
	Others []demo.Trajectory
}

// rolloutSeed is the first seed of rollouts, of which each seed of a model has so many.
const rolloutSeed, rolloutSeeds = 4_000_000, 1000

// Plan plans an apprentice in a pool, opened as Config.Learner's Gym says, on the posterior of a model, or an ensemble
// of models, that QVIRL has learnt from the demonstrations.
func Plan(ctx context.Context, on compute.Backend, pool *gym.Pool, m neural.Model, demos []demo.Trajectory, c Config,
	o Options) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	spec := m.Spec()
	if spec.Image != (neural.Image{}) {
		return nil, fmt.Errorf("planning: %s was learnt from images; apprentices are planned on vectors of numbers "+
			"alone", m.Name())
	}
	var believed belief
	var rollouts []demo.Trajectory
	var err error
	if !c.Visits {
		if believed, err = beliefOf(m); err != nil {
			return nil, err
		}
	}
	seeds := rolloutSeed + int64(spec.Seed%rolloutSeeds)*rolloutSeeds
	if c.Rollouts > 0 {
		rollouts, err = neural.Rollout(ctx, pool, m, neural.RolloutOptions{Episodes: c.Rollouts, Sample: true,
			Seed: seeds})
		if err != nil {
			return nil, fmt.Errorf("planning: rollouts: %w", err)
		}
	}
	if c.Length == 0 {
		c.Length = length(demos, rollouts, spec.Observation)
	}
	random, err := atRandom(ctx, pool, spec.Actions, seeds+rolloutSeeds/2, longestEnded(demos))
	if err != nil {
		return nil, fmt.Errorf("planning: episodes of a random policy: %w", err)
	}
	process, err := c.process(spec, believed, demos, rollouts)
	if err != nil {
		return nil, err
	}
	pays, err := c.pays(process, demos, random)
	if err != nil {
		return nil, err
	}
	learner := c.Learner
	learner.Seed += spec.Seed
	if c.Standardise {
		seen := states(slices.Concat(demos, rollouts), spec.Observation)
		learner.Center, learner.Scale = moments(seen, spec.Observation)
	}
	e, err := expert.Train(ctx, on, pool, learner, expert.Options{Checkpoint: o.Checkpoint, Resumed: o.Resumed,
		Progress: o.Progress, Rewards: pays.rewards, Ends: pays.ends, Demonstrations: demos,
		Source: fmt.Sprintf("%s of seed %d, %d transitions, risk %g, length %g, alike %g, %d rollouts, visits %t, "+
			"%d pairs, demonstrated ends of %g steps, process %s, environments of %q", m.Name(), spec.Seed,
			spec.Transitions, c.Risk, c.Length, c.Alike, c.Rollouts, c.Visits, c.Inducing, pays.endWorth,
			process.digest(), o.Source)})
	if err != nil {
		return nil, fmt.Errorf("planning: %w", err)
	}
	c.EndWorth = pays.endWorth
	worth, err := c.worth(pays, spec, e.Curve, demos, rollouts, o.Others)
	if err != nil {
		return nil, fmt.Errorf("planning: %w", err)
	}
	return &Model{name: c.name(m), base: m, plan: e,
		details: details{c, demo.Transitions(rollouts) + demo.Transitions(random), worth}}, nil
}

// name is that of the method that plans on a model.
func (c Config) name(m neural.Model) string {
	_, several := m.(*neural.Ensemble)
	switch {
	case c.Visits:
		return NameVisits
	case several:
		return NameEnsemble
	case c.Risk > 0:
		return NameAverse
	}
	return Name
}

// worth says how far rewards carry.
func (c Config) worth(p pays, spec neural.Spec, curve []expert.Point, demos, rollouts,
	others []demo.Trajectory) (w Worth, err error) {
	for _, of := range []struct {
		trajectories []demo.Trajectory
		mean, spread *float64
	}{{demos, &w.Demonstrated, nil}, {rollouts, &w.Rollouts, nil}, {others, &w.Others, &w.OthersSpread}} {
		if len(of.trajectories) == 0 {
			continue
		}
		values, err := expert.Objective(p.rewards, p.ends, c.Learner.Discount, spec.Actions, of.trajectories)
		if err != nil {
			return w, err
		}
		mean, variance := stat.PopMeanVariance(values, nil)
		*of.mean = mean
		if of.spread != nil {
			*of.spread = math.Sqrt(variance)
		}
	}
	var objectives, returns []float64
	for _, p := range curve {
		objectives, returns = append(objectives, p.Objective), append(returns, p.Return)
	}
	w.Plan = slices.Max(objectives)
	if w.RankOfReturns = metric.RankCorrelation(objectives, returns); math.IsNaN(w.RankOfReturns) {
		w.RankOfReturns = 0 // of a single point
	}
	return w, nil
}

// process carries what is known of the transitions of demonstrations and rollouts on to all others: what a model
// believes of them, or with Visits that demonstrated ones pay 1.
func (c Config) process(spec neural.Spec, b belief, demos, rollouts []demo.Trajectory) (*Process, error) {
	known := slices.Concat(demos, rollouts)
	lengthscales := c.lengthscales(states(known, spec.Observation), spec)
	var pairs Pairs
	var mean, variance []float64
	if c.Visits {
		pairs = pairsOf(demos)
		n := len(pairs.Actions)
		return Regress(variational.Prior{Std: 1, Lengthscales: lengthscales}, spec.Actions, pairs,
			slices.Repeat([]float64{1}, n), slices.Repeat([]float64{visitNoise * visitNoise}, n), c.Inducing)
	}
	for i := range known {
		of, m, v, err := b.believed(&known[i])
		if err != nil {
			return nil, fmt.Errorf("planning: trajectory %d: %w", i, err)
		}
		pairs.Observations = append(pairs.Observations, of.Observations...)
		pairs.Actions = append(pairs.Actions, of.Actions...)
		mean, variance = append(mean, m...), append(variance, v...)
	}
	prior := b.prior
	prior.Lengthscales = lengthscales
	return Regress(prior, spec.Actions, pairs, mean, variance, c.Inducing)
}

// visitNoise is the standard deviation of the noise of the rewards that Visits tells of.
const visitNoise = 0.1

// pairsOf returns the states and actions of trajectories.
func pairsOf(trajectories []demo.Trajectory) (p Pairs) {
	for i := range trajectories {
		for k, a := range trajectories[i].Actions {
			p.add(trajectories[i].Observation(k), a)
		}
	}
	return p
}

// atATime is the number of transitions whose rewards are asked for together: their joint distribution takes the square.
const atATime = 100

// noise is added to the variance of a believed reward, in relation to the prior's: a single number is not surer than
// that.
const noise = 1e-3

// belief is what a model believes of rewards: a mixture, in equal parts, of the posteriors of its members, of which
// each has learnt a prior of its own.
type belief struct {
	members []*variational.Posterior
	prior   variational.Prior // with the members' mean and variance, without lengthscales
}

// beliefOf returns what a model of QVIRL or an ensemble of such models believes.
func beliefOf(m neural.Model) (b belief, err error) {
	models := []neural.Model{m}
	if e, ok := m.(*neural.Ensemble); ok {
		models = e.Members()
	}
	var means, variances []float64
	for _, member := range models {
		fitted, ok := member.(*neural.Fitted)
		if !ok {
			return b, fmt.Errorf("planning: %s has no posterior over rewards, want one of %s or %s, or Visits",
				m.Name(), variational.Name, variational.NameEnsemble)
		}
		p, err := variational.NewPosterior(fitted)
		if err != nil {
			return b, fmt.Errorf("planning: %w", err)
		}
		b.members = append(b.members, p)
		prior := p.Prior()
		means, variances = append(means, prior.Mean), append(variances, prior.Std*prior.Std)
	}
	mean, variance := mixture(means, variances)
	b.prior = variational.Prior{Mean: mean, Std: math.Sqrt(variance)}
	return b, nil
}

// mixture returns the mean and the variance of a mixture, in equal parts, of distributions with the given ones.
func mixture(means, variances []float64) (mean, variance float64) {
	mean, variance = stat.PopMeanVariance(means, nil)
	return mean, variance + stat.Mean(variances, nil)
}

// believed returns the means and variances of what is believed of the rewards of a trajectory's transitions, as of
// noise, but of the one that ended the episode, if there is one: to a model it pays a single reward, after which there
// is none, and to the plan the rewards of all steps to come.
func (b belief) believed(t *demo.Trajectory) (pairs Pairs, mean, variance []float64, err error) {
	n := t.Len()
	if t.Terminated {
		n--
	}
	for from := 0; from < n; from += atATime {
		part := t.Slice(from, min(from+atATime, n))
		of := variational.TransitionsOf(&part)
		rewards := make([]*variational.Joint, len(b.members))
		for k, p := range b.members {
			if rewards[k], err = p.Rewards(of); err != nil {
				return pairs, nil, nil, err
			}
		}
		means, variances := make([]float64, len(rewards)), make([]float64, len(rewards))
		for i, action := range part.Actions {
			for k, j := range rewards {
				means[k], variances[k] = j.Mean[i], j.Cov.At(i, i)
			}
			m, v := mixture(means, variances)
			pairs.add(part.Observation(i), action)
			mean, variance = append(mean, m), append(variance, v+noise*b.prior.Std*b.prior.Std)
		}
	}
	return pairs, mean, variance, nil
}

// moments returns the means and the standard deviations of each of so many numbers of observations, 1 of what does not
// vary.
func moments(observations []float32, numbers int) (means, deviations []float64) {
	column := make([]float64, len(observations)/numbers)
	means, deviations = make([]float64, numbers), make([]float64, numbers)
	for f := range means {
		for i := range column {
			column[i] = float64(observations[i*numbers+f])
		}
		if means[f], deviations[f] = stat.PopMeanStdDev(column, nil); !(deviations[f] > 0) {
			deviations[f] = 1
		}
	}
	return means, deviations
}

// comparedStates is the number of states, about, that length looks at.
const comparedStates = 2000

// length is the Length that 0 stands for (see Config), 1 where there is nothing to compare or all is the same.
func length(demos, rollouts []demo.Trajectory, numbers int) float64 {
	all := slices.Concat(demos, rollouts)
	_, std := moments(states(all, numbers), numbers)
	others := all
	if len(demos) > 1 {
		others = demos
	}
	every := 1 + demo.Transitions(others)/comparedStates
	var nearest []float64
	for i := range demos {
		for k := 0; k < demos[i].Len(); k += every {
			best := math.Inf(1)
			for j := range others {
				if j == i {
					continue
				}
				for l := 0; l < others[j].Len(); l += every {
					sum := 0.0
					for f, x := range demos[i].Observation(k) {
						d := float64(x-others[j].Observation(l)[f]) / std[f]
						sum += d * d
					}
					best = min(best, sum)
				}
			}
			if best > 0 && !math.IsInf(best, 1) {
				nearest = append(nearest, math.Sqrt(best))
			}
		}
	}
	if len(nearest) == 0 {
		return 1
	}
	slices.Sort(nearest)
	return nearest[len(nearest)/2]
}

// states returns the observations of trajectories at which somebody acted.
func states(trajectories []demo.Trajectory, numbers int) (out []float32) {
	for i := range trajectories {
		out = append(out, trajectories[i].Observations[:trajectories[i].Len()*numbers]...)
	}
	return out
}

// lengthscales returns those of the observation's numbers and of the actions.
func (c Config) lengthscales(observations []float32, spec neural.Spec) []float64 {
	_, out := moments(observations, spec.Observation)
	for f := range out {
		out[f] *= c.Length
	}
	for range spec.Actions {
		out = append(out, math.Sqrt(-1/math.Log(c.Alike)))
	}
	return out
}
