import { describe, expect, test } from "bun:test";
import { visible } from "./text.ts";

describe("text for a terminal", () => {
  test.each([
    ["an escape", "\u001b", "1b"],
    ["a change of direction", "\u202e", "202e"],
    ["an Arabic letter mark", "\u061c", "61c"],
    ["a zero width space", "\u200b", "200b"],
    ["a soft hyphen", "\u00ad", "ad"],
    ["a Hangul filler", "\u3164", "3164"],
    ["a variation selector", "\ufe0f", "fe0f"],
    ["a tag", "\u{e0041}", "e0041"],
    ["a line separator", "\u2028", "2028"],
  ])("shows %s by its number", (_what, character, number) => {
    expect(visible(`a${character}b`)).toBe(`a\\u{${number}}b`);
  });

  test("leaves letters of every script, lines and tabs as they are", () => {
    const text = "größe\t表 таблица\nجدول";
    expect(visible(text)).toBe(text);
  });
});
