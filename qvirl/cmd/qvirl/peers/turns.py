"""What the peers of the benchmark of training steps have in common: threads, AdamW, and turns."""

import os
import sys
import time


def set_threads(count):
    """Lets numerical libraries that are imported later use so many threads."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(count)
    if count == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def torch_step(loss, p, batches):
    """Returns what takes step k of AdamW in eager PyTorch, and what waits for it."""
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    p = {name: torch.tensor(x, requires_grad=True) for name, x in p.items()}
    batches = [tuple(torch.tensor(x) for x in b) for b in batches]
    optimiser = torch.optim.AdamW(p.values(), lr=1e-3, weight_decay=1e-3)

    def step(k):
        optimiser.zero_grad()
        loss(p, *batches[k % len(batches)]).backward()
        optimiser.step()

    return step, lambda: None


def jax_step(loss, p, batches):
    """The same in jitted JAX."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    first, second = ({name: np.zeros_like(x) for name, x in p.items()} for _ in range(2))
    state = (p, first, second)

    @jax.jit
    def update(state, t, batch):
        p, first, second = state
        g = jax.grad(loss)(p, *batch)
        first = {k: 0.9 * first[k] + 0.1 * g[k] for k in p}
        second = {k: 0.999 * second[k] + 0.001 * g[k] ** 2 for k in p}
        mean = {k: first[k] / (1 - 0.9**t) for k in p}
        direct = {k: mean[k] / (jnp.sqrt(second[k] / (1 - 0.999**t)) + 1e-8) + 1e-3 * p[k] for k in p}
        cast = lambda new, old: {k: new[k].astype(old[k].dtype) for k in old}
        return cast({k: p[k] - 1e-3 * direct[k] for k in p}, p), cast(first, p), cast(second, p)

    def step(k):
        nonlocal state
        state = update(state, float(k + 1), batches[k % len(batches)])

    return step, lambda: jax.block_until_ready(state)


def take_turns(library, loss, p, batches, steps):
    """For each line of input prints how many nanoseconds one of so many steps took."""
    step, finish = {"torch": torch_step, "jax": jax_step}[library](loss, p, batches)
    k = 0

    def go(count):
        nonlocal k
        for _ in range(count):
            step(k)
            k += 1
        finish()

    go(3)  # compiles
    for _ in sys.stdin:
        start = time.perf_counter()
        go(steps)
        print(int((time.perf_counter() - start) * 1e9 / steps), flush=True)
