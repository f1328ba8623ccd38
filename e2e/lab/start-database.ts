/** `bun e2e/lab/start-database.ts NAMESPACE [NAME] [ENGINE] [MAJOR]`: a server in the lab, its URL in Secret `<name>-url`. */
import { ENGINES, isEngineName } from "../cluster/database-pod.ts";
import { startDatabase } from "./database.ts";
import { openLab } from "./lab.ts";
import { podAddress } from "./migrations.ts";

const [namespace, name, engine = "postgresql", major = "15"] = process.argv.slice(2);
if (namespace === undefined || !isEngineName(engine) || (major !== "15" && major !== "17")) {
  process.stderr.write(
    `usage: bun e2e/lab/start-database.ts NAMESPACE [NAME] [${Object.keys(ENGINES).join("|")}] [15|17]\n`,
  );
  process.exit(2);
}
const lab = await openLab();
const database = await startDatabase(lab, {
  namespace,
  engine,
  major: major === "15" ? 15 : 17,
  ...(name === undefined || name === "" ? {} : { name }),
});
const version = (await database.sql("select version()")).trim();
const address = await podAddress(lab, database);
const client = ENGINES[engine].client(database.database)[0];
process.stdout.write(`${ENGINES[engine].label} (${version}): Service ${database.name}, URL in Secret ${database.secret} (key url).
A resource on it says \`engine: ${ENGINES[engine].target}\`. To look inside:
  kubectl exec -it -n ${namespace} ${database.name} -- ${client} ${engine === "postgresql" ? "-U postgres" : "-u root"} ${database.database}
For \`ptah migrations …\` on this machine:
  export PTAH_DB_URL=$(kubectl get secret ${database.secret} -n ${namespace} -o go-template='{{.data.url | base64decode}}' | sed 's/@[^:]*:/@${address}:/')
`);
