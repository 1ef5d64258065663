"""The exact posterior of a problem file by No-U-Turn sampling in NumPyro or blackjax: the peer of `qvirl bench`.

    sampler.py numpyro|blackjax PROBLEM.npz WARMUP DRAWS SEED

Rewards are whitened, R = m + σ z, and their optimal values found by policy iteration; the gradient is that of the
values of the optimal policy. Two chains, in double precision. Prints one line of JSON: the worst split-R̂ and effective
sample size of rewards and values, gradient evaluations, and the seconds that compilation took.
"""

import json
import os
import resource
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
library, path, warmup, draws, seed = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
file = np.load(path)
transitions, mean, std = (jnp.asarray(file[name]) for name in ("transitions", "prior_mean", "prior_std"))
discount, beta = float(file["discount"]), float(file["beta"])
states, actions = transitions.shape[:2]
if mean.ndim != 1:
    sys.exit("sampler.py: rewards of states only")
counts = np.zeros((states, actions))
np.add.at(counts, tuple(file["demos"].T), 1)


def backup(reward, value):
    return reward[:, None] + discount * transitions @ value


def evaluate(reward, policy):
    return jnp.linalg.solve(jnp.eye(states) - discount * transitions[jnp.arange(states), policy], reward)


def plan(reward):
    """Optimal values [S], by policy iteration."""

    def improve(carry):
        policy, _ = carry
        q = backup(fixed, evaluate(fixed, policy))
        better = q.max(1) > q[jnp.arange(states), policy] + 1e-10
        return jnp.where(better, q.argmax(1), policy), better.any()

    fixed = jax.lax.stop_gradient(reward)
    value = jax.lax.fori_loop(0, 10, lambda _, v: backup(fixed, v).max(1), jnp.zeros(states))
    policy, _ = jax.lax.while_loop(lambda carry: carry[1], improve, (backup(fixed, value).argmax(1), True))
    return evaluate(reward, policy)


def log_density(z):
    reward = mean + std * z
    scores = jax.nn.log_softmax(beta * backup(reward, plan(reward)), axis=1)
    return (counts * scores).sum() - 0.5 * (z * z).sum()


keys = jax.random.split(jax.random.PRNGKey(seed), 2)
start = jax.random.normal(jax.random.PRNGKey(seed + 1), (2, states))
if library == "numpyro":
    import numpyro
    from numpyro.infer import MCMC, NUTS

    def chains(warmup, draws):
        kernel = NUTS(potential_fn=lambda z: -log_density(z))
        sampler = MCMC(kernel, num_warmup=warmup, num_samples=draws, num_chains=2, progress_bar=False)
        sampler.run(jax.random.PRNGKey(seed), init_params=start, extra_fields=("num_steps",))
        return sampler.get_samples(group_by_chain=True), sampler.get_extra_fields()["num_steps"]

    version = "numpyro " + numpyro.__version__
else:
    import blackjax

    def chains(warmup, draws):
        def one(key, z):
            tune, sample = jax.random.split(key)
            adaptation = blackjax.window_adaptation(blackjax.nuts, log_density, progress_bar=False)
            (state, found), _ = adaptation.run(tune, z, warmup)
            kernel = blackjax.nuts(log_density, **found).step

            def step(state, key):
                state, info = kernel(key, state)
                return state, (state.position, info.num_integration_steps)

            return jax.lax.scan(step, state, jax.random.split(sample, draws))[1]

        return jax.pmap(one)(keys, start)

    version = "blackjax " + blackjax.__version__

began = time.perf_counter()
jax.block_until_ready(chains(1, 1)[0])
compile_seconds = time.perf_counter() - began
positions, steps = chains(warmup, draws)
rewards = mean + std * positions
values = jax.lax.map(plan, rewards.reshape(-1, states)).reshape(rewards.shape)

from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

both = np.concatenate([np.asarray(rewards), np.asarray(values)], axis=2)
print(json.dumps({"RHat": float(np.max(split_gelman_rubin(both))), "ESS": float(np.min(effective_sample_size(both))),
                  "Evaluations": int(np.sum(np.asarray(steps))), "Compile": compile_seconds,
                  "PeakMiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                  "Version": version + ", jax " + jax.__version__}))
