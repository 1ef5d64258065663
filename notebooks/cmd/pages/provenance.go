package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/experiment"
)

// provenance says how a page's rows are computed again, and how they were.
func (s *site) provenance(p page) (string, error) {
	var b strings.Builder
	b.WriteString("```sh\n")
	if p.Command != "" {
		b.WriteString(strings.TrimSpace(p.Command) + "\n")
	} else {
		for _, name := range p.Experiments {
			fmt.Fprintf(&b, "go run ./qvirl/cmd/qvirl run %s --scale paper --anew   # the rows in results/%[1]s\n",
				name)
		}
	}
	b.WriteString("go run ./notebooks/cmd/pages   # this page, from them\n```\n\n")
	b.WriteString("| rows | finished | time | on | commit |\n|:--|:--|:--|:--|:--|\n")
	for _, name := range p.Experiments {
		_, record, err := s.results.read(name)
		if err != nil {
			return "", err
		}
		folder := "../../results/" + name
		link := fmt.Sprintf("[%s](%s/rows.csv) ([record](%[2]s/run.json))", name, folder)
		fmt.Fprintf(&b, "| %s | %s |\n", link, described(record))
	}
	if p.Notebook != "" {
		fmt.Fprintf(&b, "\nNotebook: [%s](../%[1]s.ipynb), `go run ./kernel-setup run %[1]s`.\n", p.Notebook)
	}
	return b.String() + "\n", nil
}

// described returns the cells of a record: day, time, machine, commit.
func described(r *experiment.Record) string {
	var commits []string
	for _, m := range r.Machines {
		commit := m.Commit[:min(len(m.Commit), 9)]
		if m.Dirty {
			commit += " with changes"
		}
		if !slices.Contains(commits, commit) {
			commits = append(commits, commit)
		}
	}
	const named = 3
	if n := len(commits); n > named {
		commits = append(commits[:named-1], fmt.Sprintf("%d more in the record", n-named+1))
	}
	return fmt.Sprintf("%s | %s | %s | %s", r.Finished.UTC().Format(time.DateOnly), duration(r),
		machines(r), strings.Join(commits, ", "))
}

// machines names those that a record's rows come from.
func machines(r *experiment.Record) string {
	var names []string
	for _, m := range r.Machines {
		name := strings.TrimSpace(cmp.Or(m.CPU, m.Arch) + ", " + progress.Count(m.Cores, "core", "cores"))
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, "; ")
}

// machine names the machines that the rows of an experiment come from.
func (s *site) machine(name string) (string, error) {
	_, record, err := s.results.read(name)
	if err != nil {
		return "", err
	}
	return machines(record), nil
}

// duration says how long a run took: of processors if the record knows it, else wall-clock time.
func duration(r *experiment.Record) string {
	kind, seconds := "of processor time", r.Processor
	if len(seconds) == 0 {
		kind, seconds = "of wall-clock time", r.Seconds
	}
	total := 0.0
	for _, name := range sortedKeys(seconds) {
		total += seconds[name]
	}
	switch {
	case total < 1:
		return "under 1 s " + kind
	case total < 90:
		return fmt.Sprintf("%s s %s", number(total, 0), kind)
	}
	return fmt.Sprintf("%s min %s", number(total/60, 0), kind)
}
