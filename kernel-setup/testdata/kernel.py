"""Talks to the Go kernel as an editor does: finds it by its name, completes, interrupts a cell.

Prints what it saw as JSON.
"""

import json
import queue
import sys
import time

from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="gonb", startup_timeout=120, cwd=sys.argv[1])
seen = {"kernelspec": manager.kernel_spec.resource_dir}


def execute(code, meanwhile=None, limit=600):
    """Runs a cell and returns its texts, its pictures' formats and its status. meanwhile is called at each output."""
    request, texts, formats, status = client.execute(code), [], set(), None
    end = time.monotonic() + limit
    while time.monotonic() < end:
        message = client.get_iopub_msg(timeout=limit)
        if message["parent_header"].get("msg_id") != request:
            continue
        content = message["content"]
        if message["msg_type"] == "stream":
            texts.append(content["text"])
        elif "data" in content:
            formats |= set(content["data"])
            texts += [str(t) for kind, t in content["data"].items() if kind.startswith("text/")]
        elif message["msg_type"] == "status" and content["execution_state"] == "idle":
            break
        if meanwhile:
            meanwhile(texts)
    status = client.get_shell_msg(timeout=60)["content"]["status"]
    return {"text": "\n".join(texts), "formats": sorted(formats), "status": status}


def complete(code):
    start = time.monotonic()
    request = client.complete(code, len(code))
    while True:
        message = client.get_shell_msg(timeout=120)
        if message["parent_header"].get("msg_id") == request:
            return {"seconds": time.monotonic() - start, "matches": message["content"]["matches"]}


try:
    seen["header"] = execute('%noautoget\nimport (\n\t"time"\n\n\t"github.com/go-birl/birl/widgets"\n)\n'
                             '%%\nfmt.Println(1 + 1)')
    seen["picture"] = execute('%%\nif err := widgets.Show(widgets.HeatMaps{Width: 2, Height: 1, '
                              'Columns: []string{"a"}, Rows: []widgets.HeatRow{{Values: [][]float64{{1, 2}}}}}); '
                              'err != nil {\n\tpanic(err)\n}')
    seen["completions"] = [complete("%%\nwidgets.") for _ in range(3)]
    interrupted = []

    def interrupt(texts):
        if not interrupted and any("40 %" in t for t in texts):
            interrupted.append(time.monotonic())
            manager.interrupt_kernel()

    seen["interrupted"] = execute('%%\nline := widgets.NewProgress("slow work")\n'
                                  'line.Interrupted = "the first part is kept"\n'
                                  'line.Report(40, 100, "")\ntime.Sleep(time.Hour)', interrupt)
    seen["after"] = time.monotonic() - interrupted[0] if interrupted else None
    seen["next"] = execute('%%\nfmt.Println("goes on")')
except queue.Empty:
    seen["error"] = "the kernel did not answer in time"
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=False)
print(json.dumps(seen))
