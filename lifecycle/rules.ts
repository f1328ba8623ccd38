/** Every id a Move can carry: the row of the rule table, and after a slash the step within it. A test holds that none is missing. */
export const RULE_IDS = [
  "1",
  ..."remove hold restore unreadable".split(" ").map((step) => `2/${step}`),
  "2b",
  "3",
  "3b",
  ..."renew lost adopt".split(" ").map((step) => `3b/${step}`),
  ..."supervise create lost lost/ttl gone drift confirm pods gate held running horizon duplicate unread error success"
    .split(" ")
    .map((step) => `4/${step}`),
  ..."ttl ending result unreadable".split(" ").map((step) => `4/${step}`),
  "5",
  "5/pods",
  "6",
  ..."deletion suspension refused binding inputs giveway request record lease withdraw revoked unmirror"
    .split(" ")
    .map((step) => `6/${step}`),
  ..."retry realm realm/held realm/epoch project envelope refresh unbuilt authorize commit strange mirror consume dispatch"
    .split(" ")
    .map((step) => `6/${step}`),
  ..."supervise confirm failed held running account ttl ending result unreadable lost spoiled publish"
    .split(" ")
    .map((step) => `6/${step}`),
  ..."learned observed version refusedPlan moved elsewhere superseded converged decided planning unsettled unpublished unproved"
    .split(" ")
    .map((step) => `6/${step}`),
  ..."bind change retire retired".split(" ").map((step) => `7/${step}`),
  "8",
  ..."release again without pods holding suspended retry blocked version snapshot refused fill refill realm realm/held epoch observe plan history"
    .split(" ")
    .map((step) => `8/${step}`),
  "9",
  "10",
  ..."approvals acknowledgments settled mirror ttl plans snapshots".split(" ").map((step) => `11/${step}`),
  "12",
  "13",
  "13/again",
  "14",
  "15",
  ..."retry snapshot begin refused observe plan history".split(" ").map((step) => `15/${step}`),
  "16",
  "17",
  "17/retry",
  "18",
] as const satisfies readonly string[];
