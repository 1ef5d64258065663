// Package widgets draws the figures and tables of the experiments and shows them in notebooks.
//
// A figure is described by a plain struct, for instance Marginals, Map or Curves: exported fields, slices and names, no
// knowledge of how the numbers came about. Its method Figure checks the data and returns a Figure, which writes itself
// as SVG, PNG or PDF, and its numbers as CSV. Show displays any of them in the cell of a notebook; nothing else in the
// package needs a notebook.
//
// All figures share one theme. Each method has the same colour everywhere (method.Method.Color), chosen from the
// colour-blind-safe palette of Okabe and Ito (2008), and is told from its neighbours by the dashes of its line as well.
// A figure lies on a white card, so that it is legible on a dark page, and is at most 960 pixels wide. No text is below
// 9 points.
//
// Some views are interactive: Vega specifications of the folder vega and Vega-Lite ones, which JupyterLab draws in a
// saved notebook, without a kernel and whether it trusts the notebook or not. Each is shown with a figure that stands
// for it elsewhere. What a reader operates there is an input that bears the name of its signal, and cells of maps bear
// what they show as aria-label, so that a script can find them.
//
// Absent numbers are NaN where a field says so; everywhere else NaN and infinite numbers are errors that name the field
// and the index. In a notebook, the functions that show something show such an error as a sentence in place of the
// picture, and return it.
package widgets
