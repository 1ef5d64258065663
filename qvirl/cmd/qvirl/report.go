package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/widgets/report"
)

func newReport(definitions []experiment.Definition) *cobra.Command {
	var from, out string
	var others []string
	c := &cobra.Command{
		Use:   "report EXPERIMENT",
		Short: "Make tables and figures from stored rows, without computing",
		Long: `report reads FROM/rows.csv and writes report.md, a CSV file for each table and an SVG file for each
figure. The tables are printed as well. With --with, methods of other runs are shown beside those of FROM, in
place of those of the same name.`,
		Example: `  qvirl report posterior-quality                            # from results/posterior-quality
  qvirl report posterior-quality --from .birl/runs/posterior-quality-quick --out report
  qvirl report highway --with results/highway-pairs --out report   # beside the encoder that takes the action as input`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeNames(definitions),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := experiment.Find(definitions, args[0])
			if err != nil {
				return err
			}
			from = cmp.Or(from, defaultDir(d.Name, paperScale))
			if out == "" {
				out = filepath.Join(from, "report")
			}
			rows, record, err := resultsOf(d.Name, from)
			if err != nil {
				return err
			}
			var replaced []string
			for _, dir := range others {
				later, with, err := resultsOf(d.Name, dir)
				if err != nil {
					return fmt.Errorf("--with: %w", err)
				}
				tellMissing(cmd.ErrOrStderr(), with, dir)
				methods := experiment.Methods(later)
				rows = append(slices.DeleteFunc(rows, func(r experiment.Row) bool {
					return slices.Contains(methods, r.Name())
				}), later...)
				replaced = append(replaced, fmt.Sprintf("The rows of %s are those in %s.", strings.Join(methods, ", "),
					dir))
			}
			made, err := d.Report(rows, record)
			if err != nil {
				return err
			}
			made.Text = append(append(made.Text, provenance(record)), replaced...)
			files, err := report.Write(made, out)
			if err != nil {
				return err
			}
			text, err := report.Text(made)
			if err != nil {
				return err
			}
			tellMissing(cmd.ErrOrStderr(), record, from)
			fmt.Fprintf(cmd.OutOrStdout(), "%s\nwritten to %s: %s\n", text, out, strings.Join(files, ", "))
			return nil
		},
	}
	c.Flags().StringVar(&from, "from", "", "folder with the results (default: "+defaultDir("EXPERIMENT",
		paperScale)+")")
	c.Flags().StringVar(&out, "out", "", "folder for the report (default: FROM/report)")
	c.Flags().StringArrayVar(&others, "with", nil,
		"folder with results of another run, whose methods' rows take the place of those in FROM")
	return c
}

// resultsOf reads the rows and the record of an experiment in a folder.
func resultsOf(name, dir string) ([]experiment.Row, *experiment.Record, error) {
	rows, record, err := experiment.ReadResults(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%w; run it first: \"qvirl run %s\" says at its end how to report its rows", err,
			name)
	}
	if err != nil {
		return nil, nil, err
	}
	for i, r := range rows {
		if r.Experiment != name {
			return nil, nil, fmt.Errorf("%s: row %d is of experiment %s, not %s",
				filepath.Join(dir, experiment.RowsFile), i+1, r.Experiment, name)
		}
	}
	return rows, record, nil
}

// tellMissing says that the rows are those of a run that lacks units.
func tellMissing(w io.Writer, r *experiment.Record, dir string) {
	if !r.Complete {
		fmt.Fprintf(w, "note: the run in %s is incomplete: %d of %d units are missing, and the tables are of the "+
			"others\n", dir, len(r.Missing), len(r.Missing)+len(r.Units))
	}
}

// provenance says in a sentence where the rows come from.
func provenance(r *experiment.Record) string {
	m := r.Machines[0]
	text := fmt.Sprintf("Drawn from %d rows of a run at %s scale, finished %s on %s (%s)", r.Rows, r.Scale,
		r.Finished.Format("2006-01-02"), m.Backend, strings.TrimSpace(fmt.Sprintf("%d cores %s", m.Cores, m.CPU)))
	if commits := r.Commits(); commits != "" {
		text += ", " + commits
	}
	if !r.Complete {
		text += fmt.Sprintf(". **Incomplete:** the units %s are missing", strings.Join(r.Missing, ", "))
	}
	return text + "."
}

// listing is an experiment in the output of list --json.
type listing struct {
	Name   string         `json:"name"`
	Short  string         `json:"short"`
	Scales []scaleListing `json:"scales"`
}

type scaleListing struct {
	Scale  string   `json:"scale"`
	Units  []string `json:"units"`
	Dir    string   `json:"dir"`
	Stored string   `json:"stored"` // what the folder holds, in words; empty for nothing
	// Commits are all those that computed it, in words.
	Commits string `json:"commits,omitempty"`
}

func newList(definitions []experiment.Definition) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List experiments, their scales, and the results that are stored",
		Example: "  qvirl list\n  qvirl list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			var all []listing
			for _, d := range definitions {
				l, err := describe(d)
				if err != nil {
					return err
				}
				all = append(all, l)
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(all)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, l := range all {
				fmt.Fprintf(w, "%s\t%s\n", l.Name, l.Short)
				for _, s := range l.Scales {
					fmt.Fprintf(w, "  --scale %s\t%s; in %s %s\n", s.Scale,
						progress.Count(len(s.Units), "unit", "units"), s.Dir, cmp.Or(s.Stored, "nothing yet"))
				}
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write one JSON document to standard output")
	return c
}

// storedAt returns where rows of a scale are, with their record, or belong. Those under version control may be of any.
func storedAt(name, scale string) (string, *experiment.Record) {
	dir, versioned := defaultDir(name, scale), defaultDir(name, paperScale)
	if r, err := experiment.ReadRecord(dir); err == nil {
		return dir, r
	}
	if r, err := experiment.ReadRecord(versioned); err == nil && r.Scale == scale {
		return versioned, r
	}
	return dir, nil
}

func describe(d experiment.Definition) (listing, error) {
	l := listing{Name: d.Name, Short: d.Short}
	for _, scale := range d.Scales {
		plan, err := d.Plan(experiment.Settings{Scale: scale})
		if err != nil {
			return l, err
		}
		s := scaleListing{Scale: scale}
		for _, u := range plan.Units {
			s.Units = append(s.Units, u.Name)
		}
		var r *experiment.Record
		if s.Dir, r = storedAt(d.Name, scale); r != nil {
			units := len(r.Units) + len(r.Missing)
			s.Stored = fmt.Sprintf("%s, %d of %s", progress.Count(r.Rows, "row", "rows"), len(r.Units),
				progress.Count(units, "unit", "units"))
			if r.Scale != scale {
				s.Stored += " at scale " + r.Scale
			} else if units != len(s.Units) {
				s.Stored += " of an earlier plan"
			}
			s.Stored += ", " + r.Finished.Format("2006-01-02")
			if latest := r.LatestCommit(); latest != "" {
				s.Stored += ", " + latest
			}
			s.Commits = r.Commits()
		}
		l.Scales = append(l.Scales, s)
	}
	return l, nil
}
