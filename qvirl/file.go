package qvirl

import (
	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/policywalk"
	"github.com/go-birl/birl/qvirl/problemfile"
	"github.com/go-birl/birl/qvirl/reference"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// restore is what restores the posteriors of each kind.
var restore = map[string]irl.Restore{
	avril.Kind:            avril.Restore,
	matched.Kind:          matched.Restore,
	policywalk.Kind:       policywalk.Restore,
	reference.Kind:        reference.Restore,
	tabular.Kind:          tabular.Restore,
	tabular.LowRankKind:   tabular.RestoreLowRank,
	valuewalk.Kind:        valuewalk.Restore,
	valuewalk.KindRefined: valuewalk.RestoreRefined,
}

// Save writes a posterior with its problem to an .npz file, atomically (see problemfile.Save). Every posterior of a
// method of this project can be saved; samples are kept in single precision where that is enough. The folder must
// exist.
func Save(path string, posterior Posterior) error { return problemfile.Save(path, posterior) }

// Load reads a posterior with its problem from a file that Save or SaveResult wrote, or from an answer of the command
// fit. What that says of its worth LoadResult reads.
func Load(path string) (Posterior, error) { return problemfile.Load(path, restore) }

// AnswerOptions say what numbers SaveResult writes.
type AnswerOptions = problemfile.AnswerOptions

// SaveResult writes a result as the command fit does, atomically: the posterior with its problem as Save does, the
// verdict, and numbers to look at (see problemfile.Answer).
func SaveResult(path string, r *Result, o AnswerOptions) error {
	a, err := problemfile.NewAnswer(r.Posterior, o)
	if err != nil {
		return err
	}
	if p, ok := r.Posterior.(mcmc.Sampled); ok {
		d := p.Sampling()
		a.RHat, a.ESSBulk = d.Reward.RHat, d.Reward.BulkESS
	}
	a.BetaStd = mcmc.BetaStd(r.Posterior, a.BetaStd)
	a.Judgement = problemfile.Judgement{Verdict: string(r.Verdict), Returned: r.Returned, Reason: r.Reason,
		Converged: r.Converged}
	return a.Write(path)
}

// LoadResult reads a result that SaveResult or the command fit wrote, without its Diagnosis and Stages. A posterior
// that Save wrote is NotJudged.
func LoadResult(path string) (*Result, error) {
	post, j, err := problemfile.LoadJudged(path, restore)
	if err != nil {
		return nil, err
	}
	if j.Verdict == "" {
		j.Verdict, j.Reason = string(NotJudged), path+" holds no verdict"
	}
	return &Result{Posterior: post, Returned: j.Returned, Verdict: Verdict(j.Verdict), Converged: j.Converged,
		Reason: j.Reason}, nil
}
