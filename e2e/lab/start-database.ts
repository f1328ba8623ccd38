/** `make lab-database`: a server in the lab, its URL in Secret `<name>-url`. Arguments: NAMESPACE [NAME] [ENGINE] [MAJOR]. */
import { runAs } from "../cluster/command-line.ts";
import { ENGINES, type EngineName, isEngineName, type PostgresMajor } from "../cluster/database-pod.ts";
import { defaultServerName, startDatabase } from "./database.ts";
import { openLab } from "./lab.ts";
import { podAddress } from "./migrations.ts";
import { answerTo, readStanding } from "./standing-server.ts";

async function main([namespace, name, engine = "postgresql", major = "15"]: readonly string[]): Promise<number> {
  if (namespace === undefined || !isEngineName(engine) || (major !== "15" && major !== "17")) {
    process.stderr.write(
      `usage: make lab-database NAMESPACE=shop NAME=storefront [ENGINE=${Object.keys(ENGINES).join("|")}] [MAJOR=15|17]\n`,
    );
    return 2;
  }
  return start(namespace, name || defaultServerName(engine), engine, major === "15" ? 15 : 17);
}

async function start(namespace: string, name: string, engine: EngineName, major: PostgresMajor): Promise<number> {
  const lab = await openLab();
  const request = { namespace, name, engine, major };
  const answer = answerTo(request, lab.images, await readStanding(lab, request));
  if ("refusal" in answer) throw new Error(answer.refusal);
  const { password, podStands } = answer;
  const database = await startDatabase(lab, {
    ...request,
    podStands,
    ...(password === undefined ? {} : { password }),
  });
  const version = (await database.sql("select version()")).trim();
  const address = await podAddress(lab, database);
  const client = ENGINES[engine].client(database.database)[0];
  const stood = podStands ? "stands already, with the password it had" : "is up";
  process.stdout.write(`${ENGINES[engine].label} (${version}) ${stood}: Service ${database.name}, URL in Secret ${database.secret} (key url).
A resource on it says \`engine: ${ENGINES[engine].target}\`. To look inside:
  kubectl exec -it -n ${namespace} ${database.name} -- ${client} ${engine === "postgresql" ? "-U postgres" : "-u root"} ${database.database}
For \`ptah migrations …\` on this machine:
  export PTAH_DB_URL=$(kubectl get secret ${database.secret} -n ${namespace} -o go-template='{{.data.url | base64decode}}' | sed 's/@[^:]*:/@${address}:/')
`);
  return 0;
}

await runAs("lab-database", () => main(process.argv.slice(2)));
