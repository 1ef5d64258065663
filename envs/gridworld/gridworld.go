// Package gridworld makes the gridworlds of the paper (Appendix "Environment Descriptions") and hand-drawn ones.
//
// States are numbered row by row from the top left. The five actions are to stay or to move one cell; a move across the
// edge leaves the agent in place, and with the slip probability a uniformly drawn action is executed instead of the
// intended one. Executing any action in a state pays the state's reward; in a terminal state it also ends the episode,
// so that Q(s,a) = V(s) = R(s) there.
package gridworld

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/mdp"
)

// The actions, in the order in which every vector over actions lists them.
const (
	Stay = iota
	Up
	Right
	Down
	Left
	Actions // their number
)

// ActionNames are the actions' names in order.
var ActionNames = [Actions]string{"stay", "up", "right", "down", "left"}

// Moves are the changes of column and row that each action intends.
var Moves = [Actions][2]int{{0, 0}, {0, -1}, {1, 0}, {0, 1}, {-1, 0}}

// World is a gridworld with its true reward.
type World struct {
	Width, Height int       // in cells; state s is at column s mod Width of row s div Width
	MDP           *mdp.MDP  // its states are the cells, its actions those of ActionNames
	Reward        []float64 // true reward of each state, [S]
	Terminal      []bool    // whether the episode ends in the state, [S]
}

// Config describes the random gridworlds of the paper; Paper returns its values.
type Config struct {
	Width, Height int     // size in cells; the paper's is 8×8
	RewardMean    float64 // mean of each state's reward; −1
	RewardStd     float64 // its standard deviation; 3 (see Paper)
	TerminalProb  float64 // probability that a state is terminal by chance; 0.1
	TopFraction   float64 // fraction of states, of highest reward, that are terminal too; 0.1, rounded down
	Slip          float64 // probability that a random action is executed; 0.1
}

// Paper returns the configuration of the paper's 100 random 8×8 gridworlds. The paper writes the reward distribution
// N(−1, 3); 3 is read as the standard deviation, which is what the paper's log densities imply.
func Paper() Config {
	return Config{Width: 8, Height: 8, RewardMean: -1, RewardStd: 3, TerminalProb: 0.1, TopFraction: 0.1, Slip: 0.1}
}

// Name returns the name of such gridworlds by their size, such as gridworld-8x8.
func (c Config) Name() string { return fmt.Sprintf("gridworld-%dx%d", c.Width, c.Height) }

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	return check.All("gridworld", check.That(min(c.Width, c.Height) > 0, "size %d×%d: both sides must be positive",
		c.Width, c.Height),
		check.That(!math.IsNaN(c.RewardMean) && !math.IsInf(c.RewardMean, 0), "RewardMean = %g is not finite",
			c.RewardMean), check.NotNegative("RewardStd", c.RewardStd),
		check.Fraction("TerminalProb TopFraction slip", c.TerminalProb, c.TopFraction, c.Slip))
}

// Random draws a gridworld; the same configuration and seed give the same world.
func Random(c Config, seed uint64) (*World, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	rng := Stream(seed, streamWorld)
	n := c.Width * c.Height
	reward, terminal := make([]float64, n), make([]bool, n)
	for s := range reward {
		reward[s] = c.RewardMean + c.RewardStd*rng.NormFloat64()
	}
	for s := range terminal {
		terminal[s] = rng.Float64() < c.TerminalProb
	}
	order := make([]int, n)
	for s := range order {
		order[s] = s
	}
	sort.Slice(order, func(i, j int) bool { return reward[order[i]] > reward[order[j]] })
	for _, s := range order[:int(c.TopFraction*float64(n))] {
		terminal[s] = true
	}
	return New(c.Width, c.Height, reward, terminal, c.Slip, nil)
}

// New builds a gridworld from its rewards and terminal states, [width·height] each. initial is the distribution of the
// first state; nil means uniform.
func New(width, height int, reward []float64, terminal []bool, slip float64, initial []float64) (*World, error) {
	n := width * height
	if width <= 0 || height <= 0 || len(reward) != n || len(terminal) != n {
		return nil, fmt.Errorf("gridworld: size %d×%d needs %d rewards and terminal flags, got %d and %d",
			width, height, n, len(reward), len(terminal))
	}
	if err := check.All("gridworld", check.Finite("reward", reward), check.Fraction("slip", slip)); err != nil {
		return nil, err
	}
	rows := make([][]mdp.Transition, n*Actions)
	for s := 0; s < n; s++ {
		if terminal[s] {
			continue
		}
		for a := 0; a < Actions; a++ {
			row := []mdp.Transition{{Next: Neighbour(width, height, s, a), Prob: 1 - slip}}
			for executed := 0; executed < Actions && slip > 0; executed++ {
				row = append(row, mdp.Transition{Next: Neighbour(width, height, s, executed), Prob: slip / Actions})
			}
			rows[s*Actions+a] = row
		}
	}
	m, err := mdp.New(n, Actions, rows, initial)
	if err != nil {
		return nil, err
	}
	return &World{Width: width, Height: height, MDP: m, Reward: reward, Terminal: terminal}, nil
}

// Neighbour returns the state that action a leads to from s when it is executed.
func Neighbour(width, height, s, a int) int {
	x, y := s%width+Moves[a][0], s/width+Moves[a][1]
	if x < 0 || x >= width || y < 0 || y >= height {
		return s
	}
	return y*width + x
}

// Demonstrate returns n Boltzmann-rational expert trajectories of at most length steps; the same world and seed give
// the same trajectories. The paper's are 5 of length 5 with β = 2 and discount 0.9.
func (w *World) Demonstrate(n, length int, beta, discount float64, seed uint64) ([]mdp.Trajectory, error) {
	if n < 0 || length < 0 {
		return nil, fmt.Errorf("gridworld: cannot demonstrate %d trajectories of length %d", n, length)
	}
	if !(beta > 0) || math.IsInf(beta, 0) {
		return nil, fmt.Errorf("gridworld: β = %g, want a finite positive number", beta)
	}
	sol, err := w.MDP.Solve(w.Reward, discount)
	if err != nil {
		return nil, err
	}
	return w.MDP.Demonstrate(Stream(seed, streamDemos), sol.Q, beta, n, length), nil
}

// Independent random streams of one seed.
const (
	streamWorld = 1
	streamDemos = 2
)

// Stream returns a random generator that is determined by the seed, one of many independent ones by number.
func Stream(seed, number uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, number)) }
