"""Models, evidence and answers as files: what is read, and how a bad file is named."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from neuraltrees.inference import MarkovNetwork, read_bif, read_evidence, read_uai
from neuraltrees.inference.uai import format_assignment, format_log_partition, format_marginals

UAI = """MARKOV
3
2 2 3
3
1 0
2 1 2
0

2
 0.5 2

6
 1 2 3
 0 5e-1 6.0
1 10
"""
BAYES = "BAYES\n2\n2 2\n2\n1 0\n2 0 1\n2\n0.25 0.75\n4\n0.5 0.5 0 1\n"


def write(folder: Path, content: str, name: str = "model.uai") -> Path:
    path = folder / name
    path.write_text(content)
    return path


def test_uai_tables_have_the_last_variable_fastest(tmp_path: Path) -> None:
    model = read_uai(write(tmp_path, UAI))
    assert (model.cardinalities, model.cliques) == ((2, 2, 3), ((0,), (1, 2), ()))
    assert model.log_potentials[1].exp().tolist() == [[1, 2, pytest.approx(3)], [0, 0.5, pytest.approx(6)]]
    assert model.log_potentials[2].shape == ()
    assert model.log_potentials[0].dtype == torch.float64


def test_uai_may_be_packed_and_have_any_line_breaks(tmp_path: Path) -> None:
    packed = tmp_path / "model.uai.gz"
    packed.write_bytes(gzip.compress(UAI.replace("\n", "\r\n").encode()))
    same = read_uai(write(tmp_path, " ".join(UAI.split())))
    for one, other in zip(read_uai(packed).log_potentials, same.log_potentials, strict=True):
        assert torch.equal(one, other)


def test_a_bayesian_uai_model_is_the_markov_network_of_its_families(tmp_path: Path) -> None:
    model = read_uai(write(tmp_path, BAYES))
    assert isinstance(model, MarkovNetwork)
    assert model.cliques == ((0,), (0, 1))
    assert model.log_potentials[1].exp().tolist() == [[0.5, 0.5], [0, 1]]


BAD_UAI = {
    "empty": ("", "line 1: expected MARKOV or BAYES, got the end of the file."),
    "kind": ("MARKOW 1", "line 1: expected MARKOV or BAYES, got 'MARKOW'."),
    "not a number": (
        UAI.replace("2 2 3", "2 two 3"),
        "line 3: expected the number of states of a variable, got 'two'.",
    ),
    "no states": (UAI.replace("2 2 3", "2 0 3"), "line 3: expected the number of states of a variable between 1 and"),
    "negative": (UAI.replace("2 2 3", "2 -2 3"), "line 3: expected the number of states of a variable, got '-2'."),
    "more variables than words": (
        "MARKOV\n1000000000000\n2",
        "line 2: expected the number of variables to be 1000000000000",
    ),
    "more tables than words": ("MARKOV\n1\n2\n999999999\n1 0", "line 4: expected the number of tables to be 999999999"),
    "larger scope than words": (
        "MARKOV\n1\n2\n1\n99999 0\n2 1 1",
        "line 5: expected the number of variables of a table",
    ),
    "unknown variable": (UAI.replace("2 1 2", "2 1 3"), "line 6: expected a variable between 0 and 2, got 3."),
    "variable twice": (UAI.replace("2 1 2", "2 1 1"), "line 6: expected distinct variables in a table, got 1 twice."),
    "size": (UAI.replace("\n6\n", "\n5\n"), "line 12: expected a table of 6 entries for its scope, got 5."),
    "huge": ("MARKOV\n2\n2147483647 2147483647\n1\n2 0 1\n4611686014132420609\n1", "line 6: expected a table of"),
    "negative entry": (
        UAI.replace("5e-1", "-1"),
        "line 14: expected an entry of a table as a finite number of at least 0, got '-1'",
    ),
    "word": (
        UAI.replace("5e-1", "half"),
        "line 14: expected an entry of a table as a finite number of at least 0, got 'half'",
    ),
    "nan": (
        UAI.replace("5e-1", "nan"),
        "line 14: expected an entry of a table as a finite number of at least 0, got 'nan'",
    ),
    "infinite": (
        UAI.replace("5e-1", "1e999"),
        "line 14: expected an entry of a table as a finite number of at least 0",
    ),
    "digits with a bar": (UAI.replace("5e-1", "1_0"), "line 14: expected an entry of a table as a finite number"),
    "cut short": (
        UAI.rsplit("\n", 2)[0].removesuffix("1 10"),
        "line 14: expected the number of entries of a table, got the end",
    ),
    "too long": (UAI + "7", "line 16: expected the end of the file, got '7'."),
    "rows": (
        BAYES.replace("0.5 0.5 0 1", "0.5 0.5 0 0.5"),
        "expected rows of probabilities that sum",
    ),
    "two tables a variable": (
        BAYES.replace("2 0 1", "2 1 0"),
        "line 6: expected one table per variable, with that variable last",
    ),
    "a cycle": (
        "BAYES\n2\n2 2\n2\n2 1 0\n2 0 1\n4\n.5 .5 .5 .5\n4\n.5 .5 .5 .5",
        "Expected arcs without a directed cycle; variable 0 is on one",
    ),
    "bytes": ("\0\0\n", "line 1: expected MARKOV or BAYES, got '??'."),
}


@pytest.mark.parametrize(("content", "message"), BAD_UAI.values(), ids=BAD_UAI)
def test_bad_uai_files_are_named_with_their_line(content: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, content)
    with pytest.raises(nt.InputError) as caught:
        read_uai(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "evidence"),
    [
        ("0", {}),
        ("0\n", {}),
        ("2 3 1 0 2\n", {3: 1, 0: 2}),
        ("1 5 0", {5: 0}),
        ("1\n0\n", {}),
        ("1\n2 3 1 0 2\n", {3: 1, 0: 2}),
        ("1\n1 3 1\n", {3: 1}),
    ],
)
def test_evidence_with_and_without_the_number_of_samples(
    content: str, evidence: dict[int, int], tmp_path: Path
) -> None:
    assert read_evidence(write(tmp_path, content)) == evidence


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1: expected the number of observed variables, got the end of the file."),
        ("2 3 1", "line 1: expected 4 words, a variable and a state 2 times, got 2."),
        ("1\n2\n3 1", "line 2: expected 4 words, a variable and a state 2 times, got 2."),
        ("2\n1 3 1\n1 3 0", "line 1: expected 4 words, a variable and a state 2 times, got 6."),
        ("2\n3 1\n3 1", "line 3: expected each variable once, got 3 twice."),
        ("1\n3 yes", "line 2: expected a state, got 'yes'."),
        ("1\n-3 1", "line 2: expected a variable, got '-3'."),
        ("99999999999999999999", "line 1: expected the number of observed variables, got '99999999999999999999'."),
    ],
)
def test_bad_evidence_is_named_with_its_line(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(nt.ParseError) as caught:
        read_evidence(write(tmp_path, content))
    assert message in str(caught.value)


def test_answers_have_the_uai_formats() -> None:
    marginals = [torch.tensor([0.25, 0.75]), torch.tensor([1.0])]
    assert format_marginals(marginals) == "MAR\n2 2 0.25 0.75 1 1\n"
    assert format_marginals([]) == "MAR\n0\n"
    assert format_log_partition(torch.tensor(100.0, dtype=torch.float64).log()) == "PR\n2\n"
    assert format_log_partition(torch.tensor(-torch.inf)) == "PR\n-inf\n"
    assert format_assignment(torch.tensor([1, 0, 2])) == "MAP\n3 1 0 2\n"


BIF = """// the classic
network "rain and grass" { property author me; }
variable rain {
  type discrete [ 2 ] { no, yes };
}
variable sprinkler { type discrete [ 3 ] { off, 5-12, "on all day" }; /* several
lines */ }
variable wet { type discrete[2]{no,yes}; property colour green; }
probability ( rain ) { table 0.8, 0.2; }
probability ( sprinkler | rain ) {
  (yes) 1.0, 0, 0;
  (no) 0.5, 0.3, 0.2;
}
probability ( wet | rain, sprinkler ) {
  default 0.1, 0.9;
  (no, off) 1, 0;
}
"""


def test_bif_rows_come_in_any_order(tmp_path: Path) -> None:
    network = read_bif(write(tmp_path, BIF, "model.bif"))
    assert network.names == ("rain", "sprinkler", "wet")
    assert network.states[1] == ("off", "5-12", "on all day")
    assert network.parents == ((), (0,), (0, 1))
    assert network.tables[1].tolist() == [[0.5, 0.3, 0.2], [1, 0, 0]]
    assert network.tables[2].tolist() == [[[1, 0], [0.1, 0.9], [0.1, 0.9]], [[0.1, 0.9]] * 3]
    packed = tmp_path / "model.bif.gz"
    packed.write_bytes(gzip.compress(BIF.encode()))
    assert read_bif(packed).names == network.names


def test_a_whole_bif_table_has_the_variable_slowest(tmp_path: Path) -> None:
    content = BIF.replace("  (yes) 1.0, 0, 0;\n  (no) 0.5, 0.3, 0.2;\n", "  table 0.5, 1.0, 0.3, 0, 0.2, 0;\n")
    assert read_bif(write(tmp_path, content, "model.bif")).tables[1].tolist() == [[0.5, 0.3, 0.2], [1, 0, 0]]


def test_bif_may_leave_out_what_says_nothing(tmp_path: Path) -> None:
    """Commas and the bar, as older programs do; comments may stand anywhere, and a mark of the byte order first."""
    expected = read_bif(write(tmp_path, BIF, "model.bif"))
    content = "\ufeff" + BIF.replace(",", " ").replace("|", " ").replace("0.8", "0.8 /* dry; mostly */")
    content = content.replace("property colour green;", "property discrete colours ;")
    found = read_bif(write(tmp_path, content, "older.bif"))
    assert (found.names, found.states, found.parents) == (expected.names, expected.states, expected.parents)
    assert all(map(torch.equal, found.tables, expected.tables))


BAD_BIF = {
    "empty": ("", "line 1: expected 'network', got the end of the file."),
    "no network": ("netwark x {}", "line 1: expected 'network', got 'netwark'."),
    "unknown block": (BIF + "utility x {}", "line 18: expected 'variable' or 'probability', got 'utility'."),
    "count": (
        BIF.replace("[ 2 ] { no, yes }", "[ 3 ] { no, yes }"),
        "line 4: expected 3 distinct states for rain, got 2.",
    ),
    "state twice": (BIF.replace("{ no, yes }", "{ no, no }"), "line 4: expected 2 distinct states for rain, got 1."),
    "variable twice": (
        BIF.replace("variable wet", "variable rain"),
        "line 8: expected each variable once, got rain twice.",
    ),
    "no type": (
        BIF.replace("type discrete[2]{no,yes};", ""),
        "line 8: expected a line 'type discrete [ … ] { … };' for wet",
    ),
    "unknown parent": (
        BIF.replace("( wet | rain,", "( wet | snow,"),
        "line 14: expected a variable declared above, once, got snow.",
    ),
    "own parent": (
        BIF.replace("( wet | rain,", "( wet | wet,"),
        "line 14: expected a variable declared above, once, got wet.",
    ),
    "second block": (
        BIF + "probability ( rain ) { table 1, 0; }",
        "line 18: expected one probability block per variable",
    ),
    "missing block": (
        BIF.replace("probability ( rain ) { table 0.8, 0.2; }", ""),
        "expected a probability block for rain",
    ),
    "missing row": (BIF.replace("  (yes) 1.0, 0, 0;\n", ""), "line 12: expected 2 rows of probabilities, got 1."),
    "row twice": (BIF.replace("(yes) 1.0", "(no) 1.0"), "line 12: expected each row once, got (no) twice."),
    "unknown state": (BIF.replace("(no, off)", "(no, of)"), "line 16: expected a state of the parent, got of."),
    "too few states": (BIF.replace("(no, off)", "(no)"), "line 16: expected a state for each of 2 parents, got 1."),
    "short row": (BIF.replace("0.5, 0.3, 0.2", "0.5, 0.5"), "line 12: expected 3 probabilities, got 2."),
    "word": (
        BIF.replace("0.5, 0.3, 0.2", "0.5, half, 0"),
        "line 12: expected 3 probabilities, got '0.5, half, 0'.",
    ),
    "negative": (BIF.replace("0.5, 0.3, 0.2", "1.5, -0.5, 0"), "line 12: expected 3 probabilities, got '1.5"),
    "nan": (BIF.replace("0.5, 0.3, 0.2", "nan, 0, 0"), "line 12: expected 3 probabilities, got 'nan"),
    "two commas": (BIF.replace("0.5, 0.3, 0.2", "0.5,, 0.5, 0"), "line 12: expected 3 probabilities, got '0.5,, 0.5"),
    "comma at the end": (BIF.replace("{no,yes}", "{no,yes,}"), "line 8: expected a state, got '}'."),
    "second type": (BIF.replace("property colour green;", "type discrete [1] {x};"), "expected one type for wet"),
    "continuous": (BIF.replace("property colour green;", "type real;"), "line 8: expected one type for wet"),
    "second default": (BIF.replace("(no, off) 1, 0;", "default 1, 0;"), "line 16: expected one default per block"),
    "sum": (BIF.replace("0.5, 0.3, 0.2", "0.5, 0.5, 0.5"), "line 13: expected rows of probabilities that sum to 1"),
    "table size": (BIF.replace("table 0.8, 0.2", "table 0.8, 0.1, 0.1"), "line 9: expected 2 probabilities, got 3."),
    "cut short": (
        BIF[: BIF.index("(no, off)")],
        "expected 'table' or '(' or 'default' or 'property' or '}', got the end",
    ),
    "no semicolon": (
        BIF[: BIF.index(" 1, 0;")] + " 1, 0",
        "line 16: expected ';' after the probabilities, got the end",
    ),
    "loose quote": ('network "x {}', "line 1: expected '{', got an unpaired quote."),
    "cycle": (
        BIF.replace("( rain ) { table 0.8, 0.2; }", "( rain | wet ) { (no) 1, 0; (yes) 0, 1; }"),
        "Expected arcs without a directed cycle; rain is on one",
    ),
    "huge by default": (
        "network x {}\n"
        + "".join(f"variable v{i} {{ type discrete [ 2 ] {{ a, b }}; }}\n" for i in range(60))
        + f"probability ( v0 | {', '.join(f'v{i}' for i in range(1, 60))} ) {{ default 1, 0; }}",
        "expected at most 16777216 rows in a table with a default, got 576460752303423488.",
    ),
    "more parents than axes": (
        "network x {}\n"
        + "".join(f"variable v{i} {{ type discrete [ 1 ] {{ a }}; }}\n" for i in range(70))
        + f"probability ( v0 | {', '.join(f'v{i}' for i in range(1, 70))} ) {{ default 1; }}",
        "expected at most 63 parents, got 69.",
    ),
}


@pytest.mark.parametrize(("content", "message"), BAD_BIF.values(), ids=BAD_BIF)
def test_bad_bif_files_are_named_with_their_line(content: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, content, "model.bif")
    with pytest.raises(nt.ParseError) as caught:
        read_bif(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_bif_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.bif"
    path.write_bytes(b"network \xff\xfe {")
    with pytest.raises(nt.ParseError, match="expected text in UTF-8, got an invalid byte at offset 8"):
        read_bif(path)


DAMAGED = {
    "uai": (UAI, read_uai),
    "bayes": (BAYES, read_uai),
    "bif": (BIF, read_bif),
    "evid": ("2 3 1 0 2", read_evidence),
}


@pytest.mark.parametrize(("content", "read"), DAMAGED.values(), ids=DAMAGED)
@given(data=st.data())
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_read_or_refused_in_our_words(
    content: str, read: Callable[[Path], object], tmp_path: Path, data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(begin, min(len(content), begin + 5)))
        new = data.draw(st.text('0123456789 -.,;(){}[]|"eE\n_/*ab', max_size=4))
        content = content[:begin] + new + content[end:]
    path = write(tmp_path, content, "damaged")
    with suppress(nt.ParseError):
        read(path)
