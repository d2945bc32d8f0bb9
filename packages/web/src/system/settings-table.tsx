/** The settings of the account, each with its default. */
import type { SystemState } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Command } from '../parts/copy.tsx'
import { Table } from '../parts/table.tsx'
import styles from './system.module.css'

export interface SettingRow {
  readonly name: string
  readonly value: string
  readonly default: string
  readonly differs: boolean
}

/** Returns the settings, those that differ from their default first. */
export function settingRows({ current, defaults }: SystemState['settings']): SettingRow[] {
  const values: Readonly<Record<string, unknown>> = current
  const standard: Readonly<Record<string, unknown>> = defaults
  return [...new Set([...Object.keys(values), ...Object.keys(standard)])]
    .map((name) => {
      const [value, other] = [writeSetting(values[name]), writeSetting(standard[name])]
      return { name, value, default: other, differs: value !== other }
    })
    .toSorted((one, other) => Number(other.differs) - Number(one.differs) || one.name.localeCompare(other.name))
}

function writeSetting(value: unknown): string {
  if (value === undefined) return 'not set'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export function Settings({ settings }: Pick<SystemState, 'settings'>): ReactElement {
  const rows = settingRows(settings)
  const changed = rows.filter(({ differs }) => differs).length
  return (
    <section className={styles['stack']} aria-label="Settings">
      <h2>Settings</h2>
      <p className="quiet">
        {changed === 0 ? 'All settings have their defaults.' : `${changed} of ${rows.length} differ from their default.`}
      </p>
      <Table
        caption="Settings of the account with their defaults"
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          { head: 'Setting', cell: ({ name }) => <span className="mono">{name}</span> },
          {
            head: 'Value',
            cell: ({ value, differs }) =>
              differs ? <strong className="mono">{value}</strong> : <bdi className="mono">{value}</bdi>,
          },
          { head: 'Default', cell: (row) => <span className="mono quiet">{row.default}</span> },
        ]}
      />
      <Command text="windlass set settings NAME=VALUE" />
    </section>
  )
}
