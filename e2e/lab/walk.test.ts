import { describe, expect, test } from "bun:test";
import { walkOf } from "./walk.ts";

const PAGE = `# Product

### Your first walk (ten minutes)
Something before it.

    export KUBECONFIG=…

1. First:

       kubectl create namespace shop
       kubectl ptah wait it -n shop       # exit 1: it's waiting

   In between.

2. Then:

       echo "a 'b'
       c" > file.sql

Something behind it.

    not --of any step

## Next
`;

describe("a walk of a page", () => {
  test("is its steps with their commands and what they are to end with", () => {
    expect(walkOf(PAGE, "Your first walk")).toEqual([
      {
        number: 1,
        commands: [
          { text: "kubectl create namespace shop", exits: 0 },
          { text: "kubectl ptah wait it -n shop", exits: 1 },
        ],
      },
      { number: 2, commands: [{ text: "echo \"a 'b'\nc\" > file.sql", exits: 0 }] },
    ]);
  });

  test("is not there under another heading, and a quotation has an end", () => {
    expect(() => walkOf(PAGE, "Your second walk")).toThrow("Your second walk");
    expect(() => walkOf(PAGE.replace('c" >', "c >"), "Your first walk")).toThrow("not closed");
  });
});
