package main

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/inferencedata"
	"github.com/go-birl/birl/qvirl/problemfile"
	"github.com/go-birl/birl/qvirl/verdict"
)

// The formats of answers.
const (
	formatNPZ    = "npz"
	formatNetCDF = "netcdf"
)

// write writes the answer.
func (o *fitOptions) write(r *verdict.Result) error {
	if o.format == formatNetCDF {
		return inferencedata.Write(o.out, r.Posterior, inferencedata.Options{
			Draws: cmp.Or(o.samples, problemfile.DefaultDraws), Seed: o.seed,
			Attributes: map[string]string{"method": r.Returned, "verdict": string(r.Verdict), "reason": r.Reason,
				"converged": strconv.FormatBool(r.Converged)}})
	}
	return qvirl.SaveResult(o.out, r, qvirl.AnswerOptions{Samples: o.samples, Seed: o.seed})
}

// describeFit says in lines how the fit went.
func describeFit(r *verdict.Result) []string {
	var lines []string
	if r.Diagnosis != nil {
		lines = strings.Split(r.Diagnosis.String(), "\n")
		if !r.Converged {
			lines = append(lines, "returned: "+r.Returned+", not to be relied on: "+r.Reason)
		} else {
			lines = append(lines, "returned: "+r.Returned+": "+r.Reason)
		}
	} else {
		lines = append(lines, r.Reason)
	}
	var costs []string
	for _, s := range r.Stages {
		costs = append(costs, fmt.Sprintf("%s %.1f s", s.Name, s.Seconds))
	}
	return append(lines, "cost: "+strings.Join(costs, ", "))
}

// replaceable refuses an output that is there and holds something else than an answer.
func (o *fitOptions) replaceable() error {
	info, err := os.Stat(o.out)
	if err != nil || !info.Mode().IsRegular() || o.format != formatNPZ {
		return nil
	}
	archive, err := npz.Open(o.out)
	if err == nil {
		defer archive.Close()
	}
	if err != nil || !archive.Has("reward_mean") {
		return fmt.Errorf("--out %s: the file is there, and holds no answer of fit; choose another name or remove it",
			o.out)
	}
	return nil
}
