"""Functions of a config as texts: each text says of every config what the function says."""

import math
import unittest

from fa_tune.errors import InputError
from fa_tune.kt import configs, trace
from fa_tune.kt.launch import Geometry

PARAMS = {"a": [1, 2, 3, 4, 8], "b": [16, 32, 48, 64], "c": [0, 1], "s": ["x", "y"]}

RESTRICTIONS = [
    lambda p: p["a"] * p["b"] <= 100,
    lambda p: p["a"] * p["b"] <= 100 and p["c"] == 0,
    lambda p: p["a"] > 2 or p["b"] == 32 or not p["c"],
    lambda p: 2 < p["a"] <= 4,
    lambda p: p["b"] % p["a"] == 0,
    lambda p: p["b"] / p["a"] >= 7.5,
    lambda p: p["b"] // 3 > 7 if p["c"] else p["a"] == 1,
    lambda p: p["a"] in (1, 4) and p["s"] == "x",
    lambda p: p["s"] != "x" and p["a"] ** 2 < 10,
    lambda p: max(p["a"], p["b"] - 40) > 7,
    lambda p: abs(p["a"] - 3) < 2,
    lambda p: math.log2(p["a"]).is_integer(),  # asks for a value
    lambda p: {1: True, 8: True}.get(p["a"], False),
    lambda p: int(p["b"] / 3) == 10,
    lambda p: p["c"],
    "a * b <= 100",
    "a * b <= 100 and (c == 0 or s == 'y')",
    "a in [1, 8] and b % 32 == 0",
    "math.log2(a) == 2 or a == 1",
    "b / a == 10.666666666666666",
    "int(b / 10) == 4",
]


class Restrictions(unittest.TestCase):
    def test_each_says_what_its_text_says(self):
        for i, given in enumerate(RESTRICTIONS):
            function = given if callable(given) else configs.of_text(given, "test")
            text = configs.restriction(given, PARAMS)
            passes = configs.passes([text])
            for config in configs.product(PARAMS):
                self.assertEqual(passes(config), bool(function(config)), (i, text, config))

    def test_what_can_be_is_written_down_and_not_listed(self):
        self.assertEqual(configs.restriction(RESTRICTIONS[0], PARAMS), "((((a * b) <= 100)))")
        self.assertNotIn(" in [", configs.restriction(RESTRICTIONS[1], PARAMS))
        self.assertIn(" in [", configs.restriction(RESTRICTIONS[11], PARAMS))

    def test_what_is_written_down_is_right_by_itself(self):
        for given in [each for each in RESTRICTIONS[:11] if callable(each)]:
            passes = configs.passes([trace.condition(given, list(PARAMS))])
            for config in configs.product(PARAMS):
                self.assertEqual(passes(config), bool(given(config)), config)
        for function in (
            lambda p: math.ceil(p["b"] / p["a"]),
            lambda p: math.floor(p["b"] / p["a"] * 1.5),
            lambda p: p["b"] / 8 // p["a"] if p["c"] else p["b"] % p["a"],
            lambda p: math.ceil((p["b"] - p["a"]) / (2 * p["a"]) + 1 / p["a"]),
            lambda p: max(p["a"], p["b"] // 10, 3) - min(p["a"], 2),
        ):
            text = trace.integer(function, list(PARAMS))
            for config in configs.product(PARAMS):
                self.assertEqual(trace.evaluated(text, config), function(config), (text, config))

    def test_what_asks_for_a_value_is_not_written_down(self):
        for function in (
            lambda p: int(p["a"]) > 1,
            lambda p: float(p["a"]) > 1,
            lambda p: p["a"] in {1, 2},
            lambda p: [0, 1][p["c"]],
            lambda p: p["a"] & 1,
            lambda p: p["s"].upper() == "X",
        ):
            with self.assertRaises(trace.Untraceable):
                trace.condition(function, list(PARAMS))

    def test_a_function_that_changes_its_mind_is_listed(self):
        def by_type(p):
            return p["a"] == 1 if isinstance(p["a"], int) else p["a"] == 2

        passes = configs.passes([configs.restriction(by_type, PARAMS)])
        self.assertTrue(passes({"a": 1, "b": 16, "c": 0, "s": "x"}))
        self.assertFalse(passes({"a": 2, "b": 16, "c": 0, "s": "x"}))

    def test_what_is_wrong_names_the_argument(self):
        for given, said in [
            ("a <", "no expression"),
            ("q > 1", "q, which is no parameter"),
            (7, "texts and functions"),
            (lambda p: p["missing"], "missing"),
            ("__import__('os').getpid()", "__import__"),
        ]:
            with self.assertRaisesRegex(InputError, f"restrictions: .*{said}"):
                configs.restriction(given, PARAMS)


class Launches(unittest.TestCase):
    CASES = [
        (1000, (None, None, None)),
        ((1000, 70), (["b"], ["a", "c + 1"], None)),
        ((1000, 70, 3), ([], [], [])),
        ("a * 10", ([], None, None)),
        (("b * 2", 64), (["b/32"], None, None)),
        (lambda p: (p["a"] * 100, 5), (lambda p: p["b"] / 32, [], None)),
        (lambda p: 4096 if p["c"] else p["a"], (None, "a", [2])),
        (1000, ([lambda p: math.sqrt(p["a"])], None, None)),
    ]

    def test_texts_give_what_the_functions_give(self):
        for size, grid_div in self.CASES:
            for names in (None, ["b", "a"]):
                shape = Geometry(size, grid_div, names, {"size": "a * b * 4"})
                texts = shape.texts(PARAMS)
                for config in configs.product(PARAMS):
                    try:
                        expected = shape.of(config)
                    except ZeroDivisionError:
                        continue  # b/32 is 0 for 16
                    found = [tuple(trace.evaluated(t, config) for t in texts[k]) for k in ("grid", "block")]
                    found.append(trace.evaluated(texts["shared"], config))
                    self.assertEqual(tuple(found), expected, (size, config))

    def test_a_grid_rounds_up_and_a_text_down(self):
        shape = Geometry(("x * 3", 7), ([], None, None), ["one", "two"], {"size": "x // 2"})
        self.assertEqual(shape.of({"x": 5, "two": 2}), ((15, 4, 1), (256, 2, 1), 2))
        shape = Geometry(100, (["x/32"], None, None), None, None)
        self.assertEqual(shape.grid(0, {"x": 80}), 50)
        shape = Geometry(100, (lambda p: p["x"] / 32, None, None), None, None)
        self.assertEqual(shape.grid(0, {"x": 80}), 40)


if __name__ == "__main__":
    unittest.main()
