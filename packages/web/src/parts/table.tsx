/** A table that scrolls sideways inside its own frame on narrow screens. */
import type { Key, ReactElement, ReactNode } from 'react'
import styles from './parts.module.css'

export interface Column<T> {
  readonly head: string
  readonly cell: (row: T) => ReactNode
}

export interface TableProps<T> {
  readonly caption: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => Key
}

export function Table<T>({ caption, columns, rows, keyOf }: TableProps<T>): ReactElement {
  return (
    <div className={styles['scroller']} tabIndex={0} role="region" aria-label={caption}>
      <table className={styles['table']}>
        <caption className="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ head }) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ head, cell }) => (
                <td key={head}>
                  <Cell cell={cell} row={row} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A component of its own, so that a function of a column may use hooks: the number of rows changes. */
function Cell<T>({ cell, row }: { readonly cell: Column<T>['cell']; readonly row: T }): ReactNode {
  return cell(row)
}
