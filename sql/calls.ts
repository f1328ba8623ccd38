import type { Findings } from "./findings.ts";
import { child, list, stringValue, type Tree } from "./tree.ts";

/**
 * Functions of the server that change nothing beyond their own answer or a sequence. Any other function that a statement
 * runs is code this reader has not seen.
 */
const HARMLESS = new Set(
  (
    "abs age array_agg array_append array_length array_position array_remove array_to_string btrim ceil char_length " +
    "clock_timestamp coalesce concat concat_ws count current_database current_schema current_schemas current_setting " +
    "date_part date_trunc exists extract floor format format_type gen_random_uuid generate_series generate_subscripts greatest " +
    "has_column_privilege has_schema_privilege has_table_privilege initcap json_agg json_build_object jsonb_agg " +
    "jsonb_build_object jsonb_set jsonb_typeof least left length lower lpad ltrim make_interval max md5 min mod now nullif " +
    "nextval currval lastval setval obj_description col_description pg_get_constraintdef pg_get_expr pg_get_functiondef " +
    "pg_get_indexdef pg_get_serial_sequence pg_get_triggerdef pg_get_viewdef pg_is_in_recovery pg_notify " +
    "pg_advisory_xact_lock pg_try_advisory_xact_lock quote_ident quote_literal quote_nullable random regexp_match " +
    "regexp_replace regexp_split_to_array repeat replace right round row_number rpad rtrim split_part starts_with " +
    "statement_timestamp string_agg string_to_array strpos substr substring sum timezone to_char to_date to_jsonb to_json " +
    "to_number to_regclass to_regnamespace to_regproc to_regprocedure to_regrole to_regtype to_timestamp " +
    "transaction_timestamp trim trunc unnest upper version any_value avg bool_and bool_or cardinality position overlay " +
    "row_to_json array_cat array_prepend jsonb_array_elements jsonb_array_elements_text jsonb_each jsonb_each_text"
  ).split(" "),
);

/** Functions of the server, and of dblink, that overwrite or delete what is no row, or is elsewhere. */
const CHANGES_VALUES = new Set(
  "setval lo_unlink lo_put lo_truncate lo_truncate64 lowrite dblink dblink_exec dblink_send_query".split(" "),
);

/**
 * Settings that change which role acts, how text is read or whether changed rows are counted; set_config() of anything else is
 * only a setting.
 */
const DANGEROUS_SETTING =
  /^(role|session_authorization|standard_conforming_strings|backslash_quote|client_encoding|track_counts)$/i;

/**
 * Reads one function call: of a statement that runs, a function this reader does not know may do anything. A stored body may
 * call what it likes but for changing the session, which would outlast the call and reach the statements after it.
 * @param defines the call stands in a definition (a default, a check), which the server works out for every row that is there
 */
export function readCall(call: Tree, found: Findings, runs: boolean, defines = false): void {
  const parts = list(call, "funcname").map((part) => stringValue(part) ?? "");
  const name = parts.at(-1)?.toLowerCase() ?? "";
  const builtIn = parts.length === 1 || parts[0] === "pg_catalog";
  if (builtIn && name === "set_config") {
    const setting = child(child(list(call, "args")[0] ?? {}, "A_Const"), "sval")["sval"];
    if (typeof setting === "string" && !DANGEROUS_SETTING.test(setting)) return;
    found.unreadable("changes a session setting");
  } else if (runs && (!builtIn || !HARMLESS.has(name))) {
    found.unreadable("calls a function whose effects are not known");
  } else if (!runs && defines && CHANGES_VALUES.has(name)) {
    found.raise("destructive", "works out an expression that changes values");
  }
}
