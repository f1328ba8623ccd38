import { expect, test } from "bun:test";
import { linesBeforeMistake } from "./place.ts";

const SQL = `CREATE TABLE orders (
  id bigint PRIMARY KEY,
  owner bigint REFERENCES public."people",
  customer bigint
    REFERENCES customers (id)
)`;

test("the server's position names the line, in characters", () => {
  const position = String([...SQL].indexOf("c") + 1);
  expect(linesBeforeMistake(SQL, { position, message: 'type "x" does not exist' })).toBe(2);
  expect(linesBeforeMistake("SELECT 'é',\n y", { position: "14" })).toBe(1);
});

test("a REFERENCES clause the server only names by its table is found by that", () => {
  const line = (message: string) => linesBeforeMistake(SQL, { message });
  expect(line('relation "customers" does not exist')).toBe(4);
  expect(line('relation "public.people" does not exist')).toBe(2);
  expect(line('there is no unique constraint matching given keys for referenced table "customers"')).toBe(4);
});

test("comments above a statement are not counted: its line is that of its first word", () => {
  expect(linesBeforeMistake(`-- why\n\n${SQL}`, { message: 'relation "customers" does not exist' })).toBe(4);
  expect(linesBeforeMistake("/* a\n b */ SELECT x", { position: "20" })).toBe(0);
});

test("where nothing is known it is the statement's first line", () => {
  expect(linesBeforeMistake(SQL, { message: 'relation "custom" does not exist' })).toBe(0);
  expect(linesBeforeMistake(SQL, new Error("no"))).toBe(0);
  expect(linesBeforeMistake(SQL, undefined)).toBe(0);
});
