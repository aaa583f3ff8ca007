"""What users install: the wheel beside folders of the same names, foreign plug-ins, no torch."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).with_name("fltheory")


def _run(command: list[str | Path], **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@pytest.mark.slow
def test_the_wheel_works_beside_the_users_own_sims_and_analysis(tmp_path: Path) -> None:
    source = tmp_path / "source"
    tracked = _run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT).split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", str(tmp_path), str(source)])
    (wheel,) = tmp_path.glob("fltheory-*.whl")
    assert {"analysis/report/style.css", "analysis/report/filter.js"} <= set(zipfile.ZipFile(wheel).namelist())

    home = tmp_path / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    _run([*pip, "--python", str(home), "install", "--no-index", "--no-deps", str(wheel)])
    # Dependencies come from the environment that runs the tests; a .pth there (the editable install) is not followed.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    user = tmp_path / "user"
    for package in ("sims", "analysis"):
        (user / package).mkdir(parents=True)
        (user / package / "__init__.py").write_text("raise SystemExit('the user\\'s own folder was imported')\n")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    out = _run([home / "bin" / "fltheory", "verify", "--depth", "quick", "--workers", "2"], cwd=user, env=environment)
    assert "fedau.thm3" in out
    where = _run(
        [home / "bin" / "python", "-P", "-c", "import analysis; print(analysis.__file__)"], cwd=user, env=environment
    )
    assert str(home) in where


EXPERIMENT = """
kind = "simulate"
rounds = 3
replicates = 2
[problem]
name = "quadratic"
curvature = [1, 2, 4]
[process]
name = "mine"
p = 0.5
[[algorithm]]
name = "fedavg"
local_lr = 0.1
"""


def _contributing_blocks() -> dict[str, str]:
    """File name -> code, from the examples of CONTRIBUTING.md: the page cannot show what does not work."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files: dict[str, str] = {}
    for language, block in re.findall(r"```(python|toml)\n(.*?)```", text, flags=re.DOTALL):
        if language == "toml":
            files["entry_points"] = files.get("entry_points", "") + block
        else:
            for name, body in re.findall(r"# (\S+\.py)\n(.*?)(?=\n# \S+\.py\n|\Z)", block, flags=re.DOTALL):
                files[name] = body
    return files


@pytest.fixture
def foreign_package(tmp_path: Path) -> Path:
    """CONTRIBUTING's example, as a package that was installed beside this one."""
    files = _contributing_blocks()
    points = files.pop("entry_points")
    for name, body in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(body)
    info = tmp_path / "mypaper-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mypaper\nVersion: 1.0\n")
    points = re.sub(r'\[project\.entry-points\."(.*?)"\]', r"[\1]", points)
    (info / "entry_points.txt").write_text(re.sub(r' = "(.*?)"', r" = \1", points))
    return tmp_path


def test_contributing_shows_claim_process_and_figure_in_under_30_lines() -> None:
    files = _contributing_blocks()
    claim_lines = sum(len(files[name].strip().splitlines()) for name in ("mypaper/claims.py", "mypaper/checks.py"))
    assert 0 < claim_lines < 30
    for name in ("process", "figures"):
        assert 0 < len(files[f"mypaper/{name}.py"].strip().splitlines()) < 30


def test_a_foreign_package_adds_a_claim_and_a_process(foreign_package: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(foreign_package)}
    done = subprocess.run(
        [COMMAND, "verify", "mypaper", "--depth", "quick"], env=environment, capture_output=True, text=True, check=False
    )
    assert "mypaper.thm1" in done.stdout, done.stderr
    assert "1 exact" in done.stdout
    assert done.returncode == 0
    assert "mypaper.thm1: not recorded" in done.stderr
    assert "no counterexample" in _run([COMMAND, "falsify", "mypaper.thm1", "--budget", "1s"], env=environment)
    listed = _run([COMMAND, "list", "--paper", "mypaper"], env=environment)
    assert "mypaper.thm1" in listed
    assert "not recorded" in listed
    code = (
        "from fltheory.participation import families\n"
        "process = families()['mine'](0.25)\n"
        "print(process.rate[0], process.sample(8, seed=0).shape, 'bernoulli' in families())\n"
    )
    assert _run([sys.executable, "-c", code], env=environment).split() == ["0.25", "(8,", "1)", "True"]
    file = foreign_package / "experiment.toml"
    file.write_text(EXPERIMENT)
    store = foreign_package / "results"
    _run([COMMAND, "simulate", file, "--store", store], env=environment)
    (manifest,) = store.rglob("complete.json")
    assert json.loads(manifest.read_text())["experiment"]["process"] == {"name": "mine", "p": 0.5}
    file.write_text(EXPERIMENT.replace("p = 0.5", "p = 0.5\nn_clients = 2"))
    refused = subprocess.run([COMMAND, "simulate", file], env=environment, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1


def test_a_foreign_package_adds_a_figure(foreign_package: Path) -> None:
    path = os.pathsep.join([str(foreign_package), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    environment = os.environ | {"PYTHONPATH": path.rstrip(os.pathsep)}
    (foreign_package / "experiments").mkdir()
    scale = '[scale.smoke]\nrounds = 20\nrecord = { what = ["objective_gap"] }\n'
    (foreign_package / "experiments" / "mine.toml").write_text(f"{EXPERIMENT}{scale}")
    command = [COMMAND, "figures", "mypaper", "--scale", "smoke"]
    done = subprocess.run(command, env=environment, cwd=foreign_package, capture_output=True, text=True, check=False)
    assert done.returncode == 1  # nothing was drawn
    assert done.stdout == ""
    assert (
        "mypaper.fig1 is not drawn: results has no finished run of experiments/mine.toml at smoke scale" in done.stderr
    )
    command.append("--run")
    done = subprocess.run(command, env=environment, cwd=foreign_package, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["figures/mypaper_fig1_smoke.png", "figures/mypaper_fig1_smoke.csv"]
    assert (foreign_package / "figures" / "mypaper_fig1_smoke.csv").read_text().startswith("algorithm,round,mean")


def test_a_foreign_package_tests_its_own_things(foreign_package: Path) -> None:
    path = os.pathsep.join([str(foreign_package), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    environment = os.environ | {"PYTHONPATH": path.rstrip(os.pathsep)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", foreign_package / "mypaper/test_mine.py"]
    assert "1 passed" in _run(command, env=environment)


def test_the_example_package_passes_its_own_tests_when_installed(tmp_path: Path) -> None:
    source = shutil.copytree(ROOT / "examples" / "plugin", tmp_path / "plugin")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    site = tmp_path / "site"
    _run([*pip, "--no-build-isolation", "--no-deps", "--no-index", "--target", str(site), str(source)])
    path = os.pathsep.join([str(site), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    environment = os.environ | {"PYTHONPATH": path.rstrip(os.pathsep)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", source / "tests"]
    assert " passed" in _run(command, env=environment, cwd=source)


@pytest.mark.skipif(bool(entry_points(group="fltheory.claims", name="blackout")), reason="it is installed here")
def test_the_example_package_says_that_it_is_not_installed() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "examples" / "plugin"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stderr.strip() == "ERROR: blackout is not installed: pip install -e examples/plugin (see its README)"


def test_a_plugin_that_cannot_be_loaded_is_named(foreign_package: Path) -> None:
    (foreign_package / "mypaper" / "claims.py").write_text("import no_such_module\n")
    done = subprocess.run(
        [COMMAND, "verify", "fedau.facts"],
        env=os.environ | {"PYTHONPATH": str(foreign_package)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "entry point 'mypaper'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_reading_and_checking_need_no_torch() -> None:
    code = (
        "import sys\n"
        "class NoTorch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'torch': raise ImportError('torch is blocked')\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "import sys; sys.argv = ['fltheory', 'verify', 'fedau', '--depth', 'quick']\n"
        "from analysis.cli import main\n"
        "main()\n"
    )
    assert "fedau.thm3 " in _run([sys.executable, "-c", code])


def test_the_readme_example_runs_and_prints_what_it_says() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(code.strip().splitlines()) <= 12
    error, scale, cutoff = _run([sys.executable, "-c", code]).split()
    assert 0 < float(error) < 1
    assert f"{float(scale):.3f}" in code
    assert f"# {cutoff}:" in code
