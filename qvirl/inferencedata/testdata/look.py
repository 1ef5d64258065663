"""Opens a file with ArviZ, draws from it, and prints what its summary and its leave-one-out say, as JSON."""
import json
import sys
import warnings

warnings.simplefilter("ignore")
import matplotlib

matplotlib.use("Agg")
import arviz
import xarray

data = arviz.from_netcdf(sys.argv[1])
xarray.open_datatree(sys.argv[1], engine="h5netcdf").close()
arviz.plot_rank(data, var_names=["reward"])
arviz.plot_pair(data, var_names=["value"], divergences=True)
arviz.plot_energy(data)
stats = data.sample_stats
arviz.plot_trace(data, var_names=["reward"])
table = arviz.summary(data, var_names=["reward", "value"] + (["beta"] if "beta" in data.posterior else []),
                      round_to="none", hdi_prob=0.94)
log = data.log_likelihood["demonstrated_action"].values.reshape(-1, data.log_likelihood.sizes["decision"])
loo = arviz.loo(data, pointwise=True, reff=1.0)
print(json.dumps({
    "summary": {name: row.to_dict() for name, row in table.iterrows()},
    "elpd_loo": float(loo.elpd_loo),
    "loo": [float(v) for v in loo.loo_i.values],
    "khat": [float(v) for v in loo.pareto_k.values],
    "log_likelihood": float(log.sum(1).mean()),
    "actions": [str(a) for a in data.posterior["action"].values],
    "groups": sorted(data.groups()),
    "attributes": {k: str(v) for k, v in data.attrs.items()},
    "stats": {"energy": float((stats["energy"] + stats["lp"]).max()),
              "acceptancerate": float(stats["acceptance_rate"].mean()),
              "diverging": float(stats["diverging"].mean()), "type": str(stats["diverging"].dtype)},
    "dims": {k: list(v.dims) for k, v in data.posterior.data_vars.items()},
}))
