"""A training step of continuous QVIRL in PyTorch (eager) or JAX (jitted): the peer of the benchmark, and an
independent way to compute the loss.

    step.py check torch|jax WEIGHTS BATCH    prints the loss of a batch with a stored model's weights, two .npz files
    step.py time torch|jax STEPS THREADS     for each line of input, a turn, prints how many nanoseconds a step took

The shapes are the paper's: 8 features, 4 actions, two layers of 128 ELUs with a head for each action, embeddings of
size 4.
"""

import math
import sys

import turns

mode, library = sys.argv[1], sys.argv[2]
if mode == "time":
    turns.set_threads(int(sys.argv[4]))

import numpy as np

ACTIONS, EMBEDDING, RANGE, NUGGET, BETA = 4, 4, 10.0, 1e-4, 3.0

if library == "torch":
    import torch

    exp, log, sqrt, tanh, erf, einsum = torch.exp, torch.log, torch.sqrt, torch.tanh, torch.erf, torch.einsum
    stack, cat = torch.stack, torch.cat
    elu, cholesky = torch.nn.functional.elu, torch.linalg.cholesky
    one_hot = lambda a: torch.nn.functional.one_hot(a, ACTIONS)
    floor = lambda x, low: torch.clamp(x, min=low)
    eye = lambda n: torch.eye(n, dtype=torch.float64)
    wide = lambda x: x.to(torch.float64)
    triangular = lambda l, b: torch.linalg.solve_triangular(l, b, upper=False)
    logsumexp = torch.logsumexp
    array = lambda x: torch.tensor(np.asarray(x))
else:
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    exp, log, sqrt, tanh, erf, einsum = jnp.exp, jnp.log, jnp.sqrt, jnp.tanh, jax.scipy.special.erf, jnp.einsum
    stack, cat = (lambda xs, dim: jnp.stack(xs, axis=dim)), (lambda xs, dim: jnp.concatenate(xs, axis=dim))
    elu, cholesky, one_hot = jax.nn.elu, jnp.linalg.cholesky, lambda a: jax.nn.one_hot(a, ACTIONS, dtype=jnp.float32)
    floor = jnp.maximum
    eye = lambda n: jnp.eye(n, dtype=jnp.float64)
    wide = lambda x: x.astype(jnp.float64)
    triangular = lambda l, b: jax.scipy.linalg.solve_triangular(l, b, lower=True)
    logsumexp = lambda x, dim: jax.scipy.special.logsumexp(x, axis=dim)
    array = jnp.asarray


def network(p, s):
    """Maps states [n, 8] to means [n, A], log standard deviations [n, A] and embeddings [n, A, 4]."""
    x = RANGE * tanh(s / RANGE)
    x = elu(x @ p["q.weight0"] + p["q.bias0"])
    x = elu(x @ p["q.weight1"] + p["q.bias1"])
    x = (x @ p["q.weight"] + p["q.bias"]).reshape(len(s), ACTIONS, 2 + EMBEDDING)
    return x[..., 0], x[..., 1], x[..., 2:]


def kernel(x, y):
    """exp(−½‖x − y‖²) of all pairs of points along the last axis but one, by products of matrices: the quickest."""
    products = einsum("...id,...jd->...ij", x, y)
    apart = (x * x).sum(-1)[..., :, None] + (y * y).sum(-1)[..., None, :] - 2 * products
    return exp(-0.5 * floor(apart, 0.0))


def clark(mean, cov):
    """Moments of the maximum over actions, and the weights of its surrogate; mean [n, A], cov [n, A, A]."""
    top, var, weights = mean[:, 0], cov[:, 0, 0], [1 + 0 * mean[:, 0]]
    for i in range(1, ACTIONS):
        with_i = sum(w * cov[:, j, i] for j, w in enumerate(weights))
        omega = sqrt(floor(var + cov[:, i, i] - 2 * with_i, 1e-10))
        gap = top - mean[:, i]
        nu = gap / omega
        upper = 0.5 * (1 + erf(-nu / math.sqrt(2)))
        lower, spread = 1 - upper, omega * exp(-0.5 * nu * nu) / math.sqrt(2 * math.pi)
        top = mean[:, i] + gap * lower + spread
        between = gap * gap * lower * upper + gap * spread * (upper - lower) - spread * spread
        var = floor(var * lower + cov[:, i, i] * upper + between, 1e-10)
        weights = [w * lower for w in weights] + [upper]
    return top, var, stack(weights, 1)


def loss(p, state, after, action, discount, expert, transitions):
    """The paper's loss, of a batch whose first transitions, so many, are the expert's."""
    n, hot = len(state), one_hot(action)
    mean, log_std, embedding = network(p, cat([state, after], 0))
    std = exp(log_std)
    cov = kernel(embedding, embedding) * std[:, :, None] * std[:, None, :]
    top, var, weights = clark(mean[n:], cov[n:])

    # rewards, as combinations of 1 + A values each
    taken = lambda x: (x[:n] * hot).sum(1)
    point = cat([(embedding[:n] * hot[:, :, None]).sum(1)[:, None], embedding[n:]], 1)
    weight = cat([taken(std)[:, None], -discount[:, None] * weights * std[n:]], 1)
    flat = point.reshape(n * (1 + ACTIONS), EMBEDDING)
    pairs = kernel(flat, flat).reshape(n, 1 + ACTIONS, n, 1 + ACTIONS)
    joint = einsum("ip,ipjq,jq->ij", weight, pairs, weight)
    surrogate = einsum("na,nab,nb->n", weights, cov[n:], weights)
    own = discount * discount * floor(var - surrogate, 0.0)
    gap = taken(mean) - discount * top - p["prior.mean"]

    # the prior, and the divergence from it in double precision
    scale = exp(p["prior.log_std"])
    features = cat([state, hot + 0 * state[:, :1]], 1) / exp(p["prior.log_lengthscale"])
    nugget = wide(NUGGET * scale * scale)
    prior = wide(kernel(features, features) * scale * scale) + nugget * eye(n)
    joint = wide(joint) + (wide(own) + nugget) * eye(n)
    ours, theirs = cholesky(joint), cholesky(prior)
    whitened = triangular(theirs, cat([ours, wide(gap)[:, None]], 1))
    diagonal = lambda l: (l * eye(n)).sum(1)
    divergence = 0.5 * ((whitened * whitened).sum() - n) + (log(diagonal(theirs)) - log(diagonal(ours))).sum()

    variance = std * std
    differences = variance[:, :, None] + variance[:, None, :] - 2 * cov
    spread = sqrt(1 + 3 / math.pi**2 * BETA**2 * floor(differences, 0.0))
    exponent = -BETA * (mean[:, :, None] - mean[:, None, :]) / spread
    log_likelihood = -(logsumexp(exponent[:expert], 2) * hot[:expert]).sum()
    return expert / transitions * divergence - log_likelihood


if mode == "check":
    weights, file = np.load(sys.argv[3]), np.load(sys.argv[4])
    p = {name: array(weights[name].astype("f4")) for name in weights.files}
    state, after = array(file["state"].astype("f4")), array(file["next"].astype("f4"))
    action, discount = array(file["action"]), array(file["discount"].astype("f4"))
    print(float(loss(p, state, after, action, discount, len(state), float(weights["demonstrated_transitions"]))))
    sys.exit()

rng = np.random.default_rng(1)
sizes = {"q.weight0": (8, 128), "q.bias0": (128,), "q.weight1": (128, 128), "q.bias1": (128,),
         "q.weight": (128, 24), "q.bias": (24,),
         "prior.mean": (), "prior.log_std": (), "prior.log_lengthscale": (12,)}
p = {name: (rng.uniform(-1, 1, size) / math.sqrt(max(size[0] if size else 1, 8))).astype("f4")
     for name, size in sizes.items()}
batches = [(rng.normal(size=(128, 8)).astype("f4"), rng.normal(size=(128, 8)).astype("f4"),
            rng.integers(ACTIONS, size=128), np.full(128, 0.99, "f4"))
           for _ in range(8)]
turns.take_turns(library, lambda p, *batch: loss(p, *batch, 64, 900), p, batches, int(sys.argv[3]))
