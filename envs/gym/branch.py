# Part of the worker: copies of an environment that go on from where it is.

def fork(slot, action, seed, put):
    """Takes a step in a copy of this process, where the environment's random generator has that seed, and returns the
    copy's id and where it writes what came of it: 0 and the answer that put makes of it, or 1 and a traceback."""
    source, sink = os.pipe()
    child = os.fork()
    if child:
        os.close(sink)  # or the next copy would keep this one's answer from ending
        return child, source
    try:
        try:
            generator = slot.env.unwrapped.np_random.bit_generator
            generator.state = type(generator)(seed).state
            observation, reward, ended, cut, _ = slot.env.step(action)
            answer = b"\0" + struct.pack("<d??", number(reward), ended, cut) + put(observation)
        except BaseException:
            answer = b"\1" + traceback.format_exc().encode()
        while answer:
            answer = answer[os.write(sink, answer) :]
    finally:
        os._exit(0)  # whatever happens, there is one worker only


def collect(child, source):
    """Reads what a copy has written, until it ends."""
    with os.fdopen(source, "rb") as f:
        answer = f.read()
    os.waitpid(child, 0)
    if answer[:1] != b"\0":
        raise RuntimeError("a copy of it failed: " + (answer[1:].decode() or "it ended without a word"))
    return answer[1:]
