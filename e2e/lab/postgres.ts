/** `bun e2e/lab/postgres.ts NAMESPACE [NAME] [15|17]`: a PostgreSQL server in the lab, its URL in Secret `<name>-url`. */
import { type PostgresMajor, startDatabase } from "./database.ts";
import { openLab } from "./lab.ts";

const [namespace, name = "postgres", major = "15"] = process.argv.slice(2);
if (namespace === undefined || (major !== "15" && major !== "17")) {
  process.stderr.write("usage: bun e2e/lab/postgres.ts NAMESPACE [NAME] [15|17]\n");
  process.exit(2);
}
const database = await startDatabase(await openLab(), { namespace, name, major: Number(major) as PostgresMajor });
process.stdout.write(`PostgreSQL ${major}: Service ${name}, URL in Secret ${database.secret} (key url). To look inside:
  kubectl exec -it -n ${namespace} ${name} -- psql -h /data/run -U postgres -d app
`);
