/** Commands of the plugin as sentences name them: whole, so that they can be pasted. */

/** A resource as a command line names it. */
export interface Named {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** `kubectl ptah acknowledge ledger -n shop`, where the verb or the reader knows the kind. */
export const bareCommandFor = (verb: string, { name, namespace }: Named): string =>
  `kubectl ptah ${verb} ${name}${namespace === undefined ? "" : ` -n ${namespace}`}`;

/** `kubectl ptah approve schema/storefront -n shop`. */
export const commandFor = (verb: string, noun: string, { name, namespace }: Named): string =>
  bareCommandFor(verb, { name: `${noun}/${name}`, namespace });

/** The command by which a person ends the record of a schema's Apply that nobody has accounted for. */
export const schemaWayOut = (schema: Named): string => commandFor("settle", "schema", schema);

/**
 * The same of a migration's run. An acknowledgment is an object of its own and stands for that one run; a resource that is
 * being deleted may lie in a namespace that takes no new object, and is settled by its annotation.
 */
export const migrationWayOut = (migration: Named, deleting: boolean): string =>
  deleting ? commandFor("settle", "migration", migration) : bareCommandFor("acknowledge", migration);
