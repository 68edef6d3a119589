"""The assessment graph against networkx, figure 1 of the paper, and dense eigenvalues."""

import math
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

import evenhand as eh
from evenhand.errors import NotConnectedError
from evenhand.panel.gauge import condition
from evenhand.panel.panel import Panel
from evenhand.solve import choose_solver
from evenhand.solve.connectivity import Connectivity, assessor_graph, connectivity
from evenhand.solve.equations import make_system
from panels import connected_panels, edge_lists, panel_of, random_panel

FIGURE_1 = {
    # one object for each pair of assessors
    "a": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
    # a cycle of four pairs, alternate sides doubled
    "b": [(0, 1), (0, 1), (1, 2), (2, 3), (2, 3), (3, 0)],
    # two pairs of assessors with three objects each
    "c": [(0, 1), (0, 1), (0, 1), (2, 3), (2, 3), (2, 3)],
}


def figure_1(name: str) -> Panel:
    return panel_of([(o, a) for o, pair in enumerate(FIGURE_1[name]) for a in pair])


def multigraph(panel: Panel) -> Any:
    graph = nx.MultiGraph()
    graph.add_nodes_from(("o", o) for o in range(panel.n_objects))
    for edge, (o, a) in enumerate(zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True)):
        graph.add_edge(("o", o), ("a", a), key=edge)
    return graph


def dense_mu2(panel: Panel) -> float:
    """Return the second smallest eigenvalue of M, all n_O + n_A of it (App. C)."""
    weights = np.zeros((panel.n_objects, panel.n_assessors))
    np.add.at(weights, (panel.object_index, panel.assessor_index), panel.precision)
    scaled = weights / np.sqrt(np.outer(weights.sum(axis=1), weights.sum(axis=0)))
    full = np.block([[np.eye(panel.n_objects), scaled], [scaled.T, np.eye(panel.n_assessors)]])
    return float(np.linalg.eigvalsh(full)[1])


@pytest.mark.parametrize(
    ("name", "mu2"), [("a", 1 - math.sqrt(1 / 3)), ("b", 1 - math.sqrt(2 / 3)), ("c", 0.0)], ids=["a", "b", "c"]
)
def test_figure_1_has_the_spectral_gaps_of_the_paper(name: str, mu2: float) -> None:
    assert connectivity(figure_1(name)).mu2 == pytest.approx(mu2, abs=1e-14)


def test_figure_1_c_falls_into_two_groups_and_the_others_do_not() -> None:
    assert connectivity(figure_1("a")).is_connected
    assert connectivity(figure_1("b")).is_connected
    parts = connectivity(figure_1("c"))
    assert parts.n_components == 2
    assert parts.assessor_component.tolist() == [0, 0, 1, 1]
    assert parts.object_component.tolist() == [0, 0, 0, 1, 1, 1]


def test_one_assessor_of_several_objects_has_gap_one() -> None:
    assert connectivity(panel_of([(0, 0), (1, 0), (2, 0)])).mu2 == 1.0


def test_one_object_of_several_assessors_has_gap_one() -> None:
    assert connectivity(panel_of([(0, 0), (0, 1), (0, 2)])).mu2 == 1.0


def test_a_single_score_has_gap_two() -> None:
    assert connectivity(panel_of([(0, 0)])).mu2 == 2.0


@given(connected_panels(repeats=True))
def test_the_gap_is_the_second_eigenvalue_of_the_whole_matrix(panel: Panel) -> None:
    assert connectivity(panel).mu2 == pytest.approx(dense_mu2(panel), rel=1e-9, abs=1e-13)


def test_a_tiny_gap_keeps_its_digits() -> None:
    # two assessors with an object each, and a third object that both see with tiny confidence e
    tiny = 1e-9
    panel = Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 0, 1], np.zeros(6), [1.0, 1.0, 1.0, 1.0, tiny, tiny])
    # the link weighs e/2; normalised by the total 2 + e of both: 1 - lambda_2 = e/(2 + e)
    gap = tiny / (2 + tiny)
    assert connectivity(panel).mu2 == pytest.approx(gap / (1 + math.sqrt(1 - gap)), rel=1e-6)


def test_the_sparse_and_the_dense_eigenvalues_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = random_panel(5, 60, 40, 150, decades=2)
    dense = connectivity(panel).mu2
    monkeypatch.setattr("evenhand.solve.spectrum._DENSE", 10)
    assert connectivity(panel).mu2 == pytest.approx(dense, rel=1e-9)


def test_the_sparse_eigenvalue_of_a_ring_is_the_one_known_in_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.solve.spectrum._DENSE", 10)
    n = 60  # every vertex alike, so the start vector of the iteration is itself an eigenvector
    panel = panel_of([(o, a % n) for o in range(n) for a in (o, o + 1)])
    assert connectivity(panel).mu2 == pytest.approx(1 - math.cos(math.pi / n), rel=1e-9)


@given(edge_lists())
def test_components_are_those_of_networkx(edges: list[tuple[int, int]]) -> None:
    panel = panel_of(edges)
    parts = connectivity(panel)
    found: dict[int, set[tuple[str, int]]] = {}
    for side, component in (("o", parts.object_component), ("a", parts.assessor_component)):
        for index, group in enumerate(component.tolist()):
            found.setdefault(group, set()).add((side, index))
    wanted = {frozenset(group) for group in nx.connected_components(multigraph(panel))}
    assert {frozenset(group) for group in found.values()} == wanted
    assert parts.n_components == len(wanted) == len(found)


@given(edge_lists())
def test_group_zero_has_the_most_assessments_and_no_group_more_than_the_one_before(
    edges: list[tuple[int, int]],
) -> None:
    panel = panel_of(edges)
    sizes = np.bincount(connectivity(panel).object_component[panel.object_index])
    assert (np.diff(sizes) <= 0).all()


@given(edge_lists())
def test_bridges_are_those_of_networkx_and_a_repeated_pair_is_none(edges: list[tuple[int, int]]) -> None:
    panel = panel_of(edges)
    graph = multigraph(panel)
    pairs = list(zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True))
    wanted = []
    for u, v in nx.bridges(nx.Graph(graph)):
        o, a = (u[1], v[1]) if u[0] == "o" else (v[1], u[1])
        if pairs.count((o, a)) == 1:
            wanted.append(pairs.index((o, a)))
    assert connectivity(panel).bridges.tolist() == sorted(wanted)


@given(edge_lists())
def test_removing_a_bridge_and_nothing_else_adds_a_component(edges: list[tuple[int, int]]) -> None:
    panel = panel_of(edges)
    graph = multigraph(panel)
    before = nx.number_connected_components(graph)
    bridges = set(connectivity(panel).bridges.tolist())
    for u, v, key in list(graph.edges(keys=True)):
        graph.remove_edge(u, v, key=key)
        assert (nx.number_connected_components(graph) > before) == (key in bridges)
        graph.add_edge(u, v, key=key)


@given(edge_lists())
def test_articulation_assessors_are_those_of_networkx(edges: list[tuple[int, int]]) -> None:
    panel = panel_of(edges)
    wanted = sorted(i for side, i in nx.articulation_points(nx.Graph(multigraph(panel))) if side == "a")
    assert connectivity(panel).articulation_assessors.tolist() == wanted


@given(connected_panels(repeats=True, least_assessors=2))
def test_leverage_one_marks_a_bridge(panel: Panel) -> None:
    parts = connectivity(panel)
    of_object, across, of_assessor = choose_solver(make_system(panel, parts)).edges()
    leverage = panel.precision * (of_object + 2 * across + of_assessor)
    assert ((leverage > -1e-9) & (leverage < 1 + 1e-9)).all()
    assert np.flatnonzero(leverage > 1 - 1e-9).tolist() == parts.bridges.tolist()
    assert leverage.sum() == pytest.approx(panel.n_objects + panel.n_assessors - 1, rel=1e-9)


@given(edge_lists())
def test_suggestions_are_new_pairs_one_fewer_than_the_groups_and_join_them_all(edges: list[tuple[int, int]]) -> None:
    panel = panel_of(edges)
    parts = connectivity(panel)
    assert len(parts.suggestions) == parts.n_components - 1
    extra = [(int(o), int(a)) for a, o in parts.suggestions]
    assert not set(extra) & set(edges)
    assert connectivity(panel_of([*edges, *extra])).is_connected


def test_suggestions_share_the_extra_work_between_assessors() -> None:
    # four assessors with two objects each, then three groups of one assessor with five objects
    edges = [(o, (o + step) % 4) for o in range(4) for step in (0, 1)]
    edges += [(4 + 5 * group + o, 4 + group) for group in range(3) for o in range(5)]
    suggestions = connectivity(panel_of(edges)).suggestions
    assert {assessor for assessor, _ in suggestions} <= {"0", "1", "2", "3"}
    assert len({assessor for assessor, _ in suggestions}) == 3


@given(edge_lists())
def test_components_list_every_label_once(edges: list[tuple[int, int]]) -> None:
    panel = panel_of(edges)
    groups = connectivity(panel).components
    assert sorted(label for objects, _ in groups for label in objects) == sorted(panel.objects)
    assert sorted(label for _, assessors in groups for label in assessors) == sorted(panel.assessors)


def two_groups() -> Panel:
    return Panel.from_arrays(
        [0, 1, 1, 2, 3],
        [0, 0, 1, 2, 2],
        np.arange(5.0),
        objects=["red", "green", "blue", "white"],
        assessors=["Ann", "Bob", "Cy"],
    )


def test_a_disconnected_panel_is_refused_in_a_sentence_with_its_groups_and_a_remedy() -> None:
    with pytest.raises(NotConnectedError) as caught:
        connectivity(two_groups()).require_connected()
    message = str(caught.value)
    assert "falls into 2 groups" in message
    assert "assessors Ann, Bob on 2 objects (red, green)" in message
    assert "assessor Cy on 2 objects (blue, white)" in message
    assert "1 further assessment would join them" in message
    assert "\n" not in message
    assert caught.value.components == ((["red", "green"], ["Ann", "Bob"]), (["blue", "white"], ["Cy"]))
    assert len(caught.value.suggestions) == 1
    assessor, object_ = caught.value.suggestions[0]
    assert f"{assessor} on {object_}" in message


def test_the_sentence_stays_short_where_there_are_many_groups() -> None:
    parts = connectivity(panel_of([(i, i) for i in range(60)]))
    with pytest.raises(NotConnectedError, match="60 groups") as caught:
        parts.require_connected()
    assert len(str(caught.value)) < 1000
    assert len(caught.value.suggestions) == 59


def test_a_connected_panel_is_not_refused() -> None:
    connectivity(figure_1("a")).require_connected()


def test_it_prints_as_the_architecture_says() -> None:
    assert str(connectivity(figure_1("c"))) == "2 components, spectral gap 0, 0 bridges"
    assert str(connectivity(panel_of([(0, 0), (0, 1)]))) == "1 component, spectral gap 1, 2 bridges"


@given(connected_panels(repeats=True))
def test_the_assessor_graph_has_the_weights_of_equation_17(panel: Panel) -> None:
    weights = np.zeros((panel.n_objects, panel.n_assessors))
    np.add.at(weights, (panel.object_index, panel.assessor_index), panel.precision)
    wanted = weights.T @ (weights / weights.sum(axis=1)[:, None])
    np.fill_diagonal(wanted, 0.0)
    np.testing.assert_allclose(assessor_graph(panel).toarray(), wanted, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.int64, np.uint64])
def test_the_graph_does_not_depend_on_the_integer_type_of_the_codes(dtype: type[np.integer[Any]]) -> None:
    # a chain: every assessor reads two objects of their own and one of the next assessor's
    n = 60
    objects = np.concatenate([np.arange(2 * n), 2 * np.arange(1, n)])
    assessors = np.concatenate([np.arange(2 * n) // 2, np.arange(n - 1)])
    panel = Panel.from_arrays(objects.astype(dtype), assessors.astype(dtype), np.zeros(objects.size))
    parts: Connectivity = connectivity(panel)
    assert parts.n_components == 1
    assert parts.bridges.size == panel.n_assessments
    assert eh.calibrate(panel).residual == 0


def test_a_large_panel_of_small_codes_is_not_torn_apart() -> None:
    n = 100  # object codes to 199 and assessor codes to 99 fit into a byte; their sum does not
    objects = np.concatenate([np.arange(2 * n), 2 * np.arange(1, n)]).astype(np.uint8)
    assessors = np.concatenate([np.arange(2 * n) // 2, np.arange(n - 1)]).astype(np.uint8)
    assert connectivity(Panel.from_arrays(objects, assessors, np.zeros(objects.size))).n_components == 1


def test_a_pair_repeated_256_times_is_still_connected() -> None:
    panel = panel_of([(0, 0)] * 256 + [(1, 0)])
    assert connectivity(panel).is_connected
    assert condition("weighted", panel, connectivity(panel)).bias_weight.tolist() == [257.0]
