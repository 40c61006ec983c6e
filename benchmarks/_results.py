"""A result file: what was run, on what, with which versions, and the table."""

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent


def write(name: str, title: str, sections: Sequence[tuple[str, str]], packages: Sequence[str], command: str) -> None:
    """Write benchmarks/results/NAME.md, whole or not at all, and print it."""
    document(HERE / "results" / f"{name}.md", title, sections, packages, command)


def document(
    target: Path, title: str, sections: Sequence[tuple[str, str]], packages: Sequence[str], command: str
) -> None:
    """The same, anywhere."""
    lines = [
        f"# {title}",
        "",
        f"- Command: `{command}`",
        f"- Machine: {machine()}",
        f"- Versions: {versions(packages)}",
    ]
    lines.append(f"- Source: {_commit()}")
    for heading, body in sections:
        lines += ["", f"## {heading}", "", body]
    text = "\n".join(lines) + "\n"
    target.parent.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False, suffix=".part") as part:
        part.write(text)
    os.chmod(part.name, 0o644)
    os.replace(part.name, target)
    print(text)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table, numbers to the right."""
    body = [header, ["---:" if i else "---" for i in range(len(header))], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in body)


def machine() -> str:
    """The processor, its cores and the memory."""
    model, memory = platform.processor() or platform.machine(), ""
    if Path("/proc/cpuinfo").exists():
        model = _field("/proc/cpuinfo", "model name") or model
        memory = f", {int(_field('/proc/meminfo', 'MemTotal').split()[0]) / 2**20:.0f} GiB"
    return f"{model}, {os.cpu_count()} cores{memory}, {platform.system()}, no GPU used"


def _field(file: str, name: str) -> str:
    lines = Path(file).read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith(name)), "")


def versions(packages: Sequence[str]) -> str:
    """Python's and the packages'."""
    return ", ".join([f"Python {platform.python_version()}", *(f"{p} {metadata.version(p)}" for p in packages)])


def _commit() -> str:
    git = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"], cwd=HERE, capture_output=True, text=True
    )
    return git.stdout.strip() or "not in a checkout"


def in_process(script: str, *arguments: object) -> list[str]:
    """Run one measurement of a benchmark in a process of its own and return the words that it prints."""
    run = subprocess.run(
        [sys.executable, script, *map(str, arguments)], capture_output=True, text=True, cwd=HERE.parent
    )
    if run.returncode:
        sys.exit(f"{script} {arguments} failed:\n{run.stderr[-2000:]}")
    return run.stdout.split()
