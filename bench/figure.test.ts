import { describe as about, expect, test } from "bun:test";
import { describe, type Figure, judge, median, quantile } from "./figure.ts";

const figure: Figure = {
  name: "approve",
  what: "from approval to InSync",
  unit: "s",
  value: 24,
  controls: [{ what: "bare Jobs", value: 12 }],
  targets: [
    { of: "value", atMost: 30 },
    { of: "ratio", atMost: 1.6 },
  ],
};

about("a figure", () => {
  test("is held to its own bound and to its control's, each by itself", () => {
    expect(judge(figure).verdicts).toEqual([
      { target: "≤ 30 s", met: true },
      { target: "≤ 1.6 × its control", met: false },
    ]);
  });

  test("is held to the control that a target names", () => {
    const controls = [
      { what: "nothing", value: 20 },
      { what: "the same work", value: 10 },
    ];
    const { verdicts } = judge({ ...figure, value: 9, controls, targets: [{ of: "ratio", control: 2, atLeast: 0.8 }] });
    expect(verdicts).toEqual([{ target: "≥ 0.8 × its control 2", met: true }]);
  });

  test("meets a bound that it touches", () => {
    const rate: Figure = {
      ...figure,
      value: 8,
      controls: [{ what: "c", value: 10 }],
      targets: [{ of: "ratio", atLeast: 0.8 }],
    };
    expect(judge(rate).verdicts[0]?.met).toBe(true);
  });

  test("misses a ratio for which nothing was measured", () => {
    expect(judge({ ...figure, controls: [] }).verdicts[1]?.met).toBe(false);
  });

  test("is printed beside its control, with the ratio and what was missed", () => {
    expect(describe(judge(figure))).toBe(
      [
        "approve: 24.0 s (from approval to InSync)",
        "    control 12.0 s (bare Jobs); ratio 2.00",
        "    target ≤ 30 s: met",
        "    target ≤ 1.6 × its control: MISSED",
      ].join("\n"),
    );
  });
});

about("values in order", () => {
  test("have a middle, which for an even number lies between two", () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(() => median([])).toThrow();
  });

  test("have a quantile by nearest rank", () => {
    const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
    expect(quantile(hundred, 0.99)).toBe(99);
    expect(quantile([7], 0.99)).toBe(7);
  });
});
