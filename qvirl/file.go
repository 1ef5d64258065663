package qvirl

import (
	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/matched"
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
