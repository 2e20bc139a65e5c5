"""`GoldModel`: what known truths say of the scores."""

import numpy as np
import pytest

import crowdstream as cs
from crowdstream.errors import StateError
from crowdstream.metrics import error_rate
from crowdstream.models.calibration import line
from crowdstream.models.crowd_loops import CAP, SCORES
from crowdstream.models.gold_model import BIASES, FEWEST, GoldModel, _fit, _unbounded
from tests.insides import reading_of

Truths = dict[str | int, str | int | bool]

PRIOR = np.array([0.5, 0.0, 0.5])


def features_of(lead: np.ndarray, useful: int = 0) -> np.ndarray:
    """Scores of two classes: one tells the lead, the others noise."""
    found = np.random.default_rng(2).normal(0.0, 2.0, (lead.size, SCORES, 2))
    found[:, useful] = np.stack([np.zeros(lead.size), lead], axis=1)
    found -= found.max(axis=2, keepdims=True)
    return np.maximum(found, -CAP)


def gold(tasks: int, shift: float, useful: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Truths, and scores that are sure of class 1 too often by ``shift``."""
    rng = np.random.default_rng(1)
    truths = rng.integers(0, 2, tasks)
    return features_of(rng.normal(2.0 * (2 * truths - 1) + shift, 2.0), useful), truths


def test_a_bias_is_found_and_none_invented() -> None:
    biases = []
    for shift in (2.0, 0.0):
        model = GoldModel()
        model.add(*gold(400, shift))
        model.renew(PRIOR)
        biases.append(model.bias[1] - model.bias[0])
    # The log-odds of labels N(±2 + shift, 2²) are lead − shift. 400 tasks leave a standard error of
    # about 0.25; the prior, and leads that are cut off at 5, draw towards 0.
    assert -2.5 < biases[0] < -1.0
    assert abs(biases[1]) < 0.3


def test_the_score_that_tells_something_gets_the_weight() -> None:
    for useful in range(SCORES):
        model = GoldModel()
        model.add(*gold(400, 0.0, useful))
        model.renew(np.full(SCORES, 1 / 3))
        assert model.weights.argmax() == useful
        assert model.weights.min() >= 0.0


def test_newton_finds_the_top_of_the_posterior() -> None:
    """No small step from what it finds makes the posterior larger."""
    features, truths = gold(60, 1.0)
    fit = _unbounded(features, truths, PRIOR, 0.5)
    at = np.concatenate([fit.weights, fit.bias])

    def height(at: np.ndarray) -> float:
        scores = np.einsum("j,tja->ta", at[:SCORES], features) + at[SCORES:]
        logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        spread = np.repeat([0.25, 0.5], [SCORES, 2])
        off = (at - np.concatenate([PRIOR, np.zeros(2)])) / spread
        return float(logs[np.arange(truths.size), truths].sum() - (off**2).sum() / 2)

    for k in range(at.size):
        for step in (-1e-4, 1e-4):
            other = at.copy()
            other[k] += step
            assert height(other) < height(at)


def test_left_out_scores_are_those_of_a_fit_without_the_task() -> None:
    features, truths = gold(80, 1.0)
    fit = _unbounded(features, truths, PRIOR, 0.5)
    for t in (0, 11, 42):
        rest = np.arange(80) != t
        other = _unbounded(features[rest], truths[rest], PRIOR, 0.5)
        scores = other.weights @ features[t] + other.bias
        wanted = np.exp(scores - np.logaddexp.reduce(scores))
        # One Newton step instead of a new fit: third-order terms are left out.
        assert fit.left_out[t] == pytest.approx(wanted, abs=0.01)


def test_no_weight_is_negative_where_a_score_misleads() -> None:
    features, truths = gold(200, 0.0)
    features[:, 2] = features[:, 0, ::-1]  # says the opposite of the truth
    fit = _fit(features, truths, np.array([0.5, 0.0, 0.0]), 0.5)
    assert fit.weights[2] == 0.0
    assert fit.weights[0] > 0.0


def test_few_gold_tasks_make_no_model_and_one_class_is_no_trouble() -> None:
    for tasks in (0, 1, FEWEST - 1, FEWEST, 30):
        model = GoldModel()
        model.add(features_of(np.linspace(-1.0, 3.0, tasks)), np.ones(tasks, int))
        assert model.due == (tasks >= FEWEST)
        model.renew(PRIOR)
        assert model.known == (tasks >= FEWEST)
        assert np.isfinite([*model.weights, *model.bias, *model.line]).all()
    assert sum(BIASES.values()) == pytest.approx(1.0)


def test_saved_and_merged_models_keep_their_gold() -> None:
    one, other = GoldModel(), GoldModel()
    one.add(*gold(30, 1.0))
    one.renew(PRIOR)
    other.unpack(one.pack(), 2)
    assert np.array_equal(other.features, one.features)
    assert (other.line, other.fitted, other.seen) == (one.line, 30, 30)
    other.make_room(3)
    other.merge(one, np.array([2, 0]))  # its first class is our third
    assert other.seen == 60
    assert np.array_equal(other.truths[30:], np.array([2, 0])[one.truths])
    assert np.array_equal(other.features[30:, :, 2], one.features[:, :, 0])
    assert (other.features[30:, :, 1] == -CAP).all()
    with pytest.raises(StateError, match="gold"):
        GoldModel().unpack(one.pack(), 3)


def biased_crowd(seed: int) -> tuple[list[tuple[int, int, int]], Truths]:
    """Nine workers who find class 1 in 20 to 70 % of the labels of a task, the same for all."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[int, int, int]] = []
    truths: Truths = {}
    for t in range(1000):
        truths[t] = t % 2
        found = rng.uniform(0.2, 0.7) if t % 2 else 0.1
        rows += [(t, w, int(rng.random() < found)) for w in range(9)]
    return rows, truths


def test_gold_corrects_what_the_crowd_gets_wrong_together() -> None:
    """In tables and in streams: a class that all workers miss at times gets a bias."""
    rows, truths = biased_crowd(0)
    gold: Truths = {t: truths[t] for t in range(0, 1000, 9)}
    rest: Truths = {t: x for t, x in truths.items() if t not in gold}
    table = [cs.Adaptive().fit_predict(rows, gold=g) for g in (None, gold)]
    stream = [cs.Adaptive().stream_many(rows, gold=g) for g in (None, gold)]
    for without, with_gold in (table, stream):
        # Two or three votes of nine are for class 1 more often than not, which gold alone can show.
        assert error_rate(with_gold, rest) < error_rate(without, rest) - 0.02


def test_a_stream_weighs_scores_as_gold_comes_and_remembers_after_loading() -> None:
    rows, truths = biased_crowd(1)
    crowd = cs.Adaptive()
    crowd.learn_many(rows[: 9 * 500], gold={t: truths[t] for t in range(0, 500, 10)})
    model = reading_of(crowd).gold
    assert model.seen == 50
    assert model.fitted >= model.seen / 1.1 - 1
    again = cs.Adaptive.load(crowd.to_bytes())
    answers = {w: w % 2 for w in range(9)}
    assert again.predict_proba_one(answers) == crowd.predict_proba_one(answers)
    assert again.to_bytes() == crowd.to_bytes()


def test_labels_one_by_one_with_gold_decide_as_the_scores_weighed_say() -> None:
    """A stream of single labels takes the truths in when tasks close."""
    rows, truths = biased_crowd(2)
    stream = cs.Stream(cs.Adaptive(), settle=None)
    for t, w, label in rows[: 9 * 200]:
        stream.observe(task=t, worker=w, label=label)
        if w == 8:
            if t % 4 == 0:
                stream.gold(t, truths[t])
            stream.close(t)
    crowd = stream.crowd
    assert isinstance(crowd, cs.Adaptive)
    assert reading_of(crowd).gold.seen == 50
    assert reading_of(crowd).crowd.golden


def test_confidence_stays_below_what_known_truths_allow() -> None:
    """Where a fifth of the surest decisions are wrong, nothing is settled, and it is said."""
    rng = np.random.default_rng(5)
    rows: list[tuple[int, int, int]] = []
    truths: Truths = {}
    for t in range(600):
        truths[t] = t % 2
        seen = 1 - t % 2 if rng.random() < 0.2 else t % 2  # all see the wrong class
        rows += [(t, w, seen if rng.random() < 0.95 else 1 - seen) for w in range(7)]
    assert cs.Adaptive().fit_predict(rows)["settled"].mean() > 0.9
    gold: Truths = {t: truths[t] for t in range(0, 600, 5)}
    with pytest.warns(cs.SureInDoubt, match="over twice what that promises"):
        found = cs.Adaptive().fit_predict(rows, gold=gold)
    others = found.filter(~found["task"].is_in(list(gold)))
    assert not others["settled"].any()
    assert others["confidence"].max() < 0.9


def test_what_confidence_rests_on() -> None:
    rows, truths = biased_crowd(3)
    alone = [(t, w, (t + (t * 7 + w * 3) % 11 // 9) % 2) for t in range(50) for w in range(3)]
    gold: Truths = {t: truths[t] for t in range(100)}
    assert cs.Adaptive().fit(rows).calibration_ == "none"
    assert cs.Adaptive().fit(rows, gold=gold).calibration_ == "gold"
    assert cs.MajorityVote().fit(alone).calibration_ == "none"
    independent = cs.simulate(10, 5000, q=0.25, seed=1).labels()
    assert cs.Adaptive().fit(independent).calibration_ == "independence"


def inverted(classes: int, share: float, seed: int) -> tuple[list[tuple[int, int, int]], Truths]:
    """Ten workers, a share of whom name the next class: agreement takes that for the truth."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[int, int, int]] = []
    truths: Truths = {}
    for t in range(600):
        truths[t] = int(rng.integers(classes))
        for w in range(10):
            label = t if rng.random() < 0.1 else int(truths[t]) + (w < 10 * share)
            rows.append((t, w, label % classes))
    return rows, truths


@pytest.mark.filterwarnings("ignore::crowdstream.errors.SureInDoubt")
@pytest.mark.parametrize(("classes", "share"), [(2, 1.0), (3, 1.0), (2, 0.7), (4, 0.7)])
def test_gold_turns_a_hostile_crowd(classes: int, share: float) -> None:
    """Scores that know other gold are weighed, not those of a crowd that knows none."""
    rows, truths = inverted(classes, share, 3)
    gold: Truths = {t: truths[t] for t in range(0, 600, 4)}
    rest: Truths = {t: x for t, x in truths.items() if t not in gold}
    assert error_rate(cs.Adaptive().fit_predict(rows), rest) > 0.5
    told = cs.Adaptive().fit_predict(rows, gold=gold)
    assert error_rate(told, rest) < 0.05
    assert told["settled"].mean() > 0.5


def test_fewer_than_twenty_gold_tasks_teach_confusions_and_calibrate_nothing() -> None:
    rows, truths = biased_crowd(6)
    without = cs.Adaptive().fit(rows)
    for size in (10, 19, 20):
        crowd = cs.Adaptive().fit(rows, gold={t: truths[t] for t in range(size)})
        assert (crowd.calibration_ == "gold") == (size >= 20)
        assert reading_of(crowd).crowd.golden == (size >= 20)
        taught = [each.confusions()["probability"].to_numpy() for each in (without, crowd)]
        # Counted five times, ten tasks are a twentieth of what 1,000 tasks say.
        assert np.abs(taught[1] - taught[0]).max() > 0.001


def test_gold_taken_back_is_forgotten() -> None:
    rows, truths = biased_crowd(4)
    crowd = cs.Adaptive()
    crowd.learn_many(rows[: 9 * 300])
    answers = {w: label for _, w, label in rows[9 * 300 : 9 * 301]}
    for _ in range(FEWEST + 2):
        crowd.learn_one(answers, gold=truths[300])
    assert crowd.calibration_ == "gold"
    for _ in range(FEWEST + 2):
        crowd.unlearn_one(answers, gold=truths[300])
    assert crowd.calibration_ != "gold"
    assert reading_of(crowd).gold.seen == reading_of(crowd).gold.truths.size == 0


def test_a_loaded_crowd_decides_alike_right_after_dependence_was_measured() -> None:
    rows, truths = biased_crowd(5)
    crowd = cs.Adaptive()
    for t in range(100):  # it is measured at the hundredth
        gold = truths[t] if t % 4 == 0 else None
        crowd.learn_one({w: label for _, w, label in rows[9 * t : 9 * t + 9]}, gold=gold)
    again = cs.Adaptive.load(crowd.to_bytes())
    assert again.predict_many(rows).equals(crowd.predict_many(rows))


@pytest.mark.filterwarnings("ignore::crowdstream.errors.SureInDoubt")
def test_the_winner_is_the_likeliest_class() -> None:
    rows, truths = inverted(5, 0.8, 1)
    crowd = cs.Adaptive().fit(rows, gold={t: truths[t] for t in range(0, 600, 4)})
    decided = crowd.predict_many(rows)
    chances = crowd.predict_proba_many(rows).drop("task")
    place = {int(name): k for k, name in enumerate(chances.columns)}
    at = [place[int(x)] for x in decided["label"]]
    of_winner = chances.to_numpy()[np.arange(600), at]
    assert (of_winner >= chances.to_numpy().max(axis=1) - 1e-9).all()
    assert (decided["margin"] <= decided["confidence"] + 1e-9).all()


def test_one_wrong_decision_is_no_ceiling() -> None:
    sure = np.array([0.96] * 60 + [0.995])
    assert line(sure, np.arange(61) < 60).ceiling == 1.0
