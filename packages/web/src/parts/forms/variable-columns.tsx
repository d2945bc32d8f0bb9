/** The columns of a table of planned variables. */
import type { Column } from '../table.tsx'
import styles from '../parts.module.css'

interface PlannedVariable {
  readonly name: string
  readonly value?: string | undefined
  readonly isSecret?: boolean | undefined
  readonly level: string
  readonly source?: string | undefined
  readonly overriddenBy?: string | undefined
}

/** Identifies a variable: a name can have a value at each level. */
export function keyOfVariable({ name, level, source }: PlannedVariable): string {
  return `${name} ${level} ${source ?? ''}`
}

export const VARIABLE_COLUMNS: readonly Column<PlannedVariable>[] = [
  { head: 'Name', cell: ({ name }) => <bdi className="mono">{name}</bdi> },
  {
    head: 'Value',
    cell: ({ value, isSecret, overriddenBy }) => (
      <bdi className={overriddenBy === undefined ? 'mono' : `mono ${styles['struck'] ?? ''}`}>
        {isSecret === true ? '•••••' : (value ?? '')}
      </bdi>
    ),
  },
  { head: 'From', cell: ({ level, source }) => <bdi>{source === undefined ? level : `${level} ${source}`}</bdi> },
]
