package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/metric"
)

// metrics lists all metrics, a table for each kind, with links to the pages of the experiments that record them.
func (s *site) metrics() (string, error) {
	in, err := s.recorded()
	if err != nil {
		return "", err
	}
	var out []string
	var grid [][]string
	all := metric.All()
	for i, m := range all {
		if i == 0 || m.Kind != all[i-1].Kind {
			grid = [][]string{{"metric", "unit", "better", "in", "meaning"}}
		}
		better := map[exhibit.Direction]string{exhibit.Higher: "higher", exhibit.Lower: "lower"}[m.Better]
		if m.Best != nil {
			better = strconv.FormatFloat(*m.Best, 'g', -1, 64)
		}
		line := []string{"`" + m.Name + "`<br>" + m.Label, m.Unit, better,
			strings.Join(in[key(m)], ", "), m.Sentence}
		for k := range line {
			line[k] = strings.ReplaceAll(line[k], "|", `\|`)
		}
		if grid = append(grid, line); i == len(all)-1 || m.Kind != all[i+1].Kind {
			out = append(out, "## "+m.Kind+"\n\n"+markdown(grid, "|:--"))
		}
	}
	return strings.Join(out, "\n"), nil
}

// key tells entries of the registry apart.
func key(m metric.Metric) string { return fmt.Sprint(m.Name, m.Of) }

// recorded returns the experiments whose stored rows have each metric, as links.
func (s *site) recorded() (map[string][]string, error) {
	records, err := filepath.Glob(filepath.Join(s.root, "results", "*", experiment.RunFile))
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, path := range records {
		rows, _, err := s.results.read(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		for _, r := range rows {
			if seen[r.Metric] {
				continue
			}
			seen[r.Metric] = true
			m, err := metric.Lookup(r.Experiment, r.Metric)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if link := s.linkTo(r.Experiment); !slices.Contains(out[key(m)], link) {
				out[key(m)] = append(out[key(m)], link)
			}
		}
	}
	return out, nil
}

// linkTo links to the page of an experiment, or else to its stored rows.
func (s *site) linkTo(experiment string) string {
	to := ""
	for _, p := range s.layout.Pages {
		if to == "" && slices.Contains(p.Experiments, experiment) {
			to = p.Name + ".md"
		}
	}
	return fmt.Sprintf("[%s](%s)", experiment, cmp.Or(to, "../../results/"+experiment))
}
