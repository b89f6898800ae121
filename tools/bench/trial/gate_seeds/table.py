#!/ usr / bin / env python3
"""The README's sentences and a table of the gate's figures over seeds, from what bench_gate_seeds has written.

python3 tools/bench/trial/gate_seeds/table.py [FILE]
"""
import json
import pathlib
import sys

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "results" / "gate_seeds" / "gate_seeds.json"


def main():
    with open(sys.argv[1] if len(sys.argv) > 1 else RESULTS, encoding="utf-8") as file:
        data = json.load(file)
    wrong = [way["way"] for way in data["kernels"][0]["ways"] if way["right"] is False]
    ways = [way for kernel in data["kernels"] for way in kernel["ways"]]
    correct = [way for way in ways if way["right"]]
    print(f"Of {sum(way['tried'] for way in correct)} gates of correct kernels "
          f"{sum(way['refused'] for way in correct)} failed one.")
    for name in wrong:
        same = [way for way in ways if way["way"] == name]
        print(f"Of {sum(way['tried'] for way in same)} where {name}: "
              f"{sum(way['refused'] for way in same)} failed.")
    print(f"{data['seeds']} seeds, {data['device']}, {data['compiler']}, {data['date']}.\n")
    print("| kernel | correct ones refused | " + " | ".join(f"{name}: refused" for name in wrong) + " |")
    print("| --- " * (len(wrong) + 2) + "|")
    for kernel in data["kernels"]:
        right = [way for way in kernel["ways"] if way["right"]]
        cells = [f"{sum(way['refused'] for way in right)} of {sum(way['tried'] for way in right)}"]
        for name in wrong:
            way = next(way for way in kernel["ways"] if way["way"] == name)
            cells.append(f"{way['refused']} of {way['tried']}")
        print(f"| {kernel['kernel']} | " + " | ".join(cells) + " |")
    for kernel in data["kernels"]:
        for way in kernel["ways"]:
            if way["right"] is None:
                print(f"\n{kernel['kernel']}, {way['way']}, which counts as neither: "
                      f"{way['refused']} of {way['tried']} refused.")


if __name__ == "__main__":
    main()
