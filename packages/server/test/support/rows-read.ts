/** Checks of how many rows the statements of the server read, by their query plans. */
import { StatementSync } from 'node:sqlite'
import pg from 'pg'
import { sql } from 'kysely'
import type { App } from '../../src/app.ts'

/** A select statement with its parameters. */
export interface Asked {
  readonly text: string
  readonly parameters: readonly unknown[]
}

/** Runs `work` and returns its select statements, on either database. */
export async function record(work: () => Promise<unknown>): Promise<Asked[]> {
  const asked: Asked[] = []
  const note = (text: string, parameters: readonly unknown[]): void => {
    if (/^\s*(select|with)\b/i.test(text)) asked.push({ text, parameters })
  }
  const sqlite = StatementSync.prototype.all
  const postgres = pg.Client.prototype.query as (...all: unknown[]) => unknown
  const replace = (of: object, name: string, value: unknown): void => {
    Object.defineProperty(of, name, { configurable: true, writable: true, value })
  }
  replace(StatementSync.prototype, 'all', function all(this: StatementSync, ...parameters: unknown[]): unknown {
    note(this.sourceSQL, parameters)
    return Reflect.apply(sqlite as (...all: unknown[]) => unknown, this, parameters)
  })
  replace(pg.Client.prototype, 'query', function query(this: pg.Client, ...all: unknown[]): unknown {
    const [first, values] = all
    if (typeof first === 'string') note(first, Array.isArray(values) ? values : [])
    return Reflect.apply(postgres, this, all)
  })
  try {
    await work()
  } finally {
    replace(StatementSync.prototype, 'all', sqlite)
    replace(pg.Client.prototype, 'query', postgres)
  }
  return asked
}

/**
 * Returns the parts of a query plan that read too much, or none. On PostgreSQL these are the parts that scan more than `most` rows. SQLite reports no
 * counts, so there the plan must not scan a table, or an index of all rows with no condition besides the account.
 */
export async function readsTooMuch({ store }: App, { text, parameters }: Asked, most: number): Promise<string[]> {
  const filled = bind(text, parameters)
  if (store.name === 'postgres') {
    const { rows } = await store.query.transaction().execute(async (query) => {
      // Test tables are so small that PostgreSQL would prefer a sequential scan.
      await sql`set local enable_seqscan = off`.execute(query)
      return sql<{ 'QUERY PLAN': PlanNode }>`explain (analyze, timing off, format json) ${filled}`.execute(query)
    })
    const [plan] = rows.flatMap((row) => row['QUERY PLAN'] as unknown as { Plan: PlanNode }[])
    return plan === undefined
      ? []
      : scansOf(plan.Plan)
          .filter(({ count }) => count > most)
          .map(({ text: scan }) => scan)
  }
  const partial = await sql<{
    name: string
  }>`select name from sqlite_master where type = 'index' and sql like '% where %'`.execute(store.query)
  const isPartial = (name: string): boolean => partial.rows.some((row) => row.name === name)
  const { rows } = await sql<{ detail: string }>`explain query plan ${filled}`.execute(store.query)
  return rows.map(({ detail }) => detail).filter((detail) => !isNarrow(detail, isPartial, PAGE_OF_ALL.test(text)))
}

/** Statements for a page of all builds, which are read in the order of their numbers and have a limit. */
const PAGE_OF_ALL = /where "account_id" = \?( and "number" < \?)? order by "number" desc limit \?$/

function isNarrow(detail: string, isPartial: (name: string) => boolean, isPageOfAll: boolean): boolean {
  const found =
    /^(SCAN|SEARCH) (?<table>\w+)(?: EXISTS)?(?: USING (?:COVERING )?INDEX (?<index>\w+))?(?: \((?<terms>[^)]*)\))?/.exec(
      detail,
    )?.groups
  if (found === undefined || SMALL.has(found['table'] ?? '')) return true
  const { index = '', terms = '' } = found
  if (isPartial(index)) return true
  if (terms === '') return false
  // All builds belong to one account, and most have a smaller number than the newest.
  return isPageOfAll || !['account_id=?', 'account_id=? AND number<?'].includes(terms)
}

/** Configuration tables, which do not grow with use. `page` is part of a query. */
const SMALL = new Set([
  'account',
  'agent',
  'runtime',
  'pipeline',
  'project',
  'context',
  'meta',
  'api_key',
  'user_account',
  'pipeline_role',
  'project_role',
  'team',
  'audit_chain',
  'team_member',
  'base_layer',
  // At most three keys at once.
  'signing_key',
  'page',
])

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly PlanNode[]
}

function scansOf(node: PlanNode): { count: number; text: string }[] {
  const below = (node.Plans ?? []).flatMap(scansOf)
  if (!node['Node Type'].includes('Scan')) return below
  const each = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  const count = each * node['Actual Loops']
  const text = `${node['Node Type']} of ${node['Relation Name'] ?? node['Index Name']} reads ${count} rows`
  return [...below, { count, text }]
}

/** Inserts the parameters into the statement: `?` on SQLite, `$1` on PostgreSQL. */
function bind(text: string, parameters: readonly unknown[]) {
  let next = 0
  const parts = text.split(/(\?|\$\d+)/).map((part) => {
    if (part === '?') {
      next += 1
      return sql`${parameters[next - 1]}`
    }
    return /^\$\d+$/.test(part) ? sql`${parameters[Number(part.slice(1)) - 1]}` : sql.raw(part)
  })
  return sql.join(parts, sql.raw(''))
}
