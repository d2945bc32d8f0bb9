/**
 * Frequent statements. Kysely builds the text of a statement in several times the time that SQLite takes to run it, so the text of these is built once
 * per database and kept.
 */
import type { Compilable, CompiledQuery, DialectAdapter } from 'kysely'
import type { Query, Tx } from '../store.ts'

/** A value in the condition of a statement. Not null, because it needs another operator, and not a list, whose length is part of the text. */
type Value = string | number

type Build<On, Values extends readonly Value[], Row> = (on: On, ...values: Values) => Compilable<Row>

/** Stands for a value while the text is built. */
class Placeholder {
  readonly index: number

  constructor(index: number) {
    this.index = index
  }
}

/**
 * Prepares a statement: `const find = prepared((query: Query, id: string) => query.selectFrom('build').selectAll().where('id', '=', id))`. The function
 * that it returns runs the statement and returns its rows. `build` runs once and gets placeholders, so its values may only become parameters.
 */
export function prepared<On extends Query | Tx, Values extends readonly Value[], Row>(
  build: Build<On, Values, Row>,
): (on: On, ...values: Values) => Promise<Row[]> {
  const texts = new WeakMap<DialectAdapter, CompiledQuery<Row>>()
  return async (on, ...values) => {
    const query = queryOf(on)
    const { adapter } = query.getExecutor()
    const known = texts.get(adapter)
    const compiled = known ?? build(on, ...(placeholders(values) as unknown as Values)).compile()
    if (known === undefined) texts.set(adapter, compiled)
    return run(query, compiled, values)
  }
}

/** Like `prepared`, and returns the first row, or undefined. */
export function preparedOne<On extends Query | Tx, Values extends readonly Value[], Row>(
  build: Build<On, Values, Row>,
): (on: On, ...values: Values) => Promise<Row | undefined> {
  const all = prepared(build)
  return async (on, ...values) => (await all(on, ...values))[0]
}

/** Maximum number of texts of one statement, which has one for each combination of columns. */
const MAX_TEXTS = 200

/** Prepares a statement that writes the columns of a row: `preparedWrite((tx, row: Partial<BuildRow>, id: string) => …set(row).where('id', '=', id))`. */
export function preparedWrite<Row extends object, Values extends readonly Value[]>(
  build: (tx: Tx, row: Row, ...values: Values) => Compilable<unknown>,
): (tx: Tx, row: Row, ...values: Values) => Promise<void> {
  const texts = new WeakMap<DialectAdapter, Map<string, CompiledQuery>>()
  return async (tx, row, ...values) => {
    const columns = Object.entries(row).filter(([, value]) => value !== undefined)
    const all = [...values, ...columns.map(([, value]): unknown => value)]
    const { adapter } = tx.query.getExecutor()
    const known = texts.get(adapter) ?? new Map<string, CompiledQuery>()
    texts.set(adapter, known)
    const key = columns.map(([name]) => name).join(' ')
    let compiled = known.get(key)
    if (compiled === undefined) {
      const marks = placeholders(all)
      const marked = Object.fromEntries(columns.map(([name], index) => [name, marks[values.length + index]])) as Row
      compiled = build(tx, marked, ...(marks.slice(0, values.length) as unknown as Values)).compile()
      if (known.size >= MAX_TEXTS) known.clear()
      known.set(key, compiled)
    }
    await run(tx.query, compiled, all)
  }
}

function queryOf(on: Query | Tx): Query {
  return 'query' in on ? on.query : on
}

function placeholders(values: readonly unknown[]): Placeholder[] {
  return values.map((_, index) => new Placeholder(index))
}

async function run<Row>(query: Query, compiled: CompiledQuery<Row>, values: readonly unknown[]): Promise<Row[]> {
  const parameters = compiled.parameters.map((one) => (one instanceof Placeholder ? values[one.index] : one))
  return (await query.executeQuery<Row>({ ...compiled, parameters })).rows
}
