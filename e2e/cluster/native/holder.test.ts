import { describe, expect, test } from "bun:test";
import { heldSentence, holderAmong } from "./holder.ts";

const OWN = "/home/me/ptah/.cache/cluster/bin";
const node = ["/srv/ptah/.cache/cluster/bin/kube-apiserver", "--secure-port=6443", ""];

describe("whose cluster has this machine's addresses", () => {
  test("is told by the API server of another checkout", () => {
    const holder = holderAmong(
      [
        { pid: 7, argv: ["/sbin/init"] },
        { pid: 8, argv: node },
      ],
      OWN,
    );
    expect(holder).toEqual({ pid: 8, directory: "/srv/ptah/.cache/cluster" });
    expect(holder && heldSentence(holder)).toContain("/srv/ptah/.cache/cluster (kube-apiserver, pid 8)");
  });

  test("is not our own, and not an API server alone on a port of its own", () => {
    const own = [`${OWN}/kube-apiserver`, "--secure-port=6443"];
    const alone = ["/srv/ptah/.cache/cluster-api/bin/kube-apiserver", "--secure-port=37061"];
    expect(
      holderAmong(
        [
          { pid: 8, argv: own },
          { pid: 9, argv: alone },
        ],
        OWN,
      ),
    ).toBeUndefined();
  });
});
