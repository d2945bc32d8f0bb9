/** How migrations write tables down. */
import type { CreateTableBuilder, Kysely } from 'kysely'

export type Table = CreateTableBuilder<string, string>

/** Every table begins with an id and an account, so that several accounts can share a server later without a rewrite. */
export function owned(db: Kysely<unknown>, name: string): Table {
  return db.schema
    .createTable(name)
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull()) as Table
}

/** Columns of text, integers and times: `name` is not null, `name?` may be. */
export function columns(table: Table, type: 'text' | 'integer' | 'bigint', names: string): Table {
  return names.split(' ').reduce((builder, name) => {
    const isOptional = name.endsWith('?')
    return builder.addColumn(isOptional ? name.slice(0, -1) : name, type, (column) => (isOptional ? column : column.notNull()))
  }, table)
}

/** An index named after its table and columns. */
export async function index(db: Kysely<unknown>, table: string, names: string, unique = false): Promise<void> {
  const keys = names.split(' ')
  const builder = db.schema
    .createIndex(`${table}_${keys.join('_')}`)
    .on(table)
    .columns(keys)
  await (unique ? builder.unique() : builder).execute()
}
