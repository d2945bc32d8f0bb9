/** Properties of columns in migrations. A column without one is nullable. */
import type { ColumnDefinitionBuilder } from 'kysely'

type Define = (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder

export const primaryKey: Define = (column) => column.primaryKey()
export const notNull: Define = (column) => column.notNull()

/** Not null. Existing rows get the value. */
export function withDefault(value: string | number): Define {
  return (column) => column.notNull().defaultTo(value)
}
