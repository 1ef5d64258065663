"""Executes one notebook and saves it with its HTML and figures. Kernel-setup feeds this to the Python it installed.

Arguments: NOTEBOOK OUT_DIRECTORY INPLACE(0|1) CELL_SECONDS. Events go to standard output as JSON lines, and what the
kernel itself prints to kernel.log in the output directory. The exit status is 0, or 1 after a "failed" event.
"""

import base64
import json
import os
import pathlib
import re
import signal
import stat
import sys
import tempfile
import time

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert import HTMLExporter
from nbconvert.preprocessors.coalescestreams import CoalesceStreamsPreprocessor

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
# GoNB reports these two on standard error only, each as one message, and goes on with the next cell.
SHELL_FAILURE = re.compile(r"(exit status \d+|signal: .+)\n?")
UNKNOWN_MAGIC = re.compile(r'"%\S*" unknown or not implemented yet\.\n?')
SHELL_LINE = re.compile(r"^\s*(//gonb:)?!|^%%(bash|sh|script)\b", re.MULTILINE)


def emit(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


class Client(NotebookClient):
    """Reports output while a cell runs, and notices failures that GoNB does not report as errors."""

    silent_failure = ""
    reported = 0.0  # when output was last passed on

    def process_message(self, msg, cell, cell_index):
        content = msg["content"]
        if msg["msg_type"] == "stream":
            text = content["text"]
            lines = [line for line in re.split(r"[\r\n]+", ANSI.sub("", text)) if line.strip()]
            if lines and time.monotonic() - self.reported > 0.2:
                self.reported = time.monotonic()
                emit("output", text=lines[-1])
            if content["name"] == "stderr":
                if SHELL_FAILURE.fullmatch(text) and SHELL_LINE.search(cell.source):
                    self.silent_failure = "a shell command failed: " + text.strip()
                elif UNKNOWN_MAGIC.fullmatch(text):
                    self.silent_failure = text.strip()
        return super().process_message(msg, cell, cell_index)


def write(path, data):
    """Writes bytes whole or not at all; a file that was there keeps its permissions."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix="." + path.name)
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(data)
        os.chmod(name, stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def tagged(cell, tag):
    return tag in cell.metadata.get("tags", [])


def said(cell):
    """What a failed cell printed: its standard error and the error itself."""
    text = ""
    for out in cell.get("outputs", []):
        if out.output_type == "stream" and out.name == "stderr":
            text += out.text
        elif out.output_type == "error":
            error = "\n".join(out.traceback).strip() or out.evalue
            if not text.rstrip().endswith(error):  # GoNB writes an exit status in both places
                text = text.rstrip("\n") + "\n" + error
    return ANSI.sub("", text).strip("\n")


def summary(cell):
    """The text of a cell's outputs as a terminal can show it."""
    parts = []
    for out in cell.get("outputs", []):
        if out.output_type == "stream" and out.name == "stdout":
            parts.append(out.text)
        elif out.output_type in ("display_data", "execute_result"):
            parts.append(out.data.get("text/markdown") or out.data.get("text/plain") or "")
    return "\n".join(p.strip("\n") for p in parts if p.strip())


def figures(nb):
    """Yields (file name, bytes) for every picture in the outputs, named by cell and position in it."""
    for index, cell in enumerate(nb.cells, start=1):
        count = 0
        for out in cell.get("outputs", []):
            data = out.get("data", {})
            found = []
            if "image/svg+xml" in data:
                found.append((".svg", "".join(data["image/svg+xml"])))
            elif "image/png" in data:
                found.append((".png", base64.b64decode("".join(data["image/png"]))))
            elif "image/jpeg" in data:
                found.append((".jpg", base64.b64decode("".join(data["image/jpeg"]))))
            elif "text/html" in data:
                # GoNB sends SVG inside HTML.
                found += [(".svg", svg) for svg in SVG.findall("".join(data["text/html"]))]
            for suffix, content in found:
                if isinstance(content, str):
                    if "xmlns=" not in content:
                        content = content.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
                    content = content.encode()
                count += 1
                yield f"cell-{index:02d}-{count}{suffix}", content


def execute(nb, notebook, log, seconds):
    """Runs the cells and returns whether all succeeded, having reported the one that did not."""
    client = Client(
        nb,
        timeout=seconds or None,
        kernel_name=nb.metadata.get("kernelspec", {}).get("name", "gonb"),
        resources={"metadata": {"path": str(notebook.parent)}},
        record_timing=False,
    )
    manager = client.create_kernel_manager()
    manager.shutdown_wait_time = 10  # GoNB gives a running cell five seconds
    position = 0
    kernel = None
    try:
        # A file, and not a pipe to this process: GoNB has to outlive it for long enough to end what it started.
        with client.setup_kernel(stdout=log, stderr=log):
            kernel = getattr(manager.provisioner, "pid", None)
            for index, cell in enumerate(nb.cells):
                if cell.cell_type != "code" or not cell.source.strip():
                    continue
                position += 1
                client.silent_failure = ""
                emit("cell", index=index + 1, source=cell.source)
                start = time.monotonic()
                problem = ""
                try:
                    client.execute_cell(cell, index, execution_count=position)
                    if client.silent_failure and not tagged(cell, "raises-exception"):
                        problem = client.silent_failure
                except CellTimeoutError:
                    problem = f"still running after {seconds} s, the limit for a cell (--cell-timeout)"
                except DeadKernelError:
                    problem = "the Go kernel ended; its last words are in kernel.log"
                except CellExecutionError:
                    pass
                else:
                    if not problem:
                        emit("done", index=index + 1, seconds=time.monotonic() - start)
                        continue
                words = said(cell)
                if problem and problem not in words:
                    words = (words + "\n" + problem).strip()
                emit("failed", index=index + 1, position=position, source=cell.source, error=words)
                return False
    finally:
        # The kernel leads a session of its own; what it may have left running ends here.
        if kernel:
            try:
                os.killpg(kernel, signal.SIGKILL)
            except (AttributeError, ProcessLookupError, PermissionError):
                pass
    return True


def save(nb, notebook, directory, inplace):
    CoalesceStreamsPreprocessor().preprocess(nb, {})
    text = nbformat.writes(nb).rstrip("\n") + "\n"
    executed = directory / notebook.name
    write(executed, text.encode())
    if inplace:
        write(notebook, text.encode())
    html, _ = HTMLExporter(embed_images=True).from_notebook_node(nb, {"metadata": {"name": notebook.stem}})
    page = executed.with_suffix(".html")
    write(page, html.encode())
    folder = directory / "figures"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("cell-*"):
        old.unlink()
    names = []
    for name, data in figures(nb):
        write(folder / name, data)
        names.append(name)
    emit("saved", notebook=str(executed), html=str(page), figures=names)


def main():
    notebook = pathlib.Path(sys.argv[1]).resolve()
    directory = pathlib.Path(sys.argv[2])
    inplace = sys.argv[3] == "1"
    nb = nbformat.read(notebook, as_version=4)
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    emit("start", cells=len(nb.cells))
    try:
        with open(directory / "kernel.log", "wb") as log:
            good = execute(nb, notebook, log, int(sys.argv[4]))
    except KeyboardInterrupt:
        sys.exit(130)
    # A failed run is saved too, to be looked at, but never over its source.
    save(nb, notebook, directory, inplace and good)
    for cell in nb.cells:
        if tagged(cell, "summary") and summary(cell):
            emit("summary", text=summary(cell))
    sys.exit(0 if good else 1)


def interrupt(signum, frame):
    # Once: the death of a parent with many threads is signalled several times, and shutting down takes a while.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


signal.signal(signal.SIGTERM, interrupt)
signal.signal(signal.SIGINT, interrupt)
main()
