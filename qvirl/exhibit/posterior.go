package exhibit

// World is a finite world as a map of its states shows it: a gridworld, or the states in rows.
type World struct {
	Width, Height int       // in cells; state s is at column s mod Width of row s div Width
	States        []string  // names, [Width·Height] or nil
	Actions       []string  // names, or nil
	Moves         [][2]int  // by how many columns and rows each action moves on the map; nil if it does not
	Terminal      []bool    // states that end an episode, [Width·Height] or nil
	Truth         []float64 // true reward of each state, [Width·Height], or nil
}

// Posterior is what figures show of a posterior over the rewards of a world's states.
type Posterior struct {
	Method    string      // as in result rows
	Marginals []Marginal  // of each state's reward
	RHat, ESS []float64   // of each state's reward, NaN where they do not exist; nil without chains
	Policy    []float64   // probability of each action that the posterior predicts, [states·actions]
	Draws     [][]float64 // joint draws of rewards, [draws][states], chain by chain
}

// Marginal is a distribution on the real line.
type Marginal interface {
	Mean() float64
	StdDev() float64
	Quantile(p float64) float64 // p in [0, 1]
	LogProb(x float64) float64
}

// Decision is what was done in a state, and how probable a posterior holds it to be.
type Decision struct {
	State, Action string  // their names
	Times         int     // that the action was demonstrated in the state
	Of            int     // demonstrated decisions in the state
	Mean          float64 // predicted probability: its posterior mean
	Low, High     float64 // and its central 90 %
}

// LOO is how well a posterior predicts each demonstrated decision from all others.
type LOO struct {
	Method    string    // as in result rows, or another name
	Pointwise []float64 // log predictive density of each decision, in nats
	KHat      []float64 // how far each is to be trusted: up to Threshold
	Threshold float64
}
