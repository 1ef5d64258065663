package main

import (
	"fmt"
	"strings"
)

// claimTable writes a row for each claim, with or without links to their pages.
func claimTable(claims []claim, links bool) string {
	head := []string{"claim", "comparisons that hold", "verdict"}
	if links {
		head = append(head, "page")
	}
	grid := [][]string{head}
	for _, c := range claims {
		held := "–"
		if c.verdict != notAttempted {
			held = fmt.Sprintf("%d of %d", c.held, len(c.outcomes))
		}
		line := []string{fmt.Sprintf("%s <sub>%s</sub>", c.Claim, c.Section), held, "**" + string(c.verdict) + "**"}
		if links {
			line = append(line, fmt.Sprintf("[%s](pages/%[1]s.md#claim-by-claim)", c.Page))
		}
		for i := range line {
			line[i] = strings.ReplaceAll(line[i], "|", "\\|")
		}
		grid = append(grid, line)
	}
	return markdown(grid, "|:--")
}

// sentence is an outcome in a line.
func (o outcome) sentence() string {
	tick := "✗"
	if o.holds {
		tick = "✓"
	}
	switch o.Rule {
	case "test":
		_, name, _ := strings.Cut(o.Ours, " ")
		return fmt.Sprintf("%s %s: `%s`", tick, o.Of, name)
	case "picture":
		name, _, _ := strings.Cut(o.Ours, " ")
		return fmt.Sprintf("%s %s: in `%s`", tick, o.Of, name)
	}
	decimals := o.ours.decimals()
	bound, err := parsePaper(o.Than)
	constant := bound != nil && err == nil
	if o.than != nil && !constant {
		decimals = max(decimals, o.than.decimals())
	}
	if o.paper != nil && o.Than == "" {
		_, digits, _ := strings.Cut(strings.TrimSpace(strings.Split(o.Paper, "±")[0]), ".")
		decimals = len(digits)
	}
	text := fmt.Sprintf("%s %s: %s", tick, o.Of, o.ours.text(decimals))
	switch {
	case constant:
		text += " against " + minus(o.Than)
	case o.than != nil:
		text += " against " + o.than.text(decimals)
	}
	if o.paper != nil {
		text += ", the paper's " + minus(o.Paper)
	}
	if o.difference != "" {
		text += " (" + o.difference + ")"
	}
	return text
}

// ruleInWords says in words what the rule of a check is.
func ruleInWords(k check) string {
	name, limit := k.Rule, ""
	if i := strings.LastIndex(k.Rule, " "); i > 0 {
		name, limit = k.Rule[:i], k.Rule[i+1:]
	}
	switch name {
	case "agree":
		return "within " + limit + " standard errors of the difference"
	case "above", "below":
		if limit == "0" {
			return name
		}
		if allowed, ok := strings.CutPrefix(limit, "-"); ok {
			opposite := map[string]string{"above": "below", "below": "above"}[name]
			return "not " + opposite + " by " + allowed + " standard errors of the difference"
		}
		return name + " by more than " + limit + " standard errors of the difference"
	case "within":
		return "within " + limit
	case "at least", "at most":
		return name + " " + minus(limit)
	case "test":
		return "a test of the code checks it"
	}
	return "a saved figure shows it"
}

// notes lists what claims say beside their numbers.
func (s *site) notes(claims []claim) (string, error) {
	var b strings.Builder
	for _, c := range claims {
		note, err := s.fill(c.Note)
		if err != nil {
			return "", err
		}
		if c.NotAttempted != "" {
			note = "Not attempted. " + c.NotAttempted
		}
		if note != "" {
			fmt.Fprintf(&b, "- *%s.* %s\n", c.Claim, note)
		}
	}
	return b.String(), nil
}

// details lists the quotation, the rules and the outcomes of claims.
func details(claims []claim) string {
	var b strings.Builder
	b.WriteString("<details><summary>Quotations, rules and all comparisons</summary>\n\n")
	for _, c := range claims {
		fmt.Fprintf(&b, "**%s** (%s). “%s”\n\n", c.Claim, c.Section, c.Quote)
		for _, o := range c.outcomes {
			if c.NotAttempted == "" {
				fmt.Fprintf(&b, "- %s. Rule: %s.\n", o.sentence(), ruleInWords(o.check))
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("</details>\n\n")
	return b.String()
}

// minus writes the minus sign of a number as typed in YAML.
func minus(text string) string {
	if strings.HasPrefix(text, "-") {
		return "−" + text[1:]
	}
	return text
}
