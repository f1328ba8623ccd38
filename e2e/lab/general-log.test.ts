import { expect, test } from "bun:test";
import { parseGeneralLog, statementsOf } from "./general-log.ts";

const MYSQL = `/usr/sbin/mysqld, Version: 9.7.4-2 ((Debian)). started with:
Tcp port: 3306  Unix socket: /data/run/server.sock
Time                 Id Command    Argument
2026-11-29T22:08:08.717606Z\t    9 Connect\troot@10.244.0.9 on app using TCP/IP
2026-11-29T22:08:08.719626Z\t    9 Query\tcreate table t (id int
-- a remark

)
2026-11-29T22:08:08.727205Z\t    9 Init DB\tother
2026-11-29T22:08:08.727243Z\t    9 Prepare\tinsert into t values (?)
2026-11-29T22:08:08.727300Z\t    9 Execute\tinsert into t values (1)
2026-11-29T22:08:08.727310Z\t    9 Close stmt\t
2026-11-29T22:08:08.728291Z\t    9 Quit\t
`;

const MARIADB = `/usr/sbin/mariadbd, Version: 10.11.18-MariaDB-0+deb12u1-log (Debian 12). started with:
Tcp port: 3306  Unix socket: /data/run/server.sock
Time\t\t    Id Command\tArgument
261129 22:08:03\t     3 Connect\troot@10.244.0.9 on app using TCP/IP
\t\t     3 Query\tcreate table t (id int
)
261129  9:08:04\t     4 Connect\troot@localhost on  using Socket
\t\t     3 Query\tdrop table t
\t\t     4 Query\tselect 1
\t\t     3 Quit\t
`;

test("MySQL: a statement is read whole, with the database its session was in", () => {
  expect(statementsOf(MYSQL)).toEqual([
    { session: 9, database: "app", command: "Query", text: "create table t (id int\n-- a remark\n\n)" },
    { session: 9, database: "other", command: "Execute", text: "insert into t values (1)" },
  ]);
});

test("MariaDB: lines without a time are commands of the same second, sessions are kept apart", () => {
  expect(statementsOf(MARIADB)).toEqual([
    { session: 3, database: "app", command: "Query", text: "create table t (id int\n)" },
    { session: 3, database: "app", command: "Query", text: "drop table t" },
    { session: 4, database: "", command: "Query", text: "select 1" },
  ]);
});

test("a server that was started again counts its sessions anew: none inherits the database of an earlier one", () => {
  const again = `${MYSQL}${MYSQL.split("\n").slice(0, 3).join("\n")}
2026-11-29T22:09:00.000000Z\t    9 Query\tselect 2
`;
  expect(statementsOf(again).at(-1)).toEqual({ session: 9, database: "", command: "Query", text: "select 2" });
  expect(parseGeneralLog(again).filter((one) => one.text.includes("Version:"))).toEqual([]);
});

test("a session that changes its database by a statement is in that one from then on", () => {
  const used = `${MYSQL.replace("9 Init DB\tother", "9 Query\tUSE `other`;")}`;
  expect(statementsOf(used).map((one) => one.database)).toEqual(["app", "app", "other"]);
});

test("a statement that was only prepared is no statement that ran", () => {
  expect(parseGeneralLog(MYSQL).map((one) => one.command)).toContain("Prepare");
  expect(statementsOf(MYSQL).filter((one) => one.text.includes("?"))).toEqual([]);
});
