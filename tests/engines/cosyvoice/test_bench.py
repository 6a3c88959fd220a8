import json
from pathlib import Path

import pytest

from cosyvoice_web.cli import main


def test_every_figure_is_measured_and_the_last_line_is_json(
    recipe_model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")  # else the command sets it
    arguments = ["--tokens", "50", "--sentences", "2", "--repeats", "1", "--threads", "1", "--json"]
    assert main(["bench", str(recipe_model), *arguments]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (figures["tokens"], figures["sentences"], figures["precision"]) == (50, 2, "int8")
    assert figures["audio_seconds"] == pytest.approx(2.0, abs=0.1)
    assert figures["real_time_factor"] == pytest.approx(figures["seconds"] / figures["audio_seconds"])
    assert figures["first_audio_seconds"] > 0
    assert {"language_model", "language_model_ms_a_token", "flow", "vocoder"} == figures["stage_seconds"].keys()
    assert all(figure > 0 for figure in figures["matrix_products_gflops"].values())
    assert figures["peak_memory_mb"] > 50


@pytest.mark.parametrize("arguments", [["--tokens", "0"], ["--sentences", "-1"], ["--precision", "int4"]])
def test_wrong_usage(recipe_model: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["bench", str(recipe_model), *arguments])
