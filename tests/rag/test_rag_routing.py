"""Routing: which names a question means, where its scoped lanes search, and which chunks are raised."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.assembly import RERANKERS
from rag.errors import OptionError
from rag.records import Chunk, Labels, Scored
from rag.routing import Route, Router
from rag.routing.lexicon import Name, Pattern
from rag.routing.mentions import Mention, _outermost
from rag.stages import Scope

ABOUT = {
    "note": "the mean of a series",
    "code": "def mean(values): return sum(values) / len(values)",
}


def chunk(file, text="words", **labels):
    return Chunk(file, file, text, labels=Labels(**labels))


def corpus(*labels, filler=0, text="a plain sentence"):
    """A chunk a file with the given labels, and files that are of nothing."""
    labelled = [chunk(f"{number}.md", **one) for number, one in enumerate(labels)]
    return labelled + [chunk(f"other-{number}.md", text) for number in range(filler)]


def courses(*names, **more):
    return corpus(*({"course": name} for name in names), **more)


UNIVERSITY = courses("Linear-Algebra", "Signals-and-Systems", "Operating-Systems", "Thermodynamics", "Databases")


def course_of(query, chunks=UNIVERSITY):
    return Router(chunks).route(query).course


# -- names of several words --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "Operating Systems: which quantum is best?",
        "which quantum did we use in operating systems",
        "the operating-systems sheet on quanta",
        "see operating_systems for the quantum",
        "OPERATING SYSTEMS QUANTUM",
        "what is an operating system's quantum?",  # the singular
        "OperatingSystems quantum",
    ],
)
def test_a_name_of_several_words_is_found_however_it_is_joined(query):
    assert course_of(query) == "Operating-Systems"


@pytest.mark.parametrize("query", ["signals and systems", "Signals & Systems", "signal and system", "signals systems"])
def test_the_words_that_join_a_name_may_be_missing(query):
    assert course_of(f"what is aliasing in {query}") == "Signals-and-Systems"


def test_a_label_is_one_name_however_it_is_spelt_and_is_told_as_most_documents_write_it():
    chunks = courses("control_systems", "Control-Systems", "Control-Systems", "Control Systems")
    router = Router(chunks)
    route = router.route("control systems: gain margin?")
    assert route.course == "Control-Systems"
    assert router.scope(route, None).positions.tolist() == [0, 1, 2, 3]


def test_of_two_names_the_one_with_more_words_is_meant():
    chunks = courses("Control-Systems", "Control-Systems-Lab")
    assert course_of("Control Systems Lab: what is the sample time?", chunks) == "Control-Systems-Lab"
    assert course_of("Control Systems: what is the sample time?", chunks) == "Control-Systems"


def test_a_part_that_two_courses_share_names_neither():
    assert course_of("how do systems of equations behave") == ""
    assert course_of("the Systems lecture") == ""


def test_two_courses_are_none():
    assert course_of("Linear Algebra or Operating Systems, which exam is first?") == ""
    assert course_of("Linear Algebra, the Linear Algebra exam") == "Linear-Algebra"


def test_names_in_scripts_without_spaces_are_found():
    chunks = courses("数値解析", "熱力学")
    assert course_of("数値解析の授業で二分法は?", chunks) == "数値解析"
    assert course_of("数値の授業で二分法は?", chunks) == ""


def test_accents_case_and_unicode_form_do_not_count():
    chunks = courses("E\u0301lectricite\u0301-Generale")  # decomposed
    assert course_of("électricité generale : loi d'Ohm", chunks) == "E\u0301lectricite\u0301-Generale"


# -- names of one word -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "In Thermodynamics, which cycle is best?",
        "Thermodynamics: which cycle is best?",
        "Thermodynamics, 12 MPa plant: which cycle is best?",
        "which cycle is best in my thermodynamics notes?",
        "is the thermodynamics exam open book?",
        "what does the lecture on thermodynamics say of cycles",
    ],
)
def test_a_name_of_one_word_needs_a_sign_that_it_is_a_name(query):
    assert course_of(query) == "Thermodynamics"


@pytest.mark.parametrize(
    "query",
    [
        "why would a database kill itself",
        "Databases grow; why?",  # the capital is that of the sentence
        "My disk is full. Databases grow; why?",
        "which databases are there",
        "what does databases.open() return",
        "Databases/locks.md says what?",
        "What Do Databases Do When They Crash",  # a title
        "WHICH DATABASES CRASH",
        "A Database crashed",  # not the name, but its singular
    ],
)
def test_a_mere_word_names_no_course(query):
    assert course_of(query) == ""


def test_beside_a_course_word_the_singular_will_do():
    assert course_of("when is the database exam") == "Databases"


@pytest.mark.parametrize("course", ["Code", "Note", "Notes", "code", "Lab"])
def test_a_common_word_alone_names_no_course(course):
    chunks = corpus({"course": course, "kind": "note"}, {"course": course, "kind": "code"}, {"course": "Optics"})
    for query in (
        "what does this code note in the lab",
        "Code: what is the note?",
        "In my Code, Notes and Lab",
        "In Code we trust",
        "Note what the Lab says",
    ):
        assert course_of(query, chunks) == ""
    assert course_of(f"when is the {course} course", chunks) == course


def test_a_rare_word_is_a_name_where_there_are_enough_files_to_say_so():
    assert course_of("what about thermodynamics", courses("Thermodynamics", filler=60)) == "Thermodynamics"
    assert course_of("what about thermodynamics", courses("Thermodynamics", filler=40)) == ""
    common = courses("Thermodynamics", filler=60, text="thermodynamics everywhere")
    assert course_of("what about thermodynamics", common) == ""
    assert course_of("In Thermodynamics, what about it", common) == ""


def test_one_distinctive_word_of_a_name_counts_beside_a_course_word():
    assert course_of("In my Algebra course, what is a basis?") == "Linear-Algebra"
    assert course_of("the algebra exam") == "Linear-Algebra"
    assert course_of("some algebra shows that it holds") == ""
    assert course_of("In Algebra, what is a basis?") == ""


def test_a_kind_counts_as_a_course_word_where_the_course_has_such_documents():
    chunks = corpus({"course": "Control-Systems", "kind": "script"}, {"course": "Linear-Algebra", "kind": "note"})
    assert course_of("what does the control script print", chunks) == "Control-Systems"
    assert course_of("what does the algebra script print", chunks) == ""


def test_a_courses_number_stands_for_it():
    chunks = courses("ME231-Thermodynamics", "ME310-Vibrations")
    assert course_of("me231 homework 3", chunks) == "ME231-Thermodynamics"
    assert course_of("the Vibrations exam", chunks) == "ME310-Vibrations"
    assert course_of("room 231", chunks) == ""


# -- acronyms ----------------------------------------------------------------------------------------------------------


def test_an_acronym_is_its_course_if_no_other_has_it():
    assert course_of("OS: which quantum is best?") == "Operating-Systems"
    assert course_of("for the OS lab") == "Operating-Systems"
    assert course_of("SAS lecture on aliasing") == "Signals-and-Systems"
    assert course_of("SS lecture on aliasing") == "Signals-and-Systems"
    assert course_of("OS lab", courses("Operating-Systems", "Organic-Synthesis")) == ""


def test_an_acronym_in_small_letters_counts_beside_a_course_word_unless_many_texts_use_it():
    chunks = courses("Operating-Systems", "Operations-Research", filler=60, text="this or that")
    assert course_of("the os lab", chunks) == "Operating-Systems"
    assert course_of("which os runs on it", chunks) == ""
    assert course_of("the lecture or lab", chunks) == ""
    assert course_of("the OR lab", chunks) == "Operations-Research"
    assert course_of("the os lab") == ""  # five files say nothing of how common a word is


def test_an_acronym_inside_a_name_is_no_acronym():
    assert course_of("what does os.path.join do") == ""
    assert course_of("rig OS-17 and OS_NAME") == ""


def test_an_acronym_that_other_texts_use_needs_a_course_word():
    chunks = courses("Operating-Systems", filler=3, text="install the OS first")
    assert course_of("which OS runs on it", chunks) == ""
    assert course_of("the OS exam", chunks) == "Operating-Systems"


def test_an_acronym_that_is_a_name_itself_is_that_name():
    chunks = corpus({"course": "Process-Identification-Dynamics"}, {"area": "pid"})
    assert Router(chunks).route("PID lecture") == Route()


# -- areas and kinds ---------------------------------------------------------------------------------------------------


def test_an_area_is_named_by_its_words_or_most_of_them():
    router = Router(corpus({"area": "line-follower-robot"}, {"area": "toy-filesystem"}, {"area": "memory"}))
    assert router.route("the line follower robot's gains").area == "line-follower-robot"
    assert router.route("which gains has the line follower").area == "line-follower-robot"
    assert router.route("my toy file system loses data").area == "toy-filesystem"
    assert router.route("which robot is fastest").area == ""
    assert router.route("how long does a memory access take").area == ""
    assert router.route("what is in the memory area").area == "memory"


def test_an_areas_name_that_all_the_others_use_is_a_topic():
    chunks = corpus({"area": "heat-transfer"}, filler=60, text="heat transfer is everywhere")
    assert Router(chunks).route("how good is heat transfer").area == ""
    chunks = corpus({"area": "heat-transfer"}, filler=60)
    assert Router(chunks).route("how good is heat transfer").area == "heat-transfer"


def test_two_courses_leave_no_area_and_an_area_beside_one_course_stays():
    chunks = corpus({"course": "Linear-Algebra", "area": "matrix-factors"}, {"course": "Operating-Systems"})
    router = Router(chunks)
    assert router.route("linear algebra, operating systems, matrix factors") == Route()
    assert router.route("linear algebra, matrix factors") == Route("Linear-Algebra", "matrix-factors")


KINDS = corpus(*({"kind": kind} for kind in ("note", "lecture", "lab", "book", "canvas", "daily", "code")))


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("what did the lab measure", "lab"),
        ("the lectures on roots", "lecture"),
        ("which page of the book", "book"),
        ("the numerics textbook on roots", "book"),
        ("what do my canvases show", "canvas"),
        ("in which daily note did I write it", "daily"),
        ("my lecture notes on roots", "lecture"),
        ("lecture or lab, which is right?", ""),
        ("what labels are there", ""),
        ("see lab.md or code.py", ""),
        ("what is a root", ""),
    ],
)
def test_a_kind_is_named_by_its_word_and_of_two_neighbours_by_the_first(query, kind):
    assert Router(KINDS).route(query) == Route(kind=kind)


def test_a_kind_that_everybodys_texts_name_counts_beside_a_course_only():
    chunks = corpus({"kind": "code"}, {"course": "Linear-Algebra", "kind": "code"}, filler=60, text="error code 5")
    router = Router(chunks)
    assert router.route("what does code 139 mean").kind == ""
    assert router.route("the linear algebra code") == Route("Linear-Algebra", kind="code")


def test_a_word_inside_a_courses_name_is_no_kind():
    chunks = corpus({"course": "Electronics-Lab"}, {"kind": "lab"})
    assert Router(chunks).route("Electronics Lab: what is a diode") == Route("Electronics-Lab")


def test_a_corpus_without_labels_routes_nowhere():
    router = Router([chunk("a.md")])
    assert router.route("In Thermodynamics, the lab") == Route()
    assert router.scope(Route(), None) is None
    assert Router([]).route("anything") == Route()


def test_a_label_as_long_as_a_page_is_no_name_but_stays_a_scope():
    label = "the courses of the systems " * 400
    router = Router(courses(label, "Optics"))
    assert router.route(label) == Route()
    assert router.scope(router.given(label), None).positions.tolist() == [0]


@given(st.text(max_size=200))
def test_any_question_has_a_route_of_names_that_exist(query):
    route = Router(UNIVERSITY + KINDS).route(query)
    assert route.course in {"", *(chunk.labels.course for chunk in UNIVERSITY)}
    assert route.kind in {"", *(chunk.labels.kind for chunk in KINDS)}


@given(st.text(min_size=1, max_size=30))
def test_any_label_can_be_learnt_and_given(course):
    router = Router(courses(course, "Linear-Algebra"))
    router.route(f"the {course} exam")
    if any(character.isalnum() for character in course):
        assert router.given(course).course == course
        assert router.scope(router.given(course), None).positions.tolist()[0] == 0


# -- given and scope ---------------------------------------------------------------------------------------------------


def test_the_probe_is_given_its_course_however_that_is_spelt_and_refuses_one_that_is_not_there():
    router = Router(UNIVERSITY)
    assert router.given("linear algebra") == Route("Linear-Algebra")
    assert router.given("") == Route()
    with pytest.raises(OptionError, match=r"'Linear-Algebr'.*did you mean 'Linear-Algebra'"):
        router.given("Linear-Algebr")
    with pytest.raises(OptionError, match="known: none"):
        Router([chunk("a.md")]).given("Optics")


PLACES = corpus(
    {"course": "Optics", "area": "lenses"},
    {"course": "Optics"},
    {"area": "lenses"},
    {"area": "garden"},
    {"course": "Optics", "generated": True},
    {"course": "Acoustics"},
)


@pytest.mark.parametrize(
    ("route", "positions"),
    [
        (Route("Optics"), [0, 1, 2, 3, 4]),  # those of no course may be about any
        (Route("Optics", "lenses"), [0, 1, 2, 3, 4]),  # an area narrows no course
        (Route(area="lenses"), None),  # an area within a course is a topic
        (Route(area="garden"), [3]),
        (Route("Optics", "garden"), None),  # no document is of both
        (Route(kind="note"), None),
        (Route(), None),
    ],
)
def test_a_scope_is_the_course_else_the_area(route, positions):
    scope = Router(PLACES).scope(route, None)
    assert (None if scope is None else scope.positions.tolist()) == positions


def test_a_scope_lies_within_what_may_be_searched_and_its_name_says_so():
    router, primary = Router(PLACES), Scope("primary", np.array([0, 1, 2, 3, 5]))
    inside, outside = router.scope(Route("Optics"), primary), router.scope(Route("Optics"), None)
    assert inside.positions.tolist() == [0, 1, 2, 3]
    assert (inside.name, outside.name) == ("primary/course:Optics", "course:Optics")
    assert router.scope(Route(area="garden"), None).name == "area:garden"
    assert router.scope(Route("Optics"), Scope("primary", np.array([5]))) is None


def test_a_course_and_an_area_of_one_name_have_two_scopes():
    router = Router(corpus({"course": "Optics"}, {"area": "optics"}))
    assert router.scope(Route("Optics"), None).name != router.scope(Route(area="optics"), None).name


def test_a_route_tells_what_is_named_and_null_for_what_is_not():
    assert Route("Optics", kind="lab").told() == {"course": "Optics", "area": None, "kind": "lab", "scope": None}


# -- boost -------------------------------------------------------------------------------------------------------------


def test_a_chunk_is_raised_by_the_share_of_the_names_that_agree():
    other = {"course": "Acoustics", "kind": "note"}
    chunks = corpus({"course": "Optics", "kind": "lab"}, {"course": "optics", "kind": "note"}, other, {"kind": "note"})
    ranking = tuple(Scored(position, 0.1) for position in (3, 2, 1, 0))
    raised = Router.boost(ranking, Route("Optics", kind="lab"), chunks, 0.5)
    # Both agree: 0.1 x (1 + 0.5 x 2/2); the course alone, which no course agrees with too: 0.1 x (1 + 0.5 x 1/2).
    assert [position for position, _ in raised] == [0, 1, 3, 2]
    assert [score for _, score in raised] == pytest.approx([0.15, 0.125, 0.125, 0.1])


def test_equal_scores_stand_by_position():
    chunks = courses("Optics", "Optics", "Optics")
    raised = Router.boost(tuple(Scored(position, 0.1) for position in (2, 0, 1)), Route("Optics"), chunks, 0.5)
    assert [position for position, _ in raised] == [0, 1, 2]


def test_where_nothing_is_named_or_nothing_agrees_the_ranking_is_handed_back():
    ranking = (Scored(1, 0.1), Scored(0, 0.1))
    chunks = courses("Optics", "Optics")
    assert Router.boost(ranking, Route(), chunks, 0.5) is ranking
    assert Router.boost(ranking, Route("Acoustics"), chunks, 0.5) is ranking
    assert Router.boost((), Route("Optics"), chunks, 0.5) == ()


NAMES = st.sampled_from(["", "Optics", "Acoustics"])
LABELLED = st.builds(Labels, NAMES, NAMES, NAMES)


@given(
    st.lists(st.tuples(LABELLED, st.integers(1, 60)), max_size=12),
    st.builds(Route, NAMES, NAMES, NAMES),
    st.floats(0.0, 10.0),
    st.randoms(use_true_random=False),
)
def test_boosting_only_reorders_and_never_lowers(labelled, route, weight, random):
    chunks = [Chunk(str(number), "f", "", labels=labels) for number, (labels, _) in enumerate(labelled)]
    positions = list(range(len(chunks)))
    random.shuffle(positions)
    before = tuple(Scored(position, 1.0 / (60 + labelled[position][1])) for position in positions)
    after = Router.boost(before, route, chunks, weight)
    assert sorted(position for position, _ in after) == sorted(positions)  # a permutation of its input
    old, new = dict(before), dict(after)
    assert all(old[position] <= new[position] <= old[position] * (1 + weight) * (1 + 1e-12) for position in positions)
    if after is not before:
        scores = [round(score, 12) for _, score in after]
        assert scores == sorted(scores, reverse=True)


# -- through the pipeline ----------------------------------------------------------------------------------------------

RULES = [{"path": "Courses/(?P<course>[^/]+)/"}]
VAULT = {
    "Courses/Linear-Algebra/a.md": "# Pivot\n\na pivot of a matrix",
    "Courses/Linear-Algebra/b.md": "# Rank\n\nthe rank of a matrix",
    **{f"Courses/Operating-Systems/{number}.md": f"page fault number {number} of a matrix" for number in range(198)},
}


def files(chunks):
    return [chunk.file for chunk in chunks]


def test_den_01_a_question_whose_course_has_two_chunks_finds_two_in_scope(write, pipeline):
    write(VAULT)  # 200 chunks, of which 2 pass
    search = pipeline(labels=RULES)
    for mode in ("exact", "hnsw"):
        result = search.search("Linear Algebra: matrix", scope_lanes=True, dense_search=mode, top_k=10)
        assert result.lanes_run == ("sparse", "dense", "scope-sparse", "scope-dense")
        assert sorted(files(result.stages["scope-dense"])) == sorted(VAULT)[:2]
        assert sorted(files(result.stages["scope-sparse"])) == sorted(VAULT)[:2]
        assert len(result.chunks) == 10
        assert result.route == {
            "course": "Linear-Algebra",
            "area": None,
            "kind": None,
            "scope": "course:Linear-Algebra",
        }


def test_scope_lanes_add_only_the_lanes_that_are_on_and_none_where_nothing_is_named(write, pipeline):
    write(VAULT)
    search = pipeline(labels=RULES)
    alone = search.search("Linear Algebra: matrix", scope_lanes=True, dense=False)
    assert alone.lanes_run == ("sparse", "scope-sparse")
    assert files(alone.chunks[:2]) == sorted(VAULT)[:2]
    plain, routed = (search.search("matrix pivot", scope_lanes=on) for on in (False, True))
    assert routed.lanes_run == ("sparse", "dense")
    assert routed.chunks == plain.chunks
    assert plain.route is None
    assert routed.route == {"course": None, "area": None, "kind": None, "scope": None}
    assert json.loads(json.dumps(routed.route)) == routed.route


def test_routing_charges_its_time_and_off_costs_nothing(write, pipeline):
    write(VAULT)
    search = pipeline(labels=RULES)
    assert "routing" in search.search("matrix", scope_lanes=True).timings
    off = search.search("matrix")
    assert "routing" not in off.timings
    assert "boost" not in off.stages


class ByText:
    """A reranker that scores a text by itself, whatever order it is given; it keeps the pools that it saw."""

    fuses = True

    def __init__(self):
        self.pools = []

    def scores(self, _query, texts, _meter):
        self.pools.append(sorted(texts))
        return [float(sum(map(ord, text)) % 97) for text in texts]


@pytest.mark.parametrize(
    "query", ["Linear Algebra: matrix", "page fault of a matrix", "Operating Systems: matrix rank"]
)
@pytest.mark.parametrize("lanes", [{}, {"dense": False}, {"sparse": False}, {"scope_lanes": True}])
def test_a_reranker_that_discards_the_fused_order_makes_the_boost_inert(write, pipeline, query, lanes):
    """F-noboost equals F-full, row by row: the boost reorders the pool and lets nothing in or out."""
    write(VAULT)
    judge = ByText()
    search = pipeline(labels=RULES, rerankers={**RERANKERS, "late-interaction": lambda _: judge})
    asked = {"rerank": "late-interaction", "fuse_rerank": False, "rerank_pool": 12, **lanes}
    off = search.search(query, **asked)
    on = search.search(query, **asked, metadata_boost=True, boost_weight=5.0)
    assert on.chunks == off.chunks
    assert on.stages["rerank"][:12] == off.stages["rerank"][:12]
    assert judge.pools[0] == judge.pools[1]


def test_the_boost_moves_chunks_within_the_rerank_pool_only(write, pipeline):
    write(VAULT)
    search = pipeline(labels=RULES)
    asked = {"rerank_pool": 5, "top_k": 100, "metadata_boost": True, "boost_weight": 10.0}
    result = search.search("Linear Algebra: page fault number 7 of a matrix", **asked)
    before, after = result.stages["fusion"], result.stages["boost"]
    assert sorted(files(after[:5])) == sorted(files(before[:5]))
    assert after[5:] == before[5:]


def test_a_lane_alone_is_boosted_by_rank_since_cosines_may_be_negative(write, pipeline, encoder):
    write({"Courses/Linear-Algebra/a.md": "alpha", "b.md": "beta", "c.md": "gamma"})
    search = pipeline(labels=RULES)
    plain = search.search("Linear Algebra: what else is there", sparse=False)
    assert min(chunk.score for chunk in plain.chunks) < 0
    raised = search.search("Linear Algebra: what else is there", sparse=False, metadata_boost=True, boost_weight=10.0)
    assert files(raised.chunks)[0] == "Courses/Linear-Algebra/a.md"
    assert all(chunk.score > 0 for chunk in raised.chunks)


def test_scope_and_boost_are_switched_apart(write, pipeline):
    write(VAULT)
    search = pipeline(labels=RULES)
    boosted = search.search("Linear Algebra: matrix", metadata_boost=True)
    assert boosted.lanes_run == ("sparse", "dense")
    assert boosted.route["scope"] is None
    assert "boost" in boosted.stages
    assert "boost" not in search.search("Linear Algebra: matrix", scope_lanes=True).stages


def test_generated_chunks_that_are_kept_out_stay_out_of_the_scope(write, pipeline):
    write({**VAULT, "Courses/Linear-Algebra/sum.md": "---\ngenerated: true\n---\nmatrix matrix"})
    search = pipeline(labels=RULES)
    result = search.search("Linear Algebra: matrix", scope_lanes=True, generated_mode="drop")
    assert result.route["scope"] == "primary/course:Linear-Algebra"
    assert sorted(files(result.stages["scope-dense"])) == sorted(VAULT)[:2]


# -- long questions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["数据库" * 20_000, "Databases " * 5_000, "operating systems lecture " * 5_000])
def test_a_question_as_long_as_a_book_is_routed_in_seconds(query):
    chunks = courses("Operating-Systems", "Databases", filler=60)
    chunks += corpus({"kind": "lecture"}, {"kind": "note"})
    started = time.perf_counter()
    Router(chunks).route(query)
    assert time.perf_counter() - started < 15


SPANS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=12)


@given(SPANS)
def test_of_names_that_overlap_those_stay_that_lie_in_no_longer_one(spans):
    pattern = Pattern(Name("course", "a"), "words", "a")
    mentions = [Mention(first, first + more, pattern) for first, more in spans]
    expected = [
        one
        for one in mentions
        if not any(other.first <= one.first and one.last <= other.last and other[:2] != one[:2] for other in mentions)
    ]
    assert _outermost(mentions) == sorted(expected, key=lambda one: (one.first, -one.last))
